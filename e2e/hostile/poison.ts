// Runs poison (testing/poison.ts) against brokers as processes. Each batch is produced, looked up by time, browsed,
// shown, downloaded, exported and fetched, several batches at a time, at every broker, while other clients work
// beside it. It measures how long those clients wait and how much memory the brokers use. The caller decides on the
// limits.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { systemClock } from '../../src/base/clock.ts'
import { deleteRecords } from '../../src/protocol/messages/delete-records.ts'
import { fetch as fetchApi } from '../../src/protocol/messages/fetch.ts'
import { listOffsets } from '../../src/protocol/messages/list-offsets.ts'
import { metadata } from '../../src/protocol/messages/metadata.ts'
import { produce } from '../../src/protocol/messages/produce.ts'
import type { CleanUp } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import { createPoison, type Poison } from '../../testing/poison.ts'
import { type BrokerProcess, startBrokerProcess } from '../../testing/process.ts'
import { startRedis } from '../../testing/redis.ts'
import { createTopic } from '../../testing/topic.ts'
import { connect, type Wire } from '../../testing/wire.ts'
import { startBystander } from './bystander.ts'

export interface PoisonOptions {
  /** `redis`: three brokers on one Redis; `embedded`: one broker. */
  readonly store: 'redis' | 'embedded'
  readonly seeds: readonly number[]
  /** Seeds that run at the same time. */
  readonly atOnce: number
  progress?(report: PoisonReport): void
}

export interface PoisonReport {
  readonly seeds: number
  /**
   * The slowest request in ms of a client beside the poison, and of one at a broker on the same machine without
   * poison.
   */
  readonly slowestMs: number
  readonly elsewhereMs: number
  /**
   * For the broker that grew most, its anonymous resident memory: after it had served ordinary clients, and the
   * growth since then at its peak.
   */
  readonly startBytes: number
  readonly growthBytes: number
  /** The batches that were in work when that broker was largest. */
  readonly heaviest: string
  /** The waits of clients beside the poison that took longer than 250 ms, with the batches that were in work. */
  readonly long: readonly string[]
  /** Counts of results by their status or error code. */
  readonly answers: ReadonlyMap<string, number>
}

const TOPIC = 'poison'
const CALM = 'calm'
/** With this many partitions each of three brokers leads some, whatever the ids of the topics are. */
const PARTITIONS = 36
/** Partitions that get poison, in turn. */
const POISONED = 6
/** Batches that stay in a partition. A request may also meet the earlier ones. */
const KEPT = 8
const LONG_MS = 250
const WHOLE_EVERY = 20
const LOOK_MS = 20

