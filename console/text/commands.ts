// The commands that do with kcat, Kafka's tools, curl or ketch what a page does. They are shown on empty pages, beside
// a verb as "copy as command", and for one record. Every name is quoted for the shell (shell.ts). No command has a
// password: clients read it from a file (client-properties.ts), and curl and ketch sign in first.

import {
  type ClientAccess,
  javaProperties,
  librdkafkaProperties,
  needsSettings,
  type SettingsFile,
  TOKEN_ENDPOINT,
} from './client-properties.ts'
import { curlSchemas, isSchemaTask, ketchSchemas, type SchemaTask } from './schema-commands.ts'
import { option, quote, Unquotable } from './shell.ts'
import { curlStorage, isStorageTask, ketchStorage, type StorageTask } from './storage-commands.ts'

/** How the broker is reached. */
export interface CommandAccess extends ClientAccess {
  /** The address of the admin API, such as `http://localhost:8080`. */
  readonly url: string
  /** The user of the admin API; null if it asks for no password. */
  readonly apiUser: string | null
}

export type Task =
  | StorageTask
  | SchemaTask
  | { readonly do: 'list-topics' }
  | { readonly do: 'show-agent-tools' }
  | {
      readonly do: 'create-topic'
      readonly topic: string
      /** By default the number of the broker. */
      readonly partitions?: number
      readonly configs?: Readonly<Record<string, string>>
    }
  | { readonly do: 'produce'; readonly topic: string; readonly value?: string; readonly key?: string | null }
  | { readonly do: 'consume'; readonly topic: string; readonly at?: Start; readonly group?: string }
  | { readonly do: 'show-record'; readonly topic: string; readonly partition: number; readonly offset: number }
  | { readonly do: 'describe-group'; readonly group: string }
  | {
      readonly do: 'reset-offsets'
      readonly group: string
      /** All topics by default. */
      readonly topics?: readonly string[]
      readonly to: ResetTo
    }

/** The beginning, a partition at an offset, or the first record at or after a time in milliseconds. */
export type Start =
  | 'earliest'
  | { readonly partition: number; readonly offset: number }
  | { readonly timestamp: number }

export type ResetTo = 'clear' | 'earliest' | 'latest' | { readonly offset: number } | { readonly timestamp: number }

export const TOOLS = ['ketch', 'kcat', "Kafka's tools", 'curl'] as const
export type Tool = (typeof TOOLS)[number]

export interface Recipe {
  readonly tool: Tool
  /** Null if the tool cannot do it with these names; then `reason` is a sentence. */
  readonly command: string | null
  readonly reason: string | null
  /** The files to write and the commands to run once, in this order, before the command. */
  readonly before: readonly Step[]
}

export type Step = { readonly file: SettingsFile } | { readonly command: string }

/** Returns one recipe for each tool that can do the task, in the order of TOOLS. */
export function commandsFor(task: Task, access: CommandAccess): readonly Recipe[] {
  return TOOLS.flatMap((tool): readonly Recipe[] => {
    const { write, before } = WRITERS[tool]
    try {
      const command = write(task, access)
      return command === null ? [] : [{ tool, command, reason: null, before: before(access) }]
    } catch (error) {
      if (error instanceof Unquotable) return [{ tool, command: null, reason: error.message, before: [] }]
      throw error
    }
  })
}

interface Writer {
  /** Returns null if the tool has no command for the task. */
  write(task: Task, access: CommandAccess): string | null
  before(access: CommandAccess): Recipe['before']
}

const WRITERS: Readonly<Record<Tool, Writer>> = {
  ketch: { write: ketch, before: () => [] },
  kcat: { write: kcat, before: access => fileIfNeeded(access, librdkafkaProperties) },
  "Kafka's tools": {
    write: kafkaTool,
    before: access => [...fileIfNeeded(access, javaProperties), ...allowedTokenEndpoint(access)],
  },
  curl: { write: curl, before: access => (access.apiUser === null ? [] : curlSignIn(access.url, access.apiUser)) },
}

function fileIfNeeded(access: CommandAccess, make: typeof javaProperties): readonly Step[] {
  return needsSettings(access) ? [{ file: make(access, false) }] : []
}

