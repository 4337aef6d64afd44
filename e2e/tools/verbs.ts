// The everyday verbs of Kafka's command-line tools, in the order in which they run against Ketch and against Apache
// Kafka. Each verb sees the results of the verbs before it.

import type { Tool } from './tools.ts'

export interface Verb {
  readonly tool: Tool
  /** `{folder}` is a folder with the files below; the address of the broker is added. */
  readonly args: readonly string[]
  readonly input?: string
  /** The order of the lines is not defined. */
  readonly isUnordered?: boolean
  /** Runs while a consumer of the group `live` has both partitions of `events`. */
  readonly isLive?: boolean
  /** Text that differs between runs, in addition to ids, times and addresses. */
  readonly hidden?: readonly (readonly [RegExp, string])[]
}

/** The files that verbs use. */
export const FILES: Readonly<Record<string, string>> = {
  'reset.csv': 'events,0,2\nevents,1,1\n',
  'delete.json': '{"partitions": [{"topic": "events", "partition": 0, "offset": 3}], "version": 1}',
  'reassign.json':
    '{"partitions": [{"topic": "events", "partition": 0, "replicas": [1]}, {"topic": "events", "partition": 1, "replicas": [1]}], "version": 1}',
  'reassign-to-folder.json':
    '{"partitions": [{"topic": "events", "partition": 0, "replicas": [1], "log_dirs": ["/nowhere"]}], "version": 1}',
  'reassign-to-strangers.json':
    '{"partitions": [{"topic": "events", "partition": 0, "replicas": [1, 7]}, {"topic": "nothing", "partition": 0, "replicas": [1]}], "version": 1}',
  'elect.json': '{"partitions": [{"topic": "events", "partition": 1}, {"topic": "short", "partition": 0}]}',
  'topics.json': '{"topics": [{"topic": "events"}], "version": 1}',
  'delete-too-much.json': '{"partitions": [{"topic": "events", "partition": 0, "offset": 300}], "version": 1}',
}

const topics = (args: string, more: Partial<Verb> = {}): Verb => ({
  tool: 'kafka-topics',
  args: args.split(' '),
  ...more,
})
const configs = (args: string, more: Partial<Verb> = {}): Verb => ({
  tool: 'kafka-configs',
  args: args.split(' '),
  ...more,
})
const groups = (args: string, more: Partial<Verb> = {}): Verb => ({
  tool: 'kafka-consumer-groups',
  args: args.split(' '),
  ...more,
})
const reassign = (args: string): Verb => ({ tool: 'kafka-reassign-partitions', args: args.split(' ') })
const offsets = (args: string, more: Partial<Verb> = {}): Verb => ({
  tool: 'kafka-get-offsets',
  args: args.split(' '),
  ...more,
})
const consume = (args: string, more: Partial<Verb> = {}): Verb => ({
  tool: 'kafka-console-consumer',
  args: args.split(' '),
  ...more,
})

const producers = (args: string): Verb => ({
  tool: 'kafka-transactions',
  args: ['describe-producers', ...args.split(' ')],
  // Hides the id of the producer and the time of its write.
  hidden: [[/^\d+(\s+\d+\s+-?\d+\s+\d+\s+)\d{13}/gm, 'N$1N']],
})
/** Hides the endpoint of Kafka's controller and the amount of its metadata, which Ketch cannot share. */
const quorum = (args: string): Verb => ({
  tool: 'kafka-metadata-quorum',
  args: ['describe', ...args.split(' ')],
  hidden: [
    [/^(ClusterId: )[\w-]{22}$/gm, '$1<id>'],
    [/^(HighWatermark: )\d+$/gm, '$1N'],
    [/"[A-Z]+:\/\/[\d.]+:\d+"|"[A-Z]+:\/\/<address>"/g, '"<endpoint>"'],
    [/^(\d+\s+[\w-]{22}\s+)\d+(\s+\d+\s+)(?:\d{13}|\d+ ms ago)(\s+)(?:\d{13}|\d+ ms ago)/gm, '$1N$2N$3N'],
  ],
})
const elect = (args: string): Verb => ({ tool: 'kafka-leader-election', args: args.split(' ') })

const PRINT_ALL = [
  ...['print.partition=true', 'print.offset=true', 'print.headers=true', 'print.key=true', 'null.literal=null'],
]
  .map(property => `--formatter-property ${property}`)
  .join(' ')

const RESET = '--reset-offsets --group readers --topic events'

/** Hides the measured speeds. */
const SPEED: Verb['hidden'] = [[/[\d.]+ (records\/sec|MB\/sec|ms)\b/g, 'N $1']]

const acls = (args: string): Verb => ({ tool: 'kafka-acls', args: args.split(' '), isUnordered: true })

