// `npm run soak -- --minutes 60`: a mixed load on one broker while retention drops data. It prints one line a minute
// and a verdict at the end: memory, sockets, timers, handles and files are flat, and every acknowledged record was
// read or dropped by retention.

import { parseArgs } from 'node:util'
import { sleep, systemClock } from '../../src/base/clock.ts'
import { listOffsets } from '../../src/protocol/messages/list-offsets.ts'
import { type BrokerProcess, startBrokerProcess } from '../../testing/process.ts'
import { createTopic } from '../../testing/topic.ts'
import { connect } from '../../testing/wire.ts'
import { fetchJars } from '../java/jars.ts'
import { kafkaJs } from '../kafkajs/client.ts'
import { kcat } from '../kcat/client.ts'
import { confluentPython } from '../python/client.ts'
import {
  BY_SIZE,
  BY_TIME,
  GROUPS,
  PARTITIONS,
  type Running,
  type Scene,
  startGroups,
  startProducers,
} from './clients.ts'
import { GAUGES, type GaugeName, judgeTrends, type Sample, takeSample } from './gauges.ts'
import { openLedger } from './ledger.ts'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '60' } } })
const minutes = Number(values.minutes)
if (!(minutes >= 1)) throw new Error(`--minutes takes a number from 1 on, got ${values.minutes}`)

/**
 * How often the ledger is judged. By then every group must have read the records that were acknowledged at the time
 * before.
 */
const JUDGED_EVERY_MS = 30_000
const SAMPLES_A_MINUTE = 6

const SETTINGS = {
  'svc.storage.worker.tick-interval': '2s',
  'svc.broker.rebalance-delay': '1s',
  // Other work on the same disk may delay a sync for longer than the default, and Kafka's verifiable producer does
  // not retry.
  'svc.broker.produce-timeout': '30s',
}

function gaugeText(name: GaugeName, value: number): string {
  const { unit, doc } = GAUGES[name]
  return `${doc} ${value.toFixed(unit === 'MB' ? 1 : 0)}${unit === '' ? '' : ` ${unit}`}`
}

function describeSample(sample: Sample): string {
  return (Object.keys(GAUGES) as GaugeName[]).map(name => gaugeText(name, sample[name])).join(', ')
}

async function readLogStarts(broker: BrokerProcess): Promise<ReadonlyMap<string, number>> {
  const wire = await connect(broker)
  try {
    const partitions = Array.from({ length: PARTITIONS }, (_, partitionIndex) => ({ partitionIndex, timestamp: -2 }))
    const { topics } = await wire.send(listOffsets, 7, {
      replicaId: -1,
      isolationLevel: 0,
      topics: [BY_SIZE, BY_TIME].map(name => ({ name, partitions })),
    })
    return new Map(
      topics.flatMap(topic =>
        topic.partitions.map(({ partitionIndex, offset }) => [`${topic.name}:${partitionIndex}`, offset] as const),
      ),
    )
  } finally {
    await wire.close()
  }
}

