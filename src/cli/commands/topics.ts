// Topics on the command line.

import { type Command, confirm, integerOf, integerOption, pairsOption, segment, wordOption, YES } from '../command.ts'
import { CommandFailed, EXIT } from '../exit-status.ts'
import { everyRow } from '../pages.ts'
import { withProgress } from '../progress.ts'
import { bytes, counted, list, table } from '../table.ts'

interface Topic {
  readonly name: string
  readonly id: string
  readonly partitions: number
  readonly replicationFactor: number
  readonly createdAt: string
  readonly configs: Readonly<Record<string, string>>
  readonly cleanupPolicy: string
  readonly records: number | null
  readonly sizeBytes: number | null
}

interface Partition {
  readonly partition: number
  readonly leader: number | null
  readonly leaderEpoch: number | null
  readonly replicas: readonly number[]
  readonly inSync: readonly number[]
  readonly start: number | null
  readonly end: number | null
  readonly sizeBytes: number | null
  readonly error: { readonly detail: string } | null
}

interface DeletedRecords {
  readonly partition: number
  readonly start: number | null
  readonly error: { readonly detail: string } | null
}

interface Config {
  readonly name: string
  readonly value: string | null
  readonly source: string
  readonly default: string | null
}

const SORTS = ['name', 'partitions', 'records', 'sizeBytes', 'createdAt', 'lastWriteAt'] as const
const VALIDATE_ONLY = { value: null, doc: 'Only say whether it could be done.' }

const topicPath = (topic: string) => `/api/v1/topics/${segment(topic)}`

function configTable(configs: readonly Config[]): string {
  return table(
    ['CONFIG', 'VALUE', 'FROM', 'DEFAULT'],
    configs.map(({ name, value, source, default: fallback }) => [name, value, source, fallback]),
  )
}

