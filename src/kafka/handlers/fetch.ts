// Fetch 4-18: reads whole record batches from partitions, up to the high watermark, and waits for bytes when there are few.
//
// The batch that covers the asked offset is always answered whole, and the first partition that has anything gives at least
// one batch, whatever the byte limits say (KIP-74). An answer waits while it has fewer than `minBytes` and nothing went
// wrong, at most for the smaller of the client's wait and `broker.fetch-max-wait`; an append wakes it. It holds at most
// `broker.fetch-max-bytes`, whatever the client asks, and a share of it while others read from the store: what they will
// have read takes memory that no budget counts yet.
//
// Versions: 7 has sessions (KIP-227): every answer here says session id 0, which leaves the client without one, and a request
// that goes on with a session is told FETCH_SESSION_ID_NOT_FOUND. 9 compares leader epochs (KIP-320). 13 names topics by
// id only (KIP-516).
//
// Unlike Apache Kafka there are no followers: a replica id is not looked at and grants nothing. A partition that is named
// twice is answered once, as its last row says; so does Kafka.

import type { Partition, ReadResult } from '../../log/partition.ts'
import { FETCH_SESSION_ID_NOT_FOUND, isRefusal, NONE, type Refusal } from '../../protocol/errors.ts'
import { fetch } from '../../protocol/messages/fetch.ts'
import type { RequestOf, ResponseInput } from '../../protocol/schema.ts'
import { findPartition, findRepeated, findTopic, keyOf } from '../partitions.ts'
import { handler, type Request, type Rooms } from './handler.ts'

type Body = RequestOf<typeof fetch>
type Answer = ResponseInput<typeof fetch>
type PartitionRow = Answer['responses'][number]['partitions'][number]
type Row = Body['topics'][number]['partitions'][number]

const FIRST_WITH_TOP_LEVEL_ERROR = 7
const FIRST_WITH_IDS = 13
const READ_COMMITTED = 1

/** One partition of the request, and what was found there so far. */
interface Target {
  readonly topicAt: number
  readonly row: Row
  /** Null where there is none; `found` is then a refusal for good. */
  readonly partition: Partition | null
  found: Found | Refusal
}

interface Found {
  readonly batches: readonly Uint8Array[]
  readonly bytes: number
  readonly highWatermark: number
  readonly lastStableOffset: number
  readonly logStartOffset: number
}

/** What one pass over partitions may still take. */
interface Allowance {
  leftBytes: number
  /** Nothing has been found yet: the next batch goes whole. */
  isFirst: boolean
}

export const fetchHandler = handler(fetch, rooms => {
  const { clock, logs, settings, throttle } = rooms
  const longestWaitMs = settings.get('broker.fetch-max-wait')
  const largestBytes = settings.get('broker.fetch-max-bytes')
  const usualPartitionBytes = settings.get('broker.fetch-partition-max-bytes')
  /** Fetches that are reading from the store. */
  let reading = 0

  return {
    answer(request) {
      const { body } = request
      if (body.sessionEpoch > 0) return refuseAll(request, FETCH_SESSION_ID_NOT_FOUND)
      const targets = targetsOf(rooms, request)
      const maxBytes = Math.min(
        Math.max(body.maxBytes, 0),
        Math.ceil(largestBytes / (1 + reading)),
        throttle.fetchableBytes(request),
      )
      const later = readAll(targets, { leftBytes: maxBytes, isFirst: true })
      return later === null ? finish(request, targets, maxBytes) : later.then(() => finish(request, targets, maxBytes))
    },
    refused: (request, refusal) => refuseAll(request, refusal),
    patienceMs: ({ body }) => waitOf(body),
  }

  function waitOf(body: Body): number {
    return Math.min(Math.max(body.maxWaitMs, 0), longestWaitMs)
  }

  function finish(request: Request<Body>, targets: readonly Target[], maxBytes: number): Answer | Promise<Answer> {
    const untilMs = request.receivedAtMs + waitOf(request.body)
    if (isEnough(request, targets, maxBytes, untilMs)) return deliver(request, targets)
    return wait(request, targets, maxBytes, untilMs)
  }

  function isEnough(
    { body, drain, closed }: Request<Body>,
    targets: readonly Target[],
    maxBytes: number,
    untilMs: number,
  ) {
    if (targets.length === 0 || bytesOf(targets) >= Math.min(body.minBytes, maxBytes)) return true
    if (drain.aborted || closed.aborted || clock.monotonic() >= untilMs) return true
    return targets.some(target => isRefusal(target.found))
  }

  async function wait(
    request: Request<Body>,
    targets: readonly Target[],
    maxBytes: number,
    untilMs: number,
  ): Promise<Answer> {
    const byPartition = new Map(targets.map(target => [target.partition!, target]))
    const partitions = [...byPartition.keys()]
    const minBytes = Math.min(request.body.minBytes, maxBytes)
    do {
      const woken = await logs.waitFor(partitions, {
        minBytes,
        alreadyBytes: bytesOf(targets),
        maxWaitMs: untilMs - clock.monotonic(),
        signal: request.closed,
        seen: targets.map(target => (target.found as Found).highWatermark),
      })
      // What was found in the others stays: batches do not change.
      const again = woken.map(partition => byPartition.get(partition)!)
      const kept = bytesOf(targets.filter(target => !again.includes(target)))
      await readAll(again, { leftBytes: maxBytes - kept, isFirst: kept === 0 })
    } while (!isEnough(request, targets, maxBytes, untilMs))
    return deliver(request, targets)
  }

  /** The answer, empty where the client's quota does not allow what was found: it asks again after its wait (KIP-219). */
  function deliver(request: Request<Body>, targets: readonly Target[]): Answer {
    const verdict = throttle.fetching(request, bytesOf(targets))
    const throttleTimeMs = verdict.throttleMs
    if (!verdict.deliver) return { throttleTimeMs, errorCode: NONE, responses: [] }
    return { ...answerOf(request, targets), throttleTimeMs }
  }

  /** Reads the targets. Null when the log had all of it in memory. */
  function readAll(targets: readonly Target[], allowance: Allowance): Promise<void> | null {
    const later = read(targets, allowance, 0)
    if (later === null) return null
    reading++
    return later.finally(() => {
      reading--
    })
  }

  /** Reads the targets one after the other, from `from` on. */
  function read(targets: readonly Target[], allowance: Allowance, from: number): Promise<void> | null {
    for (let at = from; at < targets.length; at++) {
      const target = targets[at]!
      const result = readOne(target, allowance)
      if (result instanceof Promise) {
        return result.then(later => {
          take(target, later, allowance)
          return read(targets, allowance, at + 1) ?? undefined
        })
      }
      take(target, result, allowance)
    }
    return null
  }

  function readOne({ partition, row, found }: Target, allowance: Allowance) {
    if (partition === null) return found as Refusal
    const refusal = partition.checkEpoch(row.currentLeaderEpoch)
    if (refusal !== null) return refusal
    const partitionBytes = row.partitionMaxBytes > 0 ? row.partitionMaxBytes : usualPartitionBytes
    return partition.read(row.fetchOffset, Math.min(partitionBytes, allowance.leftBytes), allowance.isFirst)
  }

  function take(target: Target, result: ReadResult | Refusal, allowance: Allowance): void {
    if (isRefusal(result)) {
      target.found = result
      return
    }
    const { batches, bytes, highWatermark, logStartOffset } = result
    target.found = {
      batches,
      bytes,
      highWatermark,
      lastStableOffset: target.partition!.lastStableOffset,
      logStartOffset,
    }
    if (bytes === 0) return
    allowance.leftBytes = Math.max(0, allowance.leftBytes - bytes)
    allowance.isFirst = false
  }
})