export const verbs: readonly Verb[] = [
  acls('--list'),
  acls('--add --allow-principal User:ada --producer --topic orders'),
  acls('--add --allow-principal User:ada --producer --topic orders'),
  acls('--list --topic orders'),
  acls('--add --allow-principal User:bob --consumer --topic logs- --group g --resource-pattern-type prefixed'),
  acls('--add --allow-principal Group:ops --operation Read --topic *'),
  acls('--add --allow-principal User:ada --operation Describe --topic orders'),
  acls('--add --allow-principal User:ada --operation Delete --topic orders'),
  acls('--add --allow-principal User:ada --operation All --topic orders'),
  acls('--add --allow-principal User:* --operation Read --topic orders'),
  acls('--add --deny-principal User:eve --operation Read --topic orders'),
  acls('--add --allow-principal User:ada --allow-host 10.0.0.1 --operation Read --topic orders'),
  acls('--list --principal User:bob'),
  acls('--list --topic logs-2 --resource-pattern-type match'),
  acls('--list --group g2 --resource-pattern-type match'),
  acls(
    '--remove --force --allow-principal User:bob --consumer --topic logs- --group g --resource-pattern-type prefixed',
  ),
  acls('--list --topic logs- --resource-pattern-type any'),
  acls('--remove --force --topic orders'),
  acls('--remove --force --topic *'),
  acls('--list'),
  topics('--create --topic events --partitions 2'),
  topics('--create --topic events'),
  topics('--create --topic events --if-not-exists'),
  topics('--create --topic short --config retention.ms=3600000 --config max.message.bytes=2000000'),
  topics('--create --topic wide --replication-factor 3'),
  topics('--create --topic wide --config retention.ms=soon'),
  topics('--create --topic wide --config no.such.config=1'),
  topics('--create --topic what?'),
  topics('--create --topic assigned --replica-assignment 1,1,1'),
  topics('--create --topic default'),
  topics('--list'),
  topics('--describe --topic events'),
  topics('--describe --topic short'),
  topics('--describe --topic nothing'),
  topics('--describe --topic nothing --if-exists'),
  topics('--describe', { isUnordered: true }),
  topics('--describe --topics-with-overrides'),
  topics('--describe --under-replicated-partitions'),
  topics('--describe --unavailable-partitions'),
  topics('--describe --under-min-isr-partitions'),
  topics('--describe --at-min-isr-partitions', { isUnordered: true }),
  topics('--alter --topic default --partitions 4'),
  topics('--alter --topic default --partitions 2'),
  topics('--alter --topic default --partitions 4'),
  topics('--alter --topic nothing --partitions 4'),
  topics('--alter --topic nothing --partitions 4 --if-exists'),
  topics('--describe --topic default'),
  topics('--delete --topic assigned'),
  reassign('--list'),
  reassign('--generate --topics-to-move-json-file {folder}/topics.json --broker-list 1'),
  reassign('--execute --reassignment-json-file {folder}/reassign.json'),
  reassign('--verify --reassignment-json-file {folder}/reassign.json'),
  reassign('--execute --reassignment-json-file {folder}/reassign-to-strangers.json'),
  reassign('--execute --reassignment-json-file {folder}/reassign-to-folder.json'),
  reassign('--cancel --reassignment-json-file {folder}/reassign.json'),
  reassign('--list'),
  elect('--election-type preferred --topic events --partition 0'),
  elect('--election-type unclean --path-to-json-file {folder}/elect.json'),
  elect('--election-type preferred --all-topic-partitions'),
  elect('--election-type preferred --topic events --partition 9'),
  elect('--election-type preferred --topic nothing --partition 0'),
  topics('--delete --topic nothing'),
  topics('--delete --topic nothing --if-exists'),
  topics('--list'),

  configs('--describe --topic short'),
  configs('--describe --topic events'),
  configs('--describe --topic short --all'),
  configs('--describe --topic nothing'),
  configs('--describe --entity-type topics'),
  configs('--alter --topic events --add-config retention.ms=7200000,max.message.bytes=1000000'),
  configs('--describe --topic events'),
  configs('--alter --topic events --add-config retention.ms=soon'),
  configs('--alter --topic events --add-config no.such.config=1'),
  configs('--alter --topic nothing --add-config retention.ms=1'),
  configs('--alter --topic events --delete-config max.message.bytes'),
  configs('--alter --topic events --delete-config retention.bytes'),
  configs('--describe --topic events'),
  configs('--describe --broker 1'),
  configs('--describe --broker 1 --all'),
  configs('--describe --broker 7'),
  configs('--describe --broker-defaults'),
  configs('--alter --broker 1 --add-config node.id=7'),
  configs('--alter --broker 1 --add-config no.such.config=7'),
  configs('--alter --client app --add-config producer_byte_rate=1000000,consumer_byte_rate=2000000'),
  configs('--alter --client-defaults --add-config request_percentage=50'),
  configs('--alter --client app --add-config no_such_quota=1'),
  configs('--alter --user someone --add-config producer_byte_rate=5'),
  configs('--describe --client app'),
  configs('--describe --client-defaults'),
  configs('--describe --entity-type clients', { isUnordered: true }),
  configs('--describe --user someone --entity-type users --user-defaults'),
  configs('--describe --entity-type users'),
  configs('--alter --client app --delete-config producer_byte_rate,consumer_byte_rate'),
  configs('--alter --client-defaults --delete-config request_percentage'),
  configs('--alter --user someone --delete-config producer_byte_rate'),
  configs('--alter --user alice --add-config SCRAM-SHA-256=[iterations=8192,password=correct-horse]'),
  configs('--alter --entity-type users --entity-name bob --add-config SCRAM-SHA-256=[password=correct-horse]'),
  configs('--alter --user carol --add-config SCRAM-SHA-256=[iterations=100,password=correct-horse]'),
  configs('--alter --user carol --add-config SCRAM-SHA-256=[iterations=1000001,password=correct-horse]'),
  configs('--alter --user alice --add-config SCRAM-SHA-256=[password=correct-horse],SCRAM-SHA-512=[password=horse]'),
  configs('--describe --user alice'),
  configs('--describe --entity-type users', { isUnordered: true }),
  configs('--alter --user alice --add-config producer_byte_rate=5,SCRAM-SHA-256=[password=correct-horse]'),
  configs('--alter --user alice --add-config SCRAM-SHA-256=[iterations=4096,password=another-horse]'),
  configs('--describe --user alice'),
  configs('--alter --user alice --delete-config SCRAM-SHA-256'),
  configs('--alter --user bob --delete-config SCRAM-SHA-256'),
  configs('--alter --user bob --delete-config SCRAM-SHA-256'),
  configs('--describe --user alice'),
  configs('--alter --user dora --add-config SCRAM-SHA-512=[password=correct-horse]'),
  configs('--describe --entity-type clients'),
  configs('--describe --entity-type groups'),
  configs('--describe --entity-type client-metrics'),
  configs('--describe --entity-type ips'),

  {
    tool: 'kafka-console-producer',
    args: [
      ...['--topic', 'events', '--reader-property', 'parse.key=true', '--reader-property', 'key.separator=:'],
      ...['--reader-property', 'parse.headers=true', '--reader-property', 'null.marker=null'],
    ],
    input: 'a:1\ta:one\nb:2\tb:two\nnull\tc:three\nd:4\td:null\nnull\te:five\nf:6\tf:six\n',
  },
  { tool: 'kafka-console-producer', args: ['--topic', 'made-by-producing'], input: 'first\nsecond\n' },
  { tool: 'kafka-console-producer', args: ['--topic', 'single'], input: 'only\n' },
  consume(`--topic events --from-beginning --max-messages 6 ${PRINT_ALL}`, { isUnordered: true }),
  consume(`--topic events --partition 0 --offset 1 --max-messages 1 ${PRINT_ALL}`),
  consume('--topic events --partition 1 --offset latest --timeout-ms 500'),
  consume('--topic events --from-beginning --group readers --max-messages 6', { isUnordered: true }),
  consume('--topic made-by-producing --from-beginning --group other-readers --max-messages 1'),
  consume('--include made-.* --from-beginning --max-messages 2'),

  offsets('--topic events'),
  offsets('--topic events --time earliest'),
  offsets('--topic events --time latest'),
  // This topic has one record, because several records may have the same time.
  offsets('--topic single --time max-timestamp'),
  offsets('--topic events --time earliest-local'),
  offsets('--topic events --time latest-tiered'),
  offsets('--topic events --time earliest-pending-upload'),
  offsets('--topic events --time 1000000000000'),
  offsets('--topic events --time 4000000000000'),
  offsets('--topic-partitions events:1,short:0-1'),
  offsets('--topic events --partitions 1'),
  offsets('--exclude-internal-topics'),
  offsets('--topic nothing'),

  groups('--list', { isUnordered: true }),
  groups('--list --state', { isUnordered: true }),
  groups('--list --state Empty', { isUnordered: true }),
  groups('--list --state Stable'),
  groups('--list --type', { isUnordered: true }),
  groups('--list --type classic', { isUnordered: true }),
  groups('--list --type consumer'),
  { tool: 'kafka-groups', args: ['--list'], isUnordered: true },
  { tool: 'kafka-groups', args: ['--list', '--group-type', 'share'] },
  groups('--describe --group readers'),
  groups('--describe --group readers --verbose'),
  groups('--describe --group readers --members'),
  groups('--describe --group readers --state'),
  groups('--describe --group readers --state --verbose'),
  groups('--describe --all-groups', { isUnordered: true }),
  groups('--describe --group nothing'),
  groups('--describe --group nothing --members'),
  groups('--describe --group nothing --state'),

  groups('--describe --group live', { isLive: true }),
  groups('--describe --group live --members', { isLive: true }),
  groups('--describe --group live --members --verbose', { isLive: true }),
  groups('--describe --group live --state', { isLive: true }),
  groups('--list --state Stable', { isLive: true }),
  groups('--reset-offsets --group live --topic events --to-earliest --execute', { isLive: true }),
  groups('--delete --group live', { isLive: true }),
  groups('--delete-offsets --group live --topic events', { isLive: true }),

  groups(`${RESET} --to-earliest --dry-run`),
  groups(`${RESET} --to-earliest`),
  groups(`${RESET} --to-earliest --execute`),
  groups('--describe --group readers'),
  groups(`${RESET} --to-latest --execute`),
  groups(`${RESET}:0 --to-offset 1 --execute`),
  groups(`${RESET} --to-offset 1000 --execute`),
  groups(`${RESET} --shift-by -1 --execute`),
  groups(`${RESET} --shift-by 100 --execute`),
  groups(`${RESET} --to-current --execute`),
  groups(`${RESET} --to-datetime 2001-01-01T00:00:00.000 --execute`),
  groups(`${RESET} --to-datetime 2091-01-01T00:00:00.000 --execute`),
  groups(`${RESET} --by-duration PT1H --execute`),
  groups(`${RESET} --to-earliest --export`),
  groups('--reset-offsets --group readers --from-file {folder}/reset.csv --execute'),
  groups('--reset-offsets --group readers --all-topics --to-latest --execute'),
  groups('--reset-offsets --all-groups --all-topics --to-earliest --dry-run', { isUnordered: true }),
  groups('--reset-offsets --group new-readers --topic events --to-latest --execute'),
  groups('--reset-offsets --group readers --topic nothing --to-latest --execute'),
  groups('--describe --group readers'),
  groups('--delete-offsets --group readers --topic events:0'),
  groups('--delete-offsets --group readers --topic nothing'),
  groups('--delete-offsets --group nothing --topic events'),
  groups('--describe --group readers'),
  groups('--delete --group other-readers'),
  groups('--delete --group nothing'),
  groups('--delete --group new-readers --group nothing'),
  groups('--list', { isUnordered: true }),

  { tool: 'kafka-delete-records', args: ['--offset-json-file', '{folder}/delete.json'] },
  { tool: 'kafka-delete-records', args: ['--offset-json-file', '{folder}/delete-too-much.json'] },
  offsets('--topic events --time earliest'),
  consume(`--topic events --partition 0 --offset earliest --timeout-ms 500 ${PRINT_ALL}`),

  {
    tool: 'kafka-log-dirs',
    args: ['--describe', '--topic-list', 'events,short'],
    hidden: [[/"size":\d+/g, '"size":N']],
  },
  { tool: 'kafka-log-dirs', args: ['--describe', '--topic-list', 'nothing'] },
  { tool: 'kafka-log-dirs', args: ['--describe', '--broker-list', '7', '--topic-list', 'events'] },
  quorum('--status'),
  quorum('--replication'),
  quorum('--replication --human-readable'),
  { tool: 'kafka-broker-api-versions', args: [] },
  { tool: 'kafka-cluster', args: ['cluster-id'] },
  { tool: 'kafka-cluster', args: ['list-endpoints'] },

  // The topic is created early: Kafka responds before its own metadata shows a new topic, and kafka-e2e-latency does
  // not wait.
  { tool: 'kafka-topics', args: ['--create', '--topic', 'latency'] },
  {
    tool: 'kafka-producer-perf-test',
    args: '--topic perf --num-records 2000 --record-size 1000 --throughput -1 --command-property acks=all'.split(' '),
    hidden: SPEED,
  },
  producers('--topic perf --partition 0'),
  producers('--topic perf --partition 0 --broker-id 1'),
  {
    tool: 'kafka-consumer-perf-test',
    args: '--topic perf --num-records 2000'.split(' '),
    hidden: [[/^(<time>, <time>, [\d.]+), [\d.]+, (\d+), .*$/m, '$1, N, $2, …']],
  },
  {
    tool: 'kafka-e2e-latency',
    args: '--topic latency --num-records 20 --producer-acks all --record-size 100'.split(' '),
    hidden: [
      [/\d+\.\d+/g, 'N'],
      [/= \d+/g, '= N'],
    ],
  },
  {
    tool: 'kafka-verifiable-producer',
    args: '--topic verified --max-messages 5'.split(' '),
    isUnordered: true,
    hidden: [[/"avg_throughput":[\d.]+/, '"avg_throughput":N']],
  },
  {
    tool: 'kafka-verifiable-consumer',
    args: '--topic verified --group-id verifiers --max-messages 5'.split(' '),
  },
]
