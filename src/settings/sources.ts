// Reads the three sources of settings as raw text: a YAML file, the environment, the command line. Each becomes a
// list of entries with key, text and origin. The table knows which keys exist, and the grammar knows what a text
// means. This file refuses only input that is no settings file or no option at all.
//
// A YAML file may nest keys, write them with dots, or both (`svc.broker: { port: 9092 }`); the entries are the same.

import type { Node, ParsedNode } from 'yaml'
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
import { fullKey, keys, SettingsError, settingsTable } from './settings.ts'

/** One value of a source. */
export interface Entry {
  /** The key as messages and the table spell it: `svc.broker.port`, `svc.topics[0].name`, `logging.level.svc.kafka`. */
  readonly key: string
  /** Blank also if the source omits the value (`key:` in YAML). */
  readonly text: string
  /** The place where it was written: file:line:column, environment variable NAME, command line. */
  readonly origin: string
}

/** The parsed arguments of the process. */
export interface CommandLine {
  readonly wants: 'run' | 'help' | 'version'
  /** The words after --help: `settings`, `redis`. */
  readonly helpWords: readonly string[]
  /** The path given by --config. */
  readonly config: string | null
  readonly entries: readonly Entry[]
}

const COMMAND_LINE = 'command line'
export const LARGEST_FILE_BYTES = 2 ** 20
const DEEPEST_FILE = 32

/** Reads `--key=value` options, --config, --help and --version. Throws SettingsError for any other argument. */
export function readCommandLine(argv: readonly string[]): CommandLine {
  const entries: Entry[] = []
  const seen = new Set<string>()
  let wants: CommandLine['wants'] = 'run'
  let config: string | null = null
  const helpWords: string[] = []
  for (let at = 0; at < argv.length; at++) {
    const argument = argv[at]!
    if (argument === '--help' || argument === '-h') {
      wants = 'help'
    } else if (wants === 'help' && !argument.startsWith('-')) {
      helpWords.push(argument)
    } else if (argument === '--version') {
      if (wants === 'run') wants = 'version'
    } else if (argument === '--config' || argument.startsWith('--config=')) {
      const path = argument === '--config' ? argv[++at] : argument.slice('--config='.length)
      if (config !== null) throw new SettingsError('--config: given twice on the command line, takes one file')
      if (path === undefined || path.trim() === '')
        throw new SettingsError('--config: got nothing, takes the path of a YAML file (--config=svc.yaml)')
      config = path
    } else {
      const entry = readOption(argument, at)
      if (seen.has(entry.key)) throw new SettingsError(`${entry.key}: given twice on the command line, takes one value`)
      seen.add(entry.key)
      entries.push(entry)
    }
  }
  return { wants, helpWords, config, entries }
}

/** Reads one `--key=value` option. Its errors never show the text after the key: it may be a password. */
function readOption(argument: string, at: number): Entry {
  const equals = argument.indexOf('=')
  const name = equals < 0 ? argument : argument.slice(0, equals)
  if (!/^--[A-Za-z]/.test(name)) {
    throw new SettingsError(
      `command line: argument ${at + 1} is not an option; options are written --svc.broker.port=9092 (see --help)`,
    )
  }
  if (equals < 0)
    throw new SettingsError(
      `${name}: got no value; a setting takes one after an equals sign (${name}=<value>), and ketch --help lists the other options`,
    )
  return { key: withBrackets(name.slice(2)), text: argument.slice(equals + 1), origin: COMMAND_LINE }
}

/** List positions may stand in brackets or between dots: svc.topics.0.name is svc.topics[0].name. */
function withBrackets(key: string): string {
  return key.replace(/\.([0-9]{1,9})(?=\.|$)/g, '[$1]')
}

interface EnvironmentName {
  readonly pattern: RegExp
  readonly toKey: (match: RegExpExecArray) => string
}

