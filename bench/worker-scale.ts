// Measures what the storage worker costs when it has nothing to do in 10,000 partitions that have data, on both
// stores, and how long one round needs to roll 1,000 segments.

import { createTopics } from '../src/protocol/messages/create-topics.ts'
import { produce } from '../src/protocol/messages/produce.ts'
import { encodeBatch } from '../src/protocol/records.ts'
import { type BrokerProcess, startBrokerProcess } from '../testing/process.ts'
import { noRedis, type RedisServer, startRedis } from '../testing/redis.ts'
import { connect } from '../testing/wire.ts'
import { cpuSeconds, type Finding, type Harness, median, type Question } from './harness.ts'
import { ON_REQUEST, runRound } from './keyed.ts'
import { LOOP_DELAY_FLAG, loopDelay } from './loop-delay.ts'
import { leadersOf, startBrokers, until } from './redis-brokers.ts'
import { sleepAwake } from './startup.ts'

export const PARTITIONS = 100
const IDLE_TOPICS = 100
const ROLLED_TOPICS = 10
const IDLE = IDLE_TOPICS * PARTITIONS
const ROLLED = ROLLED_TOPICS * PARTITIONS
/** The brokers of the cluster on Redis whose commands are counted. */
const BROKERS = 3
/** The time over which commands are counted; KETCH_IDLE_SECONDS changes it. */
const IDLE_SECONDS = Number(process.env.KETCH_IDLE_SECONDS ?? '60')

export const workerScale: Question = {
  name: 'worker-scale',
  asks: `a round of the storage worker over ${IDLE} idle partitions, ${ROLLED} segments rolled in one round, and the commands of an idle cluster of ${BROKERS} brokers on Redis`,
  async answer(harness) {
    const findings = await measureBroker(harness, 'the embedded store', {})
    if (noRedis !== false) return findings
    const redis = await startRedis(harness)
    findings.push(...(await measureBroker(harness, 'Redis', { 'svc.redis.uri': redis.uri })))
    findings.push(...(await measureCommands(harness, await startRedis(harness))))
    return findings
  },
}

async function measureBroker(
  harness: Harness,
  store: string,
  settings: Readonly<Record<string, string>>,
): Promise<Finding[]> {
  const options = { settings: { ...ON_REQUEST, ...settings }, nodeFlags: [LOOP_DELAY_FLAG] }
  const broker = await startBrokerProcess(harness, options)
  await createWide(broker.port, 'idle', IDLE_TOPICS, {})
  // The first round has the marks of the appends to write. Warm code is measured, as a tick comes each minute.
  for (let i = 0; i < 3; i++) await runRound(broker.url)
  const rounds = Math.max(5, harness.rounds)
  const [cpu, hold, took]: [number[], number[], number[]] = [[], [], []]
  for (let round = 0; round < rounds; round++) {
    await loopDelay(broker)
    const before = cpuSeconds(broker.pid)
    const { tookMs } = await runRound(broker.url)
    cpu.push(cpuSeconds(broker.pid) - before)
    hold.push((await loopDelay(broker)).max)
    took.push(tookMs!)
  }
  harness.say(`${store}: a round took ${median(took).toFixed(0)} ms`)
  await createWide(broker.port, 'rolled', ROLLED_TOPICS, { 'segment.ms': '1' })
  await sleepAwake(10)
  await loopDelay(broker)
  const round = await runRound(broker.url)
  const rolling = await loopDelay(broker)
  const rolled = round.brokers[0]!.rolled
  if (rolled !== ROLLED) throw new Error(`${rolled} segments were rolled, not ${ROLLED}`)
  await broker.kill('SIGKILL')
  return [
    {
      what: `${store}, CPU of a round over idle partitions`,
      value: median(cpu),
      unit: 's',
      ceiling: 1,
      samples: cpu,
      notes: 'the aim is 0.3 s',
    },
    { what: `${store}, longest hold of the event loop`, value: median(hold), unit: 'ms', ceiling: 20, samples: hold },
    { what: `${store}, ${ROLLED} segments rolled in one round`, value: round.tookMs! / 1000, unit: 's', ceiling: 10 },
    { what: `${store}, longest hold of the event loop by that round`, value: rolling.max, unit: 'ms', ceiling: 20 },
  ]
}

/** Counts the commands of a cluster without clients, at the default settings of the worker. */
async function measureCommands(harness: Harness, redis: RedisServer): Promise<Finding[]> {
  const brokers = await startBrokers(harness, redis, BROKERS, { 'svc.admin.security-enabled': 'false' })
  const [first] = brokers as [BrokerProcess, ...BrokerProcess[]]
  await createWide(first.port, 'idle', IDLE_TOPICS, {}, brokers)
  // The first rounds have the marks of the appends to write.
  for (let i = 0; i < 3; i++) await runRound(first.url)
  await sleepAwake(5_000)
  await redis.ask('CONFIG', 'RESETSTAT')
  await sleepAwake(IDLE_SECONDS * 1_000)
  const lines = String(await redis.ask('INFO', 'commandstats')).split('\r\n')
  const counts = lines.flatMap(line => {
    const found = /^cmdstat_(.*):calls=(\d+)/.exec(line)
    return found ? [{ command: found[1]!, calls: Number(found[2]) }] : []
  })
  const perSecond = counts.reduce((sum, { calls }) => sum + calls, 0) / IDLE_SECONDS
  const most = counts.sort((a, b) => b.calls - a.calls).slice(0, 5)
  return [
    {
      what: `commands of ${BROKERS} idle brokers on Redis`,
      value: perSecond,
      unit: '/s',
      ceiling: 200,
      notes: `over ${IDLE_SECONDS} s; ${most.map(({ command, calls }) => `${command} ${(calls / IDLE_SECONDS).toFixed(1)}`).join(', ')}`,
    },
  ]
}

/** Creates topics and appends one record to each partition. */
export async function createWide(
  port: number,
  prefix: string,
  count: number,
  configs: Readonly<Record<string, string>>,
  brokers?: readonly BrokerProcess[],
): Promise<void> {
  const wire = await connect({ port })
  const names = Array.from({ length: count }, (_, at) => `${prefix}-${at}`)
  for (const name of names) {
    const made = await wire.send(createTopics, 7, {
      topics: [
        {
          name,
          numPartitions: PARTITIONS,
          replicationFactor: 1,
          assignments: [],
          configs: Object.entries(configs).map(([config, value]) => ({ name: config, value })),
        },
      ],
      timeoutMs: 60_000,
      validateOnly: false,
    })
    if (made.topics[0]!.errorCode !== 0) throw new Error(`${name} was refused with ${made.topics[0]!.errorCode}`)
  }
  await wire.close()
  for (const name of names) {
    const all = Array.from({ length: PARTITIONS }, (_, index) => index)
    const leaders =
      brokers === undefined ? [{ broker: { port }, partitions: all }] : await leadersOf(brokers, name, PARTITIONS)
    for (const { broker, partitions } of leaders) await appendToEach(broker.port, name, partitions)
  }
}

async function appendToEach(port: number, name: string, partitions: readonly number[]): Promise<void> {
  const wire = await connect({ port })
  const records = encodeBatch([{ key: 'key', value: 'value', timestamp: Date.now() }])
  await until(`${name} takes records`, async () => {
    const topicData = [{ name, partitionData: partitions.map(index => ({ index, records: Buffer.from(records) })) }]
    const { responses } = await wire.send(produce, 9, { acks: -1, timeoutMs: 60_000, topicData })
    return responses[0]!.partitionResponses.every(({ errorCode }) => errorCode === 0)
  })
  await wire.close()
}
