// Topics on the command line.

import type {
  ConfigChange,
  CreatedTopic,
  DeletedRecords,
  GrownTopic,
  NewPartitions,
  NewTopic,
  RecordDeletion,
  ShownConfig,
  TopicConfigs,
  TopicDescription,
  TopicList,
  TopicSummary,
} from '../../api/topics.ts'
import { ORDERS, TOPIC_SORTS } from '../../api/words.ts'
import { type Command, confirm, integerOf, integerOption, pairsOption, segment, wordOption, YES } from '../command.ts'
import { CommandFailed, EXIT } from '../exit-status.ts'
import { everyRow } from '../pages.ts'
import { withProgressSignedIn } from '../progress.ts'
import { bytes, counted, list, table } from '../table.ts'

const VALIDATE_ONLY = { value: null, doc: 'Only checks whether it is possible.' }

const topicPath = (topic: string) => `/api/v1/topics/${segment(topic)}`

function configTable(configs: readonly ShownConfig[]): string {
  return table(
    ['CONFIG', 'VALUE', 'FROM', 'DEFAULT'],
    configs.map(({ name, value, source, default: fallback }) => [name, value, source, fallback]),
  )
}

export const topicCommands: readonly Command[] = [
  {
    name: 'topics list',
    doc: 'Lists the topics with their size.',
    args: [],
    options: {
      filter: { value: 'text', doc: 'Only topics whose name contains this text, in any case.' },
      sort: { value: 'by', doc: `${TOPIC_SORTS.join(', ')}; name by default.` },
      order: { value: 'asc|desc', doc: 'asc by default; desc shows the largest and the newest first.' },
      limit: { value: 'n', doc: 'At most this many topics; all by default.' },
    },
    async run(call) {
      const { rows: topics } = await everyRow<TopicSummary, TopicList>(call, '/api/v1/topics', 'topics', {
        q: call.option('filter'),
        sort: wordOption(call, 'sort', TOPIC_SORTS, 'name'),
        order: wordOption(call, 'order', ORDERS, 'asc'),
        most: integerOption(call, 'limit', 1) ?? Number.POSITIVE_INFINITY,
      })
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
      partitions: { value: 'n', doc: 'By default the number in the topic patterns, else 1.' },
      'replication-factor': {
        value: 'n',
        doc: 'The number of brokers that are shown as replicas of each partition, at most the number that live; 1 by default. The store holds the records in any case.',
      },
      config: { value: 'name=value', doc: 'A config of the topic, such as retention.ms=60000.', isMany: true },
      'validate-only': VALIDATE_ONLY,
    },
    async run(call) {
      const partitions = integerOption(call, 'partitions', 1)
      const replicationFactor = integerOption(call, 'replication-factor', 1)
      const validateOnly = call.has('validate-only')
      const configs = Object.fromEntries(pairsOption(call, 'config'))
      const topic: NewTopic = { name: call.args[0]!, partitions, replicationFactor, configs, validateOnly }
      const made = await call.api.post<CreatedTopic>('/api/v1/topics', topic)
      const what = validateOnly ? 'could be created' : 'is created'
      call.show(made, () => `${made.name} ${what} with ${counted(made.partitions, 'partition')}.\n`)
      return EXIT.OK
    },
  },
  {
    name: 'topics describe',
    doc: 'Shows one topic with its partitions.',
    args: [{ name: 'topic' }],
    options: {},
    async run(call) {
      const topic = await call.api.get<TopicDescription>(topicPath(call.args[0]!))
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
        await withProgressSignedIn(call, () => `${deleted.length} of ${args.length} topics are deleted`, work)
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
    doc: 'Shows the configs of a topic. With --set or --delete it changes them first, all or none.',
    args: [{ name: 'topic' }],
    options: {
      set: { value: 'name=value', doc: 'Sets a config.', isMany: true },
      delete: { value: 'name', doc: 'Takes a config back to its setting or default.', isMany: true },
      'validate-only': VALIDATE_ONLY,
    },
    async run(call) {
      const path = `${topicPath(call.args[0]!)}/configs`
      const set = Object.fromEntries(pairsOption(call, 'set'))
      const gone = [...call.options('delete')]
      const change: ConfigChange = { set, delete: gone, validateOnly: call.has('validate-only') }
      const isChange = Object.keys(set).length > 0 || gone.length > 0
      const { configs } = isChange
        ? await call.api.put<TopicConfigs>(path, change)
        : await call.api.get<TopicConfigs>(path)
      call.show({ configs }, () => configTable(configs))
      return EXIT.OK
    },
  },
  {
    name: 'topics partitions',
    doc: 'Gives a topic more partitions, never fewer. A key may go to another partition from then on.',
    args: [{ name: 'topic' }, { name: 'count' }],
    options: { 'validate-only': VALIDATE_ONLY },
    async run(call) {
      const [topic, count] = call.args
      const validateOnly = call.has('validate-only')
      const body: NewPartitions = { count: integerOf(count!, 'the count', 1), validateOnly }
      const grown = await call.api.post<GrownTopic>(`${topicPath(topic!)}/partitions`, body)
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
      before: { value: 'offset', doc: 'Deletes the records below this offset, or all with end. Required.' },
      partition: { value: 'n', doc: 'Only in this partition; in all by default.', isMany: true },
      yes: YES,
    },
    async run(call) {
      const path = topicPath(call.args[0]!)
      const given = call.option('before')
      if (given === undefined) throw new CommandFailed(EXIT.USAGE, '--before is missing; takes an offset, or end')
      const before = given === 'end' ? given : integerOf(given, '--before', 0)
      const named = call.options('partition').map(text => integerOf(text, '--partition', 0))
      const partitions =
        named.length > 0
          ? named
          : Array.from({ length: (await call.api.get<TopicSummary>(path)).partitions }, (_, i) => i)
      const which = before === 'end' ? 'all records' : `the records before offset ${before}`
      const where = `${counted(partitions.length, 'partition')} of ${call.args[0]}`
      if (!(await confirm(call, `Delete ${which} in ${where}?`))) return EXIT.OK
      const body: RecordDeletion = { offsets: partitions.map(partition => ({ partition, before })) }
      const deleted = await call.api.post<DeletedRecords>(`${path}/records/delete`, body)
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
