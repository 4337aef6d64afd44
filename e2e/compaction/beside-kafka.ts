// Sends seeded histories to Apache Kafka and to Ketch on each store, as the same bytes, lets their cleaners work, and
// compares what is left: records, batches, and the answers to readers. After each stage the newest record of each key
// must stand at its offset, and no other record below the cleaned point. Kafka is compared with the expectation too,
// so a wrong expectation shows. The brokers are restarted between two stages, for a second leader epoch.

import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { seededRandom } from '../../src/base/random.ts'
import { NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION } from '../../src/protocol/errors.ts'
import { createTopics } from '../../src/protocol/messages/create-topics.ts'
import { deleteTopics } from '../../src/protocol/messages/delete-topics.ts'
import { fetch } from '../../src/protocol/messages/fetch.ts'
import { incrementalAlterConfigs } from '../../src/protocol/messages/incremental-alter-configs.ts'
import { listOffsets } from '../../src/protocol/messages/list-offsets.ts'
import { offsetForLeaderEpoch } from '../../src/protocol/messages/offset-for-leader-epoch.ts'
import { produce } from '../../src/protocol/messages/produce.ts'
import { type BatchView, readRecords, splitBatches } from '../../src/protocol/records.ts'
import type { CleanUp } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import { connect, type Wire } from '../../testing/wire.ts'
import { type History, historyOf, type PastBatch, remainsAfter, type Stage, type StageName } from './histories.ts'
import { type Peer, STORES, startKafkaPeer, startKetchPeer } from './peers.ts'

export interface Comparison {
  readonly seeds: number
  readonly batches: number
  readonly records: number
  /** Bytes of the batches as they were sent. */
  readonly bytes: number
  /** Records that were left at the end. */
  readonly left: number
  readonly tombstonesGone: number
  /** Requests whose answers were compared. */
  readonly answers: number
  /** Empty if all brokers are as they must be. */
  readonly differences: readonly Difference[]
}

export interface Difference {
  readonly seed: number
  /** The stage, the broker, and the difference. */
  readonly what: string
}

const DAY_MS = 86_400_000
const LASTING_MS = String(DAY_MS)
const SHORT_MS = '1000'
const CLEANED_WITHIN_MS = 120_000
/** The requests of each kind whose answers are compared, for each history and comparison. */
const SAMPLES = 25

/** Compares the histories of these seeds, `atOnce` of them at the same time. `progress` gets each part when it ends. */
export async function compareWithKafka(
  cleanUp: CleanUp,
  seeds: readonly number[],
  atOnce: number,
  progress: (comparison: Comparison) => void = () => {},
): Promise<Comparison> {
  const starts = [startKafkaPeer(cleanUp), ...STORES.map(store => startKetchPeer(cleanUp, store))]
  const peers = await Promise.all(starts)
  const sum = {
    seeds: 0,
    batches: 0,
    records: 0,
    bytes: 0,
    left: 0,
    tombstonesGone: 0,
    answers: 0,
    differences: [] as Difference[],
  }
  for (let at = 0; at < seeds.length; at += atOnce) {
    const fromMs = Math.floor(performance.timeOrigin + performance.now()) - DAY_MS
    const histories = seeds.slice(at, at + atOnce).map(seed => historyOf(seed, fromMs))
    const part = await comparePart(peers, histories)
    for (const name of NUMBERS) sum[name] += part[name]
    sum.differences.push(...part.differences)
    progress(sum)
  }
  return sum
}

const NUMBERS = ['seeds', 'batches', 'records', 'bytes', 'left', 'tombstonesGone', 'answers'] as const