/** The partitions to look at. Of rows that name the same one the last is taken. */
function targetsOf(rooms: Rooms, { body, apiVersion }: Request<Body>): readonly Target[] {
  const catalogue = rooms.catalogue.current()
  const naming = apiVersion >= FIRST_WITH_IDS ? 'topicId' : 'topic'
  const repeated = findRepeated(
    body.topics.map(topic => ({ topic: topic[naming], partitions: topic.partitions.map(row => row.partition) })),
  )
  const lastRows = new Map<string, Row>()
  if (repeated.size > 0) {
    for (const topic of body.topics) {
      for (const row of topic.partitions) lastRows.set(keyOf(topic[naming], row.partition), row)
    }
  }
  const targets: Target[] = []
  for (const [topicAt, topic] of body.topics.entries()) {
    const found = findTopic(catalogue, naming === 'topic' ? 'name' : 'topicId', topic[naming])
    for (const row of topic.partitions) {
      if (repeated.size > 0 && lastRows.get(keyOf(topic[naming], row.partition)) !== row) continue
      const partition = findPartition(rooms, found, row.partition)
      targets.push(
        isRefusal(partition)
          ? { topicAt, row, partition: null, found: partition }
          : { topicAt, row, partition, found: NOTHING },
      )
    }
  }
  return targets
}

const NOTHING: Found = Object.freeze({
  batches: Object.freeze([]),
  bytes: 0,
  highWatermark: -1,
  lastStableOffset: -1,
  logStartOffset: -1,
})

function bytesOf(targets: readonly Target[]): number {
  let bytes = 0
  for (const { found } of targets) if (!isRefusal(found)) bytes += found.bytes
  return bytes
}

function answerOf({ body }: Request<Body>, targets: readonly Target[]): Answer {
  // Readers of committed records want the list, empty or not; the others want none.
  const abortedTransactions = body.isolationLevel === READ_COMMITTED ? [] : null
  const rows = body.topics.map((): PartitionRow[] => [])
  for (const { topicAt, row, found } of targets) {
    const { highWatermark, lastStableOffset, logStartOffset, batches } = isRefusal(found) ? NOTHING : found
    rows[topicAt]!.push({
      partitionIndex: row.partition,
      errorCode: isRefusal(found) ? found.code : NONE,
      highWatermark,
      lastStableOffset,
      logStartOffset,
      abortedTransactions,
      records: batches,
    })
  }
  const responses = body.topics.map(({ topic, topicId }, at) => ({ topic, topicId, partitions: rows[at]! }))
  return { throttleTimeMs: 0, errorCode: NONE, responses: responses.filter(each => each.partitions.length > 0) }
}

/** Clients take an error of the whole request as one to try again; in a row they stop at codes they do not expect there. */
function refuseAll({ body, apiVersion }: Request<Body>, refusal: Refusal): Answer {
  if (apiVersion >= FIRST_WITH_TOP_LEVEL_ERROR) return { throttleTimeMs: 0, errorCode: refusal.code, responses: [] }
  const responses = body.topics.map(({ topic, topicId, partitions }) => ({
    topic,
    topicId,
    partitions: partitions.map(({ partition }) => ({
      partitionIndex: partition,
      errorCode: refusal.code,
      highWatermark: -1,
      abortedTransactions: null,
      records: [],
    })),
  }))
  return { throttleTimeMs: 0, errorCode: NONE, responses }
}