/** From 4.0 on, a Java client gets tokens only from the addresses that the JVM allows. */
function allowedTokenEndpoint({ mechanism }: CommandAccess): readonly Step[] {
  if (mechanism !== 'OAUTHBEARER') return []
  const setting = `-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=${TOKEN_ENDPOINT}`
  return [{ command: `export KAFKA_OPTS=${quote(setting)}` }]
}

const DEFAULT_URL = 'http://localhost:8080'
const DEFAULT_USER = 'admin'
/** The file of curl with the cookie of the session. */
const JAR = 'ketch.cookies'
const EXAMPLE = 'hello'

function ketch(task: Task, { url, apiUser }: CommandAccess): string | null {
  const reach = [
    ...(url === DEFAULT_URL ? [] : [option('--url', url)]),
    ...(apiUser === null || apiUser === DEFAULT_USER ? [] : [option('--user', apiUser)]),
  ]
  /** Options stand before `--`, because a name may begin with a dash. */
  const run = (verb: string, given: string | null | readonly string[], options: readonly string[] = []) => {
    const names = typeof given === 'string' ? [given] : (given ?? [])
    for (const name of names) inPath(name)
    const isPlain = !names.some(name => name.startsWith('-'))
    const named = names.map(quote)
    const words = isPlain ? [...named, ...options, ...reach] : [...options, ...reach, '--', ...named]
    return ['ketch', verb, ...words].join(' ')
  }
  if (isStorageTask(task)) {
    const { verb, names = [], options } = ketchStorage(task)
    return run(`storage ${verb}`, names, options)
  }
  if (isSchemaTask(task)) {
    const { verb, names = [], options } = ketchSchemas(task)
    return run(`schemas ${verb}`, names, options)
  }
  switch (task.do) {
    case 'list-topics':
      return run('topics list', null)
    case 'show-agent-tools':
      return run('agents', null)
    case 'create-topic': {
      const partitions = task.partitions === undefined ? [] : [option('--partitions', task.partitions)]
      return run('topics create', task.topic, [...partitions, ...configOptions(task.configs, '--config=')])
    }
    case 'produce': {
      const key = isSet(task.key) ? [option('--key', task.key)] : []
      return run('produce', task.topic, [...key, option('--value', task.value ?? EXAMPLE)])
    }
    case 'consume': {
      // The API has no consumer groups: its readers commit no offsets.
      if (task.group !== undefined) return null
      if (task.at === undefined) return run('tail', task.topic)
      if (task.at === 'earliest') return run('export', task.topic)
      return run('export', task.topic, startOptions(task.at))
    }
    case 'show-record':
      return run('export', task.topic, [...startOptions(task), '--limit=1'])
    case 'describe-group':
      return run('groups describe', task.group)
    case 'reset-offsets': {
      const topics = (task.topics ?? []).map(topic => option('--topic', topic))
      return run('groups reset', task.group, [...topics, ...ketchTarget(task.to)])
    }
  }
}

function startOptions(at: Exclude<Start, 'earliest'>): readonly string[] {
  if ('timestamp' in at) return [option('--timestamp', at.timestamp)]
  return [option('--partition', at.partition), option('--offset', at.offset)]
}

function ketchTarget(to: ResetTo): readonly string[] {
  if (typeof to === 'string') return [option('--to', to)]
  if ('offset' in to) return ['--to=offset', option('--offset', to.offset)]
  return ['--to=timestamp', option('--timestamp', to.timestamp)]
}

function kcat(task: Task, access: CommandAccess): string | null {
  const settings = needsSettings(access) ? ['-F', librdkafkaProperties(access, false).name] : []
  const run = (mode: string, words: readonly string[]) =>
    ['kcat', ...settings, '-b', quote(access.bootstrap), mode, ...words].join(' ')
  switch (task.do) {
    case 'list-topics':
      return run('-L', [])
    case 'produce': {
      const key = isSet(task.key) ? ['-k', quote(task.key)] : []
      if (task.value === '') throw new Unquotable('kcat produces no empty value.')
      return `${printedLine(task.value ?? EXAMPLE, 'kcat')} | ${run('-P', ['-t', quote(task.topic), ...key])}`
    }
    case 'consume': {
      if (task.group !== undefined)
        return run('-G', [quote(task.group), '-X', 'auto.offset.reset=earliest', ...named(task.topic)])
      return run('-C', ['-t', quote(task.topic), ...kcatStart(task.at)])
    }
    case 'show-record':
      return run('-C', ['-t', quote(task.topic), ...kcatStart(task), '-c', '1', '-e', '-J'])
    default:
      return null
  }
}