async function comparePart(peers: readonly Peer[], histories: readonly History[]): Promise<Comparison> {
  let sides: Side[] = []
  const connectAll = async () => {
    sides = await Promise.all(peers.map(async peer => ({ peer, wire: await connect(peer) })))
  }
  const onAll = <T>(work: (side: Side) => Promise<T>) => Promise.all(sides.map(work))
  const differences: Difference[] = []
  let answers = 0
  let left = 0

  const compareAfter = async (stage: StageName) => {
    await onAll(side => cleaned(side, histories, stage))
    for (const history of histories) {
      const [theirs, ...ours] = await onAll(async ({ peer, wire }): Promise<Seen> => {
        const log = await readLog(wire, topicOf(history))
        return { peer, wire, log, epochs: [...new Set(log.batches.map(({ leaderEpoch }) => leaderEpoch))] }
      })
      const add = ({ peer: { name } }: Seen, found: Iterable<string>) => {
        for (const what of found) differences.push({ seed: history.seed, what: `after ${stage}, ${name}: ${what}` })
      }
      for (const seen of [theirs!, ...ours]) add(seen, judgeLog(seen.log, history, stage))
      for (const seen of ours) {
        const { found, count } = await compareAnswers(theirs!, seen, history, stage)
        add(seen, found)
        answers += count
      }
      if (stage === 'last') left += theirs!.log.records.length
    }
  }

  const sendAll = async (name: StageName) => {
    await onAll(({ peer, wire }) =>
      Promise.all(
        histories.map(async history => {
          const stage = history.stages.find(each => each.name === name)
          if (stage !== undefined) await send(peer, wire, topicOf(history), stage)
        }),
      ),
    )
  }

  await connectAll()
  await onAll(({ peer, wire }) => create(peer, wire, histories))
  await sendAll('uncompacted')
  await onAll(({ wire }) => alter(wire, histories, ({ cleanupPolicy }) => ['cleanup.policy', cleanupPolicy]))
  await sendAll('lasting')
  await compareAfter('lasting')

  await onAll(({ wire }) => wire.close())
  await Promise.all(peers.map(peer => peer.restart()))
  await connectAll()
  await onAll(({ wire }) => alter(wire, histories, () => ['delete.retention.ms', SHORT_MS]))
  await sendAll('short')
  await compareAfter('short')

  await onAll(({ wire }) => outliveShortHorizons(wire, histories))
  await sendAll('last')
  await compareAfter('last')
  await onAll(async ({ wire }) => {
    await wire.send(deleteTopics, 5, { topicNames: histories.map(topicOf), timeoutMs: 30_000 })
    await wire.close()
  })
  const batches = histories.flatMap(({ stages }) => stages.flatMap(stage => stage.batches))
  const tombstones = histories.map(history => remainsAfter(history, 'short').filter(({ mayBeGone }) => mayBeGone))
  return {
    seeds: histories.length,
    batches: batches.length,
    records: batches.reduce((sum, { records }) => sum + records.length, 0),
    bytes: batches.reduce((sum, { bytes }) => sum + bytes.length, 0),
    left,
    tombstonesGone: tombstones.flat().length,
    answers,
    differences,
  }
}

interface Side {
  readonly peer: Peer
  readonly wire: Wire
}

const topicOf = ({ seed }: History) => `history-${seed}`

async function create({ topicConfigs }: Peer, wire: Wire, histories: readonly History[]): Promise<void> {
  const topics = histories.map(history => {
    const isOld = history.stages[0]!.name === 'uncompacted'
    const configs = {
      'cleanup.policy': isOld ? 'delete' : history.cleanupPolicy,
      'min.cleanable.dirty.ratio': '0',
      'delete.retention.ms': LASTING_MS,
      'retention.ms': '-1',
      'segment.bytes': String(2 ** 20),
      ...topicConfigs,
    }
    return {
      name: topicOf(history),
      numPartitions: 1,
      replicationFactor: 1,
      assignments: [],
      configs: Object.entries(configs).map(([name, value]) => ({ name, value })),
    }
  })
  const answer = await wire.send(createTopics, 7, { topics, timeoutMs: 30_000, validateOnly: false })
  const refused = answer.topics.filter(({ errorCode }) => errorCode !== 0)
  assert.deepEqual(refused, [])
}

async function alter(
  wire: Wire,
  histories: readonly History[],
  configOf: (history: History) => readonly [name: string, value: string],
): Promise<void> {
  const resources = histories.map(history => {
    const [name, value] = configOf(history)
    return { resourceType: 2, resourceName: topicOf(history), configs: [{ name, configOperation: 0, value }] }
  })
  const { responses } = await wire.send(incrementalAlterConfigs, 1, { resources, validateOnly: false })
  assert.deepEqual(
    responses.filter(({ errorCode }) => errorCode !== 0),
    [],
  )
}