/** Returns the variable that sets a key: SVC_BROKER_PORT, SERVER_PORT, SVC_TOPICS_0_NAME, LOGGING_LEVEL_<LOGGER> … */
export function environmentName(key: string): string {
  return key.replaceAll(']', '').replaceAll(/[.[-]/g, '_').toUpperCase()
}

/**
 * Returns a pattern for each variable, with the key that it sets. Dots and dashes both become underscores, so only
 * the table can turn a name into its key.
 */
function environmentNames(): readonly EnvironmentName[] {
  return keys.flatMap(key => {
    const full = fullKey(key)
    const name = environmentName(full)
    const { shape } = settingsTable[key]
    const whole: EnvironmentName = { pattern: new RegExp(`^${name}$`), toKey: () => full }
    if (shape.kind === 'list')
      return [whole, { pattern: new RegExp(`^${name}_([0-9]{1,9})$`), toKey: match => `${full}[${match[1]}]` }]
    if (shape.kind === 'map') {
      return [
        {
          pattern: new RegExp(`^${name}_(.+)$`),
          toKey: match => `${full}.${match[1]!.toLowerCase().replaceAll('_', '.')}`,
        },
      ]
    }
    if (shape.kind === 'entries') {
      const fields = Object.keys(shape.fields).map((field): EnvironmentName => {
        const pattern = new RegExp(`^${name}_([0-9]{1,9})_${environmentName(field)}$`)
        return { pattern, toKey: match => `${full}[${match[1]}].${field}` }
      })
      return [whole, ...fields]
    }
    return [whole]
  })
}

/**
 * Names with this prefix belong to the broker alone, so an unknown one is an error. Other programs share the other
 * families.
 */
const OWN_PREFIX = /^svc_/i

/** The variable that names the settings file. It is not a setting. */
export const CONFIG_VARIABLE = 'SVC_CONFIG'

/**
 * Returns the settings of the environment. A name with our prefix that no key has is passed on, for the loader to
 * refuse.
 */
export function readEnvironment(env: Readonly<Record<string, string | undefined>>): readonly Entry[] {
  const relevant = Object.keys(env).filter(
    name => name !== CONFIG_VARIABLE && /^(svc_|SERVER_|LOGGING_|MANAGEMENT_)/i.test(name),
  )
  if (relevant.length === 0) return []
  const known = environmentNames()
  return relevant.sort().flatMap(name => {
    const text = env[name]
    if (text === undefined) return []
    const origin = `environment variable ${name}`
    for (const { pattern, toKey } of known) {
      const match = pattern.exec(name)
      if (match) return [{ key: toKey(match), text, origin }]
    }
    return OWN_PREFIX.test(name) ? [{ key: name, text, origin }] : []
  })
}

/** Returns every variable name that an operator could have meant, as candidates for the nearest one. */
export function knownEnvironmentNames(): readonly string[] {
  return keys.flatMap(key => {
    const name = environmentName(fullKey(key))
    const { shape } = settingsTable[key]
    return shape.kind === 'entries'
      ? Object.keys(shape.fields).map(field => `${name}_0_${environmentName(field)}`)
      : [name]
  })
}

/**
 * Returns the settings of a YAML file. `shown` is the name of the file in messages. Throws SettingsError if the file
 * is not a valid settings file.
 */
export function readYaml(bytes: Uint8Array, shown: string): readonly Entry[] {
  if (bytes.byteLength > LARGEST_FILE_BYTES) {
    throw new SettingsError(`${shown}: got a file of more than 1MB, takes a settings file of at most 1MB`)
  }
  const text = decode(bytes, shown)
  const lines = new LineCounter()
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
    merge: false,
    schema: 'core',
    version: '1.2',
  })
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return `${shown}:${line}:${col}`
  }
  // The parser's messages quote the file, which may contain secrets; its error codes do not.
  const wrong = document.errors[0] ?? document.warnings[0]
  if (wrong)
    throw new SettingsError(
      `${place(wrong.pos[0])}: not a YAML settings file (${wrong.code.toLowerCase().replaceAll('_', ' ')})`,
    )
  if (document.contents === null) return []
  if (!isMap(document.contents))
    throw new SettingsError(`${place(0)}: not a settings file; at the top it takes keys such as svc.broker.port`)
  const entries: Entry[] = []
  collect(document.contents, '', 0, place, entries)
  refuseDuplicates(entries)
  return entries
}