function kcatStart(at: Start | undefined): readonly string[] {
  if (at === undefined) return ['-o', 'end']
  if (at === 'earliest') return ['-o', 'beginning']
  if ('timestamp' in at) return ['-o', `s@${at.timestamp}`]
  return ['-p', String(at.partition), '-o', String(at.offset)]
}

/** A word that is not the value of an option. */
function named(name: string): readonly string[] {
  return name.startsWith('-') ? ['--', quote(name)] : [quote(name)]
}

function kafkaTool(task: Task, access: CommandAccess): string | null {
  const run = (tool: string, words: readonly string[], config = '--command-config') => {
    const settings = needsSettings(access) ? [`${config} ${javaProperties(access, false).name}`] : []
    return [`${tool}.sh --bootstrap-server ${quote(access.bootstrap)}`, ...settings, ...words].join(' ')
  }
  // The version 4.2 warns of these two names, and earlier versions know no others.
  const consume = (words: readonly string[]) => run('kafka-console-consumer', words, '--consumer.config')
  const produce = (words: readonly string[]) => run('kafka-console-producer', words, '--producer.config')
  if (isStorageTask(task) || isSchemaTask(task) || task.do === 'show-agent-tools') return null
  switch (task.do) {
    case 'list-topics':
      return run('kafka-topics', ['--list'])
    case 'create-topic': {
      const partitions = task.partitions === undefined ? [] : [option('--partitions', task.partitions)]
      const configs = configOptions(task.configs, '--config=')
      return run('kafka-topics', ['--create', option('--topic', task.topic), ...partitions, ...configs])
    }
    case 'produce': {
      const value = task.value ?? EXAMPLE
      const tool = "Kafka's tools"
      const words = [option('--topic', task.topic)]
      if (!isSet(task.key)) return `${printedLine(value, tool)} | ${produce(words)}`
      // The tool takes a key only as the beginning of a line.
      const separator = SEPARATORS.find(each => !task.key!.includes(each))
      if (separator === undefined) throw new Unquotable('The key has every text that could separate it from the value.')
      const parse = [option('--property', 'parse.key=true'), option('--property', `key.separator=${separator}`)]
      return `${printedLine(`${task.key}${separator}${value}`, tool)} | ${produce([...words, ...parse])}`
    }
    case 'consume': {
      const group = task.group === undefined ? [] : [option('--group', task.group)]
      return consume([option('--topic', task.topic), ...group, ...kafkaStart(task.at, task.group !== undefined)])
    }
    case 'show-record': {
      const words = [option('--topic', task.topic), ...kafkaStart(task, false), '--max-messages=1']
      const shown = ['print.key=true', 'print.headers=true', 'print.timestamp=true']
      return consume([...words, ...shown.map(each => option('--property', each))])
    }
    case 'describe-group':
      return run('kafka-consumer-groups', ['--describe', option('--group', task.group)])
    case 'reset-offsets': {
      const topics = task.topics ?? []
      const scope = topics.length === 0 ? ['--all-topics'] : topics.map(topic => option('--topic', topic))
      // For a tool to forget an offset is another command, and it takes no group without topics.
      if (task.to === 'clear')
        return topics.length === 0
          ? null
          : run('kafka-consumer-groups', ['--delete-offsets', option('--group', task.group), ...scope])
      const words = ['--reset-offsets', option('--group', task.group), ...scope, kafkaTarget(task.to), '--execute']
      return run('kafka-consumer-groups', words)
    }
  }
}

const SEPARATORS = [':', '|', ';', '=>', '\u001f']

function kafkaStart(at: Start | undefined, isGroup: boolean): readonly string[] {
  if (at === 'earliest' || isGroup) return ['--from-beginning']
  if (at === undefined) return []
  if ('timestamp' in at) throw new Unquotable("Kafka's tools cannot begin at a time.")
  return [option('--partition', at.partition), option('--offset', at.offset)]
}