/** Rejects if a broker ends, returns a malformed response, or logs its own mistake. */
export async function runPoison(cleanUp: CleanUp, options: PoisonOptions): Promise<PoisonReport> {
  const brokers = await startBrokers(cleanUp, options.store)
  const elsewhere = await startBrokerProcess(cleanUp, { settings: SETTINGS })
  await createTopic(elsewhere, CALM, 1)
  await createTopic(brokers[0]!, TOPIC, PARTITIONS)
  await createTopic(brokers[0]!, CALM, PARTITIONS)
  const scene = await openScene(cleanUp, brokers)
  const calm = await leadersOf(scene.wires[0]!, CALM, brokers.length)
  const bystander = startBystander([
    ...brokers.map(({ port }, i) => ({
      port,
      topic: CALM,
      partition: calm.indexOf(scene.ids[i]!),
      isElsewhere: false,
    })),
    { port: elsewhere.port, topic: CALM, partition: 0, isElsewhere: true },
  ])
  cleanUp.after(() => bystander.stop())
  await bystander.slowest()

  const startBytes = brokers.map(({ pid }) => residentBytes(pid))
  const mostBytes = [...startBytes]
  const heaviest = brokers.map(() => '')
  const answers = new Map<string, number>()
  const long: string[] = []
  /** The batch and the request in work, by seed. */
  const underWay = new Map<number, string>()
  const nowUnderWay = () => [...underWay].map(([seed, what]) => `${seed} (${what})`).join('; ')
  let slowestMs = 0
  let elsewhereMs = 0
  let done = 0
  const report = (): PoisonReport => {
    const growths = brokers.map((_, i) => mostBytes[i]! - startBytes[i]!)
    const most = growths.indexOf(Math.max(...growths))
    return {
      ...{ seeds: done, slowestMs, elsewhereMs, long, answers },
      ...{ startBytes: startBytes[most]!, growthBytes: growths[most]!, heaviest: heaviest[most]! },
    }
  }
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      for (const [i, { pid }] of brokers.entries()) {
        const bytes = residentBytes(pid)
        if (bytes <= mostBytes[i]!) continue
        mostBytes[i] = bytes
        heaviest[i] = nowUnderWay()
      }
      const found = await bystander.slowest()
      slowestMs = Math.max(slowestMs, found.hereMs)
      elsewhereMs = Math.max(elsewhereMs, found.elsewhereMs)
      if (found.hereMs > LONG_MS)
        long.push(`${found.hereMs.toFixed(0)} ms, elsewhere ${found.elsewhereMs.toFixed(0)} ms: ${nowUnderWay()}`)
      await new Promise(resolve => systemClock.timer(LOOK_MS, () => resolve(null)))
    }
  })()
  const queue = options.seeds[Symbol.iterator]()
  const worker = async () => {
    for (const seed of queue) {
      const poison = createPoison(seed, systemClock.now())
      const about = `${poison.about}, ${poison.batch.length} to ${poison.plainBytes} bytes`
      for (const answer of await takeIn(scene, seed, poison, step => underWay.set(seed, `${step} of ${about}`)))
        answers.set(answer, (answers.get(answer) ?? 0) + 1)
      underWay.delete(seed)
      done++
      options.progress?.(report())
    }
  }
  const ended = brokers.map(async ({ exited }) => {
    const status = await exited
    if (!isOver) throw new Error(`a broker ended with ${status}`)
  })
  for (const each of ended) each.catch(() => {})
  const work = Promise.all(Array.from({ length: options.atOnce }, worker))
  await Promise.race([work, Promise.all(ended), watching]).catch((error: unknown) => {
    const warnings = brokers.flatMap(broker =>
      broker
        .output()
        .split('\n')
        .filter(line => / (WARN|ERROR) /.test(line)),
    )
    throw new Error(`${error} at ${nowUnderWay()}; the brokers logged:\n${warnings.slice(-20).join('\n')}`, {
      cause: error,
    })
  })
  isOver = true
  await watching
  await bystander.stop()
  for (const broker of brokers) {
    assert.doesNotMatch(broker.output(), /defect in the broker/)
    assert.equal(await broker.kill('SIGTERM'), 0)
  }
  return report()
}

const SETTINGS = {
  'svc.admin.security-enabled': 'false',
  'svc.topics[0].name': '*',
  'svc.topics[0].auto-create': 'true',
}

async function startBrokers(cleanUp: CleanUp, store: PoisonOptions['store']): Promise<readonly BrokerProcess[]> {
  if (store === 'embedded') return [await startBrokerProcess(cleanUp, { settings: SETTINGS })]
  const redis = await startRedis(cleanUp, { appendfsync: 'everysec' })
  // A broker on a slow machine must not be considered dead, because the run measures how long clients wait.
  const settings = { ...SETTINGS, 'svc.redis.uri': redis.uri, 'svc.broker.expiry': '30s' }
  const start = (id: number) => startBrokerProcess(cleanUp, { settings: { ...settings, 'svc.broker.id': String(id) } })
  return Promise.all([1, 2, 3].map(start))
}

interface Scene {
  readonly brokers: readonly BrokerProcess[]
  /** One connection to each broker, in order. */
  readonly wires: readonly Wire[]
  /** The ids of the brokers, in order. */
  readonly ids: readonly number[]
  /** The partitions that get poison, the same number on each broker. */
  readonly places: readonly { readonly partition: number; readonly wire: Wire; readonly offsets: number[] }[]
}

async function openScene(cleanUp: CleanUp, brokers: readonly BrokerProcess[]): Promise<Scene> {
  const wires = await Promise.all(brokers.map(({ port }) => connect({ port })))
  cleanUp.after(async () => {
    for (const wire of wires) wire.socket.destroy()
  })
  let ids: readonly number[] = []
  await eventually('the brokers see each other', async () => {
    const { brokers: known } = await wires[0]!.send(metadata, 9, { topics: [] })
    ids = brokers.flatMap(({ port }) => known.find(each => each.port === port)?.nodeId ?? [])
    return ids.length === brokers.length
  })
  const leaders = (await leadersOf(wires[0]!, TOPIC, brokers.length)).map(id => ids.indexOf(id))
  const places = brokers.flatMap((_, i) =>
    leaders
      .flatMap((leader, partition) => (leader === i ? [{ partition, wire: wires[i]!, offsets: [] }] : []))
      .slice(0, Math.max(1, POISONED / brokers.length)),
  )
  return { brokers, wires, ids, places }
}