const NOT_YET: readonly number[] = [UNKNOWN_TOPIC_OR_PARTITION.code, NOT_LEADER_OR_FOLLOWER.code]

/** Sends the batches one after the other. The broker must give each the offset that the history expects. */
async function send(peer: Peer, wire: Wire, topic: string, { batches }: Stage): Promise<void> {
  for (const { bytes, records } of batches) {
    const request = {
      acks: -1,
      timeoutMs: 30_000,
      topicData: [{ name: topic, partitionData: [{ index: 0, records: bytes }] }],
    }
    let row = await sendOnce()
    // Kafka needs a moment after the creation of a topic and after a start.
    for (; NOT_YET.includes(row.errorCode); row = await sendOnce()) await pause(20)
    const { errorCode, errorMessage, baseOffset } = row
    assert.deepEqual(
      { errorCode, errorMessage, baseOffset },
      { errorCode: 0, errorMessage: null, baseOffset: records[0]!.offset },
      `${peer.name} takes the batch of ${topic}`,
    )
    async function sendOnce() {
      const { responses } = await wire.send(produce, 9, request)
      return responses[0]!.partitionResponses[0]!
    }
  }
}

/** Resolves once the cleaner has come to the last record of the stage in each history. */
async function cleaned({ peer }: Side, histories: readonly History[], stage: StageName): Promise<void> {
  for (const history of histories) {
    const { offset } = history.stages.find(({ name }) => name === stage)!.batches.at(-1)!.records[0]!
    await eventually(
      `${peer.name} has cleaned ${topicOf(history)} up to ${offset} after ${stage}`,
      async () => (await peer.cleanedTo(topicOf(history))) >= offset || (await pause(50)),
      CLEANED_WITHIN_MS,
    )
  }
}

async function pause(ms: number): Promise<false> {
  await new Promise(resolve => setTimeout(resolve, ms))
  return false
}

/** Resolves when the tombstones with a short time may go. */
async function outliveShortHorizons(wire: Wire, histories: readonly History[]): Promise<void> {
  for (const history of histories) {
    const { batches } = await readLog(wire, topicOf(history))
    for (const { deleteHorizonMs } of batches) {
      if (deleteHorizonMs === null) continue
      const leftMs = () => deleteHorizonMs - Date.now()
      if (leftMs() < DAY_MS / 2) while (leftMs() >= 0) await pause(leftMs() + 1)
    }
  }
}

// ------------------------------------------------------------------------------------------------ the log

interface Log {
  readonly batches: readonly BatchView[]
  readonly records: readonly Shown[]
  readonly highWatermark: number
}

interface Seen extends Side {
  readonly log: Log
  /** The leader epochs of its batches, ascending. The record at the end of each stage keeps one batch of each. */
  readonly epochs: readonly number[]
}

interface Shown {
  readonly offset: number
  readonly text: string
}

async function fetchAt(wire: Wire, topic: string, fetchOffset: number, partitionMaxBytes: number) {
  const partitions = [{ partition: 0, fetchOffset, partitionMaxBytes }]
  const { responses } = await wire.send(fetch, 12, { maxWaitMs: 0, minBytes: 0, topics: [{ topic, partitions }] })
  const { errorCode, highWatermark, logStartOffset, records } = responses[0]!.partitions[0]!
  return { errorCode, highWatermark, logStartOffset, batches: splitBatches(records ?? Buffer.alloc(0)) }
}

/** Reads partition 0 from the beginning to the end, as a consumer does. */
async function readLog(wire: Wire, topic: string): Promise<Log> {
  const batches: BatchView[] = []
  const records: Shown[] = []
  for (let offset = 0; ; ) {
    const answer = await fetchAt(wire, topic, offset, 2 ** 20)
    const { errorCode, highWatermark } = answer
    assert.equal(errorCode, 0, `the fetch of ${topic} at ${offset}`)
    if (offset === highWatermark) return { batches, records, highWatermark }
    assert.ok(answer.batches.length > 0, `the fetch of ${topic} at ${offset} below ${highWatermark} has batches`)
    for (const batch of answer.batches) {
      assert.ok(batch.isIntact && batch.lastOffset >= offset, `the batch of ${topic} at ${batch.baseOffset}`)
      batches.push(batch)
      for (const record of await readRecords(batch.bytes)) records.push(shownOf(record))
      offset = batch.lastOffset + 1
    }
  }
}