async function soak(cleanUp: { after(fn: () => Promise<void>): void }): Promise<readonly string[]> {
  const probe = new URL('./probe.ts', import.meta.url).href
  const broker = await startBrokerProcess(cleanUp, { settings: SETTINGS, nodeFlags: [`--import=${probe}`] })
  await createTopic(broker, BY_SIZE, PARTITIONS, { 'retention.bytes': String(8 * 2 ** 20) })
  await createTopic(broker, BY_TIME, PARTITIONS, { 'retention.ms': '30000' })
  const ledger = openLedger(GROUPS)
  const [producing, reading] = [new AbortController(), new AbortController()]
  cleanUp.after(async () => {
    producing.abort()
    reading.abort()
  })
  const scene = (stopping: AbortSignal): Scene => ({ broker, ledger, stopping })
  const groups = startGroups(scene(reading.signal))
  const producers = startProducers(scene(producing.signal))
  const failure = firstFailure([...groups, ...producers])
  failure.catch(() => console.log(`the last log lines of the broker:\n${broker.output().slice(-2000)}`))

  const wrong: string[] = []
  const samples: Sample[] = []
  const startedAtMs = systemClock.monotonic()
  let judgedAtMs = startedAtMs
  const judge = async () => {
    judgedAtMs = systemClock.monotonic()
    const found = ledger.judge(await readLogStarts(broker))
    for (const each of found) console.log(`✖ ${each}`)
    wrong.push(...found)
  }
  let before = { acknowledged: 0, read: 0, starts: 0, atMs: startedAtMs }
  for (let number = 1; number <= minutes * SAMPLES_A_MINUTE; number++) {
    const dueMs = startedAtMs + (number * 60_000) / SAMPLES_A_MINUTE - systemClock.monotonic()
    await Promise.race([failure, sleep(systemClock, Math.max(1, dueMs))])
    samples.push(await takeSample(broker))
    if (systemClock.monotonic() - judgedAtMs >= JUDGED_EVERY_MS) await judge()
    if (number % SAMPLES_A_MINUTE !== 0) continue
    const { acknowledged, read } = ledger
    const starts = [...(await readLogStarts(broker)).values()].reduce((sum, start) => sum + start, 0)
    const atMs = systemClock.monotonic()
    const rate = (now: number, then: number) => ((now - then) / ((atMs - before.atMs) / 1000)).toFixed(0)
    console.log(
      `${number / SAMPLES_A_MINUTE} min: records a second ${rate(acknowledged, before.acknowledged)} acknowledged, ` +
        `${rate(read, before.read)} read, ${rate(starts, before.starts)} dropped by retention; ${describeSample(samples.at(-1)!)}`,
    )
    before = { acknowledged, read, starts, atMs }
  }

  producing.abort()
  await Promise.race([failure, Promise.all(producers.map(each => each.ended))])
  // The first call takes the end of the acknowledged records; the second judges when the groups have had time to read
  // them.
  await judge()
  await Promise.race([failure, sleep(systemClock, 5000)])
  await judge()
  reading.abort()
  await Promise.all(groups.map(each => each.ended))

  console.log(`the second half of ${minutes} minutes, ${samples.length} samples:`)
  for (const { name, rise, allowed, isFlat } of judgeTrends(samples)) {
    console.log(
      `${isFlat ? '✔' : '✖'} ${GAUGES[name].doc}: rose by ${rise.toFixed(1)}, ${allowed.toFixed(1)} allowed; ` +
        `at the end ${gaugeText(name, samples.at(-1)![name])}`,
    )
    if (!isFlat) wrong.push(`${GAUGES[name].doc} rose by ${rise.toFixed(1)}`)
  }
  console.log(
    `${ledger.acknowledged} records acknowledged, ${ledger.read} read by three groups, ` +
      `${ledger.retainedAway} dropped by retention before a group had read them`,
  )
  if ((await broker.kill('SIGTERM')) !== 0)
    wrong.push(`the broker did not end with status 0: ${broker.output().slice(-2000)}`)
  return wrong
}

/** Never resolves. Rejects with the failure of the first client that fails, with the client's name. */
function firstFailure(clients: readonly Running[]): Promise<never> {
  const failure = new Promise<never>((_, reject) => {
    for (const { name, ended } of clients) {
      ended.catch(error => reject(new Error(`${name}: ${(error as Error).message}`, { cause: error })))
    }
  })
  failure.catch(() => undefined)
  return failure
}

const absences = [kcat, kafkaJs, confluentPython].map(client => client.absence()).concat(fetchJars())
const absent = absences.filter(absence => absence !== null)
if (absent.length > 0) throw new Error(`a soak needs all of its clients: ${absent.join('; ')}`)

const ends: (() => Promise<void>)[] = []
// Timers of the clock do not keep a process alive.
const alive = setInterval(() => undefined, 60_000)
try {
  const wrong = await soak({ after: fn => void ends.push(fn) })
  console.log(wrong.length === 0 ? '✔ flat, and nothing was lost' : `✖ ${wrong.length} things were wrong`)
  if (wrong.length > 0) process.exitCode = 1
} finally {
  for (const end of ends.reverse()) await end()
  clearInterval(alive)
}