function decode(bytes: Uint8Array, shown: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new SettingsError(`${shown}: not a settings file; it takes YAML in UTF-8`)
  }
}

type Place = (offset: number) => string

function collect(node: ParsedNode | Node | null, key: string, depth: number, place: Place, entries: Entry[]): void {
  const offset = node?.range?.[0] ?? 0
  if (depth > DEEPEST_FILE)
    throw new SettingsError(`${place(offset)}: nested more than ${DEEPEST_FILE} deep, which no setting is`)
  refuseMagic(node, place, key)
  if (isMap(node)) {
    if (node.items.length === 0) entries.push({ key, text: '', origin: place(offset) })
    const seen = new Set<string>()
    for (const { key: keyNode, value } of node.items) {
      const part = readKey(keyNode as Node, place)
      const at = place((keyNode as Node).range?.[0] ?? 0)
      if (seen.has(part))
        throw new SettingsError(`${join(key, part)}: given twice in the file (again at ${at}), takes one value`)
      seen.add(part)
      collectValue(value as Node | null, join(key, part), depth, place, entries, at)
    }
  } else if (isSeq(node)) {
    if (node.items.length === 0) entries.push({ key, text: '', origin: place(offset) })
    node.items.forEach((item, at) => {
      collectValue(
        item as Node | null,
        `${key}[${at}]`,
        depth,
        place,
        entries,
        place((item as Node | null)?.range?.[0] ?? offset),
      )
    })
  } else if (isScalar(node)) {
    entries.push({ key, text: textOf(node), origin: place(offset) })
  }
}

function collectValue(
  value: Node | null,
  key: string,
  depth: number,
  place: Place,
  entries: Entry[],
  at: string,
): void {
  if (value === null) entries.push({ key, text: '', origin: at })
  else collect(value, key, depth + 1, place, entries)
}

function join(prefix: string, part: string): string {
  return withBrackets(prefix === '' ? part : `${prefix}.${part}`)
}

/**
 * Returns the text as it was written, so that our grammar checks 1e3, 0x10, 010 and 1.0 as text, before they become
 * numbers.
 */
function textOf(node: { readonly value: unknown; readonly source?: string | undefined }): string {
  if (typeof node.value === 'string') return node.value
  if (node.value === null) return ''
  return node.source ?? String(node.value)
}

function readKey(node: Node, place: Place): string {
  refuseMagic(node, place, 'a key')
  const text = isScalar(node) ? textOf(node) : ''
  if (text === '<<')
    throw new SettingsError(
      `${place(node.range?.[0] ?? 0)}: merge keys (<<) are not taken in a settings file; write the keys out`,
    )
  if (text === '') throw new SettingsError(`${place(node?.range?.[0] ?? 0)}: a key must be text`)
  return text
}

function refuseMagic(node: Node | ParsedNode | null, place: Place, key: string): void {
  if (node === null) return
  const at = place(node.range?.[0] ?? 0)
  const where = key === '' ? at : `${key} at ${at}`
  if (isAlias(node))
    throw new SettingsError(
      `${where}: aliases (*) are not taken in a settings file; write the value out, in quotes if it begins with *`,
    )
  if ('anchor' in node && node.anchor)
    throw new SettingsError(
      `${where}: anchors (&) are not taken in a settings file; write the value out, in quotes if it begins with &`,
    )
  if (node.tag !== undefined && !/^tag:yaml\.org,2002:(str|int|float|bool|null|map|seq)$/.test(node.tag)) {
    throw new SettingsError(
      `${where}: tags (!) are not taken in a settings file; write the value out, in quotes if it begins with !`,
    )
  }
}

/** Throws SettingsError if two entries have the same key, such as a nested and a dotted spelling. */
function refuseDuplicates(entries: readonly Entry[]): void {
  const origins = new Map<string, string>()
  for (const { key, origin } of entries) {
    const earlier = origins.get(key)
    if (earlier !== undefined)
      throw new SettingsError(`${key}: given twice in the file (${earlier} and ${origin}), takes one value`)
    origins.set(key, origin)
  }
}