/** Returns a record as one line: everything that a consumer sees of it. */
function shownOf(record: {
  readonly offset: number
  readonly key?: string | Uint8Array | null
  readonly value?: string | Uint8Array | null
  readonly timestamp?: number
  readonly headers?: readonly { readonly key: string; readonly value: string | Uint8Array | null }[]
}): Shown {
  const { offset, key = null, value = null, timestamp, headers = [] } = record
  const hex = (bytes: string | Uint8Array | null) => (bytes === null ? 'null' : Buffer.from(bytes).toString('hex'))
  const named = headers.map(header => `${header.key}=${hex(header.value)}`)
  const text = key === null ? 'null' : JSON.stringify(Buffer.from(key).toString())
  return { offset, text: `${offset} at ${timestamp}: ${text} = ${hex(value)} [${named}]` }
}

/** Yields what is wrong with the records and batches that a broker has after a cleaning. */
function* judgeLog(log: Log, history: History, stage: StageName): Generator<string> {
  const remains = remainsAfter(history, stage)
  const byOffset = new Map(log.records.map(shown => [shown.offset, shown.text]))
  if (byOffset.size !== log.records.length) yield 'an offset stands twice'
  for (const { record, mayBeGone } of remains) {
    const expected = shownOf(record).text
    const found = byOffset.get(record.offset)
    byOffset.delete(record.offset)
    if (found === undefined ? !mayBeGone : found !== expected)
      yield `must have ${cut(expected)}, has ${found === undefined ? 'nothing there' : cut(found)}`
  }
  for (const extra of byOffset.values()) yield `must not have ${cut(extra)}`
  yield* judgeBatches(log, history)
}

/** Yields what a batch has lost of itself: its fields, its codec, or its bytes although no record is gone. */
function* judgeBatches({ batches }: Log, { stages }: History): Generator<string> {
  const sent = new Map(stages.flatMap(stage => stage.batches.map(batch => [batch.records[0]!.offset, batch])))
  for (const batch of batches) {
    const before = sent.get(batch.baseOffset)
    if (before === undefined) {
      yield `has a batch at ${batch.baseOffset} that was never sent`
      continue
    }
    // A broker may keep the last batch without records. Apache Kafka does that for each producer.
    if (batch.recordCount === 0) continue
    const facts = factsOf(batch)
    const expected = { ...factsOf(before), maxTimestamp: facts.maxTimestamp }
    if (!isDeepStrictEqual(facts, expected)) yield `has ${JSON.stringify(facts)}, was sent ${JSON.stringify(expected)}`
    const hadTombstone = before.records.some(({ value }) => value === null)
    if (batch.deleteHorizonMs !== null && !hadTombstone)
      yield `has set a delete horizon at ${batch.baseOffset}, where no tombstone was`
    const isWhole = batch.recordCount === before.records.length && batch.deleteHorizonMs === null
    // The broker writes base offset and leader epoch, which are the first 16 bytes with the length.
    if (isWhole && !batch.bytes.subarray(16).equals(before.bytes.subarray(16)))
      yield `has changed the bytes of the whole batch at ${batch.baseOffset}`
  }
}

/** The fields of a batch that a cleaning keeps. */
function factsOf(batch: BatchView | PastBatch) {
  const view = 'codec' in batch ? splitBatches(batch.bytes)[0]! : batch
  const { compression, maxTimestamp, producerId, producerEpoch, baseSequence, lastOffsetDelta } = view
  const baseOffset = 'codec' in batch ? batch.records[0]!.offset : view.baseOffset
  return { baseOffset, lastOffsetDelta, compression, maxTimestamp, producerId, producerEpoch, baseSequence }
}

function cut(text: string): string {
  return text.length > 160 ? `${text.slice(0, 160)}...` : text
}

// ------------------------------------------------------------------------------------------------ the answers