/** Returns the leaders by partition, once each broker leads some. */
async function leadersOf(wire: Wire, name: string, brokers: number): Promise<readonly number[]> {
  let leaders: number[] = []
  await eventually(
    `${brokers} brokers lead partitions of ${name}`,
    async () => {
      const { topics } = await wire.send(metadata, 9, { topics: [{ name }] })
      leaders = topics[0]!.partitions.toSorted((a, b) => a.partitionIndex - b.partitionIndex).map(each => each.leaderId)
      return new Set(leaders).size === brokers && !leaders.includes(-1)
    },
    60_000,
  )
  return leaders
}

/** Sends every kind of request about one batch, in turn. Resolves to the result of each. */
async function takeIn(
  scene: Scene,
  seed: number,
  { batch }: Poison,
  asks: (what: string) => void,
): Promise<readonly string[]> {
  const { partition, wire, offsets } = scene.places[seed % scene.places.length]!
  const answers: string[] = []
  asks('produce')
  const topicData = [{ name: TOPIC, partitionData: [{ index: partition, records: batch }] }]
  const { responses } = await wire.send(produce, 9, { acks: -1, timeoutMs: 30_000, topicData })
  const { errorCode, baseOffset } = responses[0]!.partitionResponses[0]!
  answers.push(`produce ${errorCode}`)
  if (errorCode !== 0) return answers
  await makeRoom(offsets, partition, wire, baseOffset)

  const now = systemClock.now()
  // The timestamp of most batches, one that some batches only claim to have, and the largest timestamp.
  for (const timestamp of [now - 30_000, now + 30_000, -3]) {
    asks(`look-up of ${timestamp < 0 ? 'the largest' : 'a time'}`)
    const partitions = [{ partitionIndex: partition, timestamp }]
    const { topics } = await wire.send(listOffsets, 7, { replicaId: -1, topics: [{ name: TOPIC, partitions }] })
    answers.push(`look-up ${topics[0]!.partitions[0]!.errorCode}`)
  }
  for (const version of [4, 12]) {
    asks('fetch')
    const partitions = [{ partition, fetchOffset: baseOffset, partitionMaxBytes: 2e6 }]
    const asked = { maxWaitMs: 0, minBytes: 0, maxBytes: 2e6, topics: [{ topic: TOPIC, partitions }] }
    const { responses } = await wire.send(fetchApi, version, asked)
    answers.push(`fetch ${version} ${responses[0]!.partitions[0]!.errorCode}`)
  }
  // Any broker serves these requests, whichever leads the partition.
  const { url } = scene.brokers[seed % scene.brokers.length]!
  const messages = `${url}/api/v1/topics/${TOPIC}/messages`
  const place = `partition=${partition}&offset=${baseOffset}`
  // An export of millions of headers takes a quarter of a minute, so only some exports are complete.
  const exported = seed % WHOLE_EVERY === 0 ? 20_000 : 300
  for (const [what, path] of [
    ['page', `?${place}&previewBytes=65536&limit=1000`],
    ['page of all', `?order=newest&decode=json`],
    ['page backwards', `?${place}&order=newest&decode=json&keyDecode=json`],
    ['search', `?${place}&contains=${'b'.padEnd(1_000, 'a')}`],
    ['search backwards', `?partition=${partition}&order=newest&contains=nowhere`],
    ['page by time', `?partition=${partition}&timestamp=${now + 30_000}`],
    ['page with schemas', `?${place}&limit=1000&decode=registry&keyDecode=registry`],
    ['record', `/${partition}/${baseOffset}?decode=json`],
    ['value', `/${partition}/${baseOffset}/download`],
    ['key', `/${partition}/${baseOffset}/download?part=key`],
    ['export', `/export?${place}&limit=${exported}`],
    ['csv', `/export?format=csv&partition=${partition}&order=newest&limit=${exported}`],
  ] as const) {
    asks(what)
    const response = await fetch(`${messages}${path}`)
    for await (const _ of response.body ?? []);
    assert.ok([200, 404, 503].includes(response.status), `seed ${seed}: ${path} is answered ${response.status}`)
    answers.push(`${what} ${response.status}`)
  }
  return answers
}

/** Deletes all but the last few batches of the partition. */
async function makeRoom(known: number[], partition: number, wire: Wire, baseOffset: number): Promise<void> {
  known.push(baseOffset)
  if (known.length <= KEPT) return
  known.splice(0, known.length - KEPT)
  const partitions = [{ partitionIndex: partition, offset: known[0]! }]
  await wire.send(deleteRecords, 1, { topics: [{ name: TOPIC, partitions }], timeoutMs: 30_000 })
}

/** Returns the anonymous resident memory in bytes. */
function residentBytes(pid: number): number {
  return Number(/RssAnon:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024
}