export const topicCommands: readonly Command[] = [
  {
    name: 'topics list',
    doc: 'The topics, with how much is in them.',
    args: [],
    options: {
      filter: { value: 'text', doc: 'Only topics whose name has this text in it, in any case.' },
      sort: { value: 'by', doc: `${SORTS.join(', ')}; the name where it is not said.` },
      order: { value: 'asc|desc', doc: 'asc where it is not said; desc has the largest and the newest first.' },
      limit: { value: 'n', doc: 'So many at most; all where it is not said.' },
    },
    async run(call) {
      const { rows: topics } = await everyRow<Topic, { topics: unknown; total: number }>(
        call,
        '/api/v1/topics',
        'topics',
        {
          q: call.option('filter'),
          sort: wordOption(call, 'sort', SORTS, 'name'),
          order: wordOption(call, 'order', ['asc', 'desc'], 'asc'),
          most: integerOption(call, 'limit', 1) ?? Number.POSITIVE_INFINITY,
        },
      )
      call.show({ topics }, () =>
        table(
          ['TOPIC', 'PARTITIONS', 'RECORDS', 'SIZE', 'CLEANUP'],
          topics.map(each => [each.name, each.partitions, each.records, bytes(each.sizeBytes), each.cleanupPolicy]),
        ),
      )
      return EXIT.OK
    },
  },
  {
    name: 'topics create',
    doc: 'Creates a topic.',
    args: [{ name: 'topic' }],
    options: {
      partitions: { value: 'n', doc: 'Where it is not said, what the topic patterns say, else 1.' },
      'replication-factor': {
        value: 'n',
        doc: 'How many brokers are shown as replicas of each partition, at most as many as live; 1 by default. The store holds the records, whatever the number is.',
      },
      config: { value: 'name=value', doc: 'A config of the topic, such as retention.ms=60000.', isMany: true },
      'validate-only': VALIDATE_ONLY,
    },
    async run(call) {
      const partitions = integerOption(call, 'partitions', 1)
      const replicationFactor = integerOption(call, 'replication-factor', 1)
      const validateOnly = call.has('validate-only')
      const made = await call.api.post<{ name: string; partitions: number }>('/api/v1/topics', {
        name: call.args[0],
        ...(partitions === undefined ? {} : { partitions }),
        ...(replicationFactor === undefined ? {} : { replicationFactor }),
        configs: Object.fromEntries(pairsOption(call, 'config')),
        validateOnly,
      })
      const what = validateOnly ? 'could be created' : 'is created'
      call.show(made, () => `${made.name} ${what} with ${counted(made.partitions, 'partition')}.\n`)
      return EXIT.OK
    },
  },
  {
    name: 'topics describe',
    doc: 'One topic with its partitions.',
    args: [{ name: 'topic' }],
    options: {},
    async run(call) {
      const topic = await call.api.get<Topic & { leaders: readonly Partition[] }>(topicPath(call.args[0]!))
      call.show(topic, () => {
        const own = Object.entries(topic.configs).map(([name, value]) => `${name}=${value}`)
        const facts = list([
          ['topic', topic.name],
          ['id', topic.id],
          ['created', topic.createdAt],
          ['records', topic.records],
          ['size', bytes(topic.sizeBytes)],
          ['configs', own.join(' ')],
        ])
        const rows = topic.leaders.map(each => {
          const brokers = [each.leader, each.leaderEpoch, each.replicas.join(), each.inSync.join()]
          return [each.partition, ...brokers, each.start, each.end, bytes(each.sizeBytes), each.error?.detail ?? '']
        })
        const columns = ['PARTITION', 'LEADER', 'EPOCH', 'REPLICAS', 'IN SYNC', 'START', 'END', 'SIZE', 'TROUBLE']
        return `${facts}\n${table(columns, rows)}`
      })
      return EXIT.OK
    },
  },
  {
    name: 'topics delete',
    doc: 'Deletes topics with everything in them.',
    args: [{ name: 'topic', isMany: true }],
    options: { yes: YES },
    async run(call) {
      const { args } = call
      const question = `Delete ${args.length === 1 ? args[0] : `${args.length} topics`} with everything in ${args.length === 1 ? 'it' : 'them'}?`
      if (!(await confirm(call, question))) return EXIT.OK
      const deleted: string[] = []
      const work = async () => {
        for (const topic of args) {
          await call.api.delete(topicPath(topic))
          deleted.push(topic)
        }
      }
      try {
        await withProgress(call, () => `${deleted.length} of ${args.length} topics are deleted`, work())
      } catch (error) {
        if (!(error instanceof CommandFailed) || deleted.length === 0) throw error
        const { status, message, problem } = error
        const before = `${deleted.join(', ')} ${deleted.length === 1 ? 'was' : 'were'} deleted before`
        const told = problem === null ? null : { ...problem, deleted }
        throw new CommandFailed(status, `${message}\n  ${before}`, { problem: told, cause: error })
      }
      call.show({ deleted }, () => deleted.map(topic => `${topic} is deleted.\n`).join(''))
      return EXIT.OK
    },
  },
  {
    name: 'topics configs',
    doc: 'The configs of a topic; with --set or --delete, changes them first, all of it or nothing.',
    args: [{ name: 'topic' }],
    options: {
      set: { value: 'name=value', doc: 'Sets a config.', isMany: true },
      delete: { value: 'name', doc: 'Takes a config back to where it comes from otherwise.', isMany: true },
      'validate-only': VALIDATE_ONLY,
    },
    async run(call) {
      const path = `${topicPath(call.args[0]!)}/configs`
      const change = { set: Object.fromEntries(pairsOption(call, 'set')), delete: call.options('delete') }
      const isChange = Object.keys(change.set).length > 0 || change.delete.length > 0
      const { configs } = isChange
        ? await call.api.put<{ configs: readonly Config[] }>(path, {
            ...change,
            validateOnly: call.has('validate-only'),
          })
        : await call.api.get<{ configs: readonly Config[] }>(path)
      call.show({ configs }, () => configTable(configs))
      return EXIT.OK
    },
  },
  {
    name: 'topics partitions',
    doc: 'Gives a topic more partitions. There are never fewer, and keys may go elsewhere from then on.',
    args: [{ name: 'topic' }, { name: 'count' }],
    options: { 'validate-only': VALIDATE_ONLY },
    async run(call) {
      const [topic, count] = call.args
      const validateOnly = call.has('validate-only')
      const body = { count: integerOf(count!, 'the count', 1), validateOnly }
      const grown = await call.api.post<{ name: string; partitions: number }>(`${topicPath(topic!)}/partitions`, body)
      call.show(
        grown,
        () => `${grown.name} ${validateOnly ? 'could have' : 'has'} ${counted(grown.partitions, 'partition')}.\n`,
      )
      return EXIT.OK
    },
  },
  {
    name: 'topics delete-records',
    doc: 'Deletes the oldest records of a topic.',
    args: [{ name: 'topic' }],
    options: {
      before: { value: 'offset', doc: 'Those below this offset, or all with end. Required.' },
      partition: { value: 'n', doc: 'Only in this partition; in all where it is not said.', isMany: true },
      yes: YES,
    },
    async run(call) {
      const path = topicPath(call.args[0]!)
      const given = call.option('before')
      if (given === undefined) throw new CommandFailed(EXIT.USAGE, '--before is missing; takes an offset, or end')
      const before = given === 'end' ? given : integerOf(given, '--before', 0)
      const named = call.options('partition').map(text => integerOf(text, '--partition', 0))
      const partitions =
        named.length > 0 ? named : Array.from({ length: (await call.api.get<Topic>(path)).partitions }, (_, i) => i)
      const which = before === 'end' ? 'all records' : `the records before offset ${before}`
      const where = `${counted(partitions.length, 'partition')} of ${call.args[0]}`
      if (!(await confirm(call, `Delete ${which} in ${where}?`))) return EXIT.OK
      const body = { offsets: partitions.map(partition => ({ partition, before })) }
      const deleted = await call.api.post<{ partitions: readonly DeletedRecords[] }>(`${path}/records/delete`, body)
      call.show(deleted, () =>
        table(
          ['PARTITION', 'START', 'TROUBLE'],
          deleted.partitions.map(({ partition, start, error }) => [partition, start, error?.detail ?? '']),
        ),
      )
      return deleted.partitions.every(({ error }) => error === null) ? EXIT.OK : EXIT.REFUSED
    },
  },
]