/** Compares batches and answers of both. Tombstones that may be gone on one of them only are left out. */
async function compareAnswers(
  theirs: Seen,
  ours: Seen,
  history: History,
  stage: StageName,
): Promise<{ readonly found: readonly string[]; readonly count: number }> {
  const found: string[] = []
  let count = 0
  const topic = topicOf(history)
  const compare = async (name: string, ask: (seen: Seen) => Promise<unknown>) => {
    const [there, here] = await Promise.all([ask(theirs), ask(ours)])
    count++
    if (!isDeepStrictEqual(there, here))
      found.push(`${name} answers ${cut(JSON.stringify(here))}, Kafka ${cut(JSON.stringify(there))}`)
  }
  const ordinal = ({ epochs }: Seen, epoch: number) => (epoch < 0 ? epoch : epochs.indexOf(epoch))

  for (const epoch of [...theirs.epochs.keys(), 1000]) {
    await compare(`OffsetForLeaderEpoch of epoch ${epoch}`, async seen => {
      const partitions = [{ partition: 0, leaderEpoch: seen.epochs[epoch] ?? epoch }]
      const { topics } = await seen.wire.send(offsetForLeaderEpoch, 4, { topics: [{ topic, partitions }] })
      const { errorCode, leaderEpoch, endOffset } = topics[0]!.partitions[0]!
      return { errorCode, endOffset, leaderEpoch: ordinal(seen, leaderEpoch) }
    })
  }
  // While tombstones may be gone from one broker, the answers may differ.
  if (stage === 'short') return { found, count }

  await compare('the log', async seen =>
    seen.log.batches
      .filter(({ recordCount }) => recordCount > 0)
      .map(batch => ({
        ...factsOf(batch),
        recordCount: batch.recordCount,
        epoch: ordinal(seen, batch.leaderEpoch),
      })),
  )
  await compare('the delete horizons of batches with tombstones', async ({ log: { batches } }) => {
    const tombstones = remainsAfter(history, stage).filter(({ record }) => record.value === null)
    return tombstones.map(({ record: { offset } }) => {
      const batch = batches.find(({ lastOffset }) => lastOffset >= offset)!
      return [offset, batch.deleteHorizonMs !== null]
    })
  })
  const sent = history.stages.flatMap(({ batches }) => batches.flatMap(({ records }) => records))
  const past = sent.filter(({ offset }) => offset < theirs.log.highWatermark)
  const random = seededRandom(history.seed + 1)
  const times = Array.from({ length: SAMPLES }, () => past[random.below(past.length)]!.timestamp + random.below(3) - 1)
  for (const timestamp of [-1, -2, -3, ...times, past.at(-1)!.timestamp + 1]) {
    await compare(`ListOffsets at ${timestamp}`, async seen => {
      const topics = [{ name: topic, partitions: [{ partitionIndex: 0, timestamp }] }]
      const answer = await seen.wire.send(listOffsets, 7, { replicaId: -1, isolationLevel: 0, topics })
      const row = answer.topics[0]!.partitions[0]!
      return { ...row, leaderEpoch: ordinal(seen, row.leaderEpoch) }
    })
  }
  const gone = past.filter(({ offset }) => !theirs.log.records.some(each => each.offset === offset))
  for (let i = 0; i < SAMPLES && gone.length > 0; i++) {
    const { offset } = gone[random.below(gone.length)]!
    await compare(`Fetch at ${offset}, which is gone,`, ({ wire }) => nextAt(wire, topic, offset))
  }
  return { found, count }
}

/** Reads from an offset on until a batch has a record at or above it. Resolves with the batch and this record. */
async function nextAt(wire: Wire, topic: string, from: number) {
  for (let at = from; ; ) {
    const { errorCode, highWatermark, logStartOffset, batches } = await fetchAt(wire, topic, at, 1)
    if (errorCode !== 0 || batches.length === 0) return { errorCode, highWatermark, logStartOffset, at }
    for (const batch of batches) {
      at = batch.lastOffset + 1
      const next = (await readRecords(batch.bytes)).find(({ offset }) => offset >= from)
      if (next === undefined) continue
      const { baseOffset, lastOffset } = batch
      return { errorCode, highWatermark, logStartOffset, baseOffset, lastOffset, next: shownOf(next).text }
    }
  }
}