function kafkaTarget(to: Exclude<ResetTo, 'clear'>): string {
  if (to === 'earliest') return '--to-earliest'
  if (to === 'latest') return '--to-latest'
  if ('offset' in to) return option('--to-offset', to.offset)
  // The tool reads a time without an offset in the zone of its machine.
  return option('--to-datetime', new Date(to.timestamp).toISOString())
}

function curl(task: Task, access: CommandAccess): string | null {
  const run = (path: string, { query = {}, body, options = [] }: Request = {}) => {
    const search = new URLSearchParams(query).toString()
    const url = `${access.url}${path}${search === '' ? '' : `?${search}`}`
    const session = access.apiUser === null ? [] : ['-b', JAR]
    const sent =
      body === undefined ? [] : ['-H', quote('content-type: application/json'), '-d', quote(JSON.stringify(body))]
    return ['curl', ...options, ...session, ...sent, quote(url)].join(' ')
  }
  if (isStorageTask(task) || isSchemaTask(task)) {
    const { path, ...request } = isStorageTask(task) ? curlStorage(task, inPath) : curlSchemas(task, inPath)
    return run(path, request)
  }
  switch (task.do) {
    case 'list-topics':
      return run('/api/v1/topics')
    case 'show-agent-tools':
      return run('/api/v1/agent-tools')
    case 'create-topic': {
      const { topic: name, partitions, configs } = task
      return run('/api/v1/topics', { body: { name, partitions, configs } })
    }
    case 'produce': {
      const key = isSet(task.key) ? { text: task.key } : undefined
      return run(messagesOf(task.topic), { body: { messages: [{ key, value: { text: task.value ?? EXAMPLE } }] } })
    }
    case 'consume': {
      if (task.group !== undefined) return null
      // -N: curl shows each record when it arrives.
      if (task.at === undefined) return run(`${messagesOf(task.topic)}/tail`, { options: ['-N'] })
      if (task.at === 'earliest') return run(`${messagesOf(task.topic)}/export`)
      const query = Object.entries(task.at).map(([name, value]) => [name, String(value)])
      return run(`${messagesOf(task.topic)}/export`, { query: Object.fromEntries(query) })
    }
    case 'show-record':
      return run(`${messagesOf(task.topic)}/${task.partition}/${task.offset}`)
    case 'describe-group':
      return run(`/api/v1/groups/${inPath(task.group)}`)
    case 'reset-offsets':
      // A reset is a preview and, with its token, a second request.
      return null
  }
}

interface Request {
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly options?: readonly string[]
}

/** The password is in a file, because other users of the machine can read a command line. */
function curlSignIn(url: string, username: string): readonly Step[] {
  const content = `${JSON.stringify({ username, password: '<password>' })}\n`
  const login = quote(`${url}/api/v1/auth/login`)
  return [
    { file: { name: 'login.json', content } },
    { command: `curl -c ${JAR} -H 'content-type: application/json' -d @login.json ${login}` },
  ]
}

function messagesOf(topic: string): string {
  return `/api/v1/topics/${inPath(topic)}/messages`
}

/** Returns the name as a segment of a URL. Programs resolve these two names first (URL Standard, 4.4). */
function inPath(name: string): string {
  if (name === '.' || name === '..') throw new Unquotable(`The name ${JSON.stringify(name)} cannot be part of a URL.`)
  if (!name.isWellFormed()) throw new Unquotable('The name is not Unicode, so it cannot be part of a URL.')
  return encodeURIComponent(name)
}

function configOptions(configs: Readonly<Record<string, string>> | undefined, start: string): readonly string[] {
  return Object.entries(configs ?? {}).map(([name, value]) => `${start}${quote(`${name}=${value}`)}`)
}

/** Returns the command that prints the line for a tool. `echo` would change backslashes in some shells. */
function printedLine(text: string, tool: Tool): string {
  if (text.includes('\n')) throw new Unquotable(`For ${tool}, a line end begins another record.`)
  return text === EXAMPLE ? `echo ${EXAMPLE}` : `printf '%s\\n' ${quote(text)}`
}

function isSet(key: string | null | undefined): key is string {
  return key !== null && key !== undefined
}
