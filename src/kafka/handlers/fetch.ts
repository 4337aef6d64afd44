// Fetch 4-18: reads whole record batches from partitions, up to the high watermark, and waits for bytes when there are few.
//
// The batch that covers the asked offset is always answered whole, and the first partition that has anything gives at least
// one batch, whatever the byte limits say (KIP-74). An answer waits while it has fewer than `minBytes` and nothing went
// wrong, at most for the smaller of the client's wait and `broker.fetch-max-wait`; an append wakes it. It holds at most
// `broker.fetch-max-bytes`, whatever the client asks, and no more than it is granted of the memory for answers (fetch/share.ts)
// before it reads: while that is taken it waits its turn, and is answered without records when its wait is over.
//
// Versions: 5 is the first that is answered a batch without records where an end has leapt; before, nothing is answered there until
// records follow, because kafka-python 2.0, which knows 4 at most, fails at such a batch. 7 has sessions (KIP-227), which
// fetch-sessions.ts keeps: a request of one looks only at partitions that it changes or that have news, and the answer names only
// those with records, another high watermark or log start, or an error. 9 compares leader epochs (KIP-320). 10 is the first that
// may carry zstd (KIP-110): before, a partition answers what lies in front of such a batch, and UNSUPPORTED_COMPRESSION_TYPE where
// it is the first. 13 names topics by id only (KIP-516).
//
// A full request that says what its connection said last, and whose answer had nothing, is served like one of a session: its
// rows have stayed at their partitions, and only those with news are looked at (standing-fetches.ts).
//
// Unlike Apache Kafka there are no followers: a replica id is not looked at and grants nothing. A partition that is named
// twice is answered once, as its last row says; so does Kafka.

import { credit } from '../../coordinator/deliveries.ts'
import type { ReadResult } from '../../log/partition.ts'
import type { Watchlist } from '../../log/waiters.ts'
import {
  because,
  INVALID_FETCH_SESSION_EPOCH,
  isRefusal,
  NONE,
  type Refusal,
  UNSUPPORTED_COMPRESSION_TYPE,
} from '../../protocol/errors.ts'
import { fetch } from '../../protocol/messages/fetch.ts'
import { viewBatch } from '../../protocol/records.ts'
import type { RequestOf, ResponseInput } from '../../protocol/schema.ts'
import { type Asking, createFetchShare, type Grant, shareLimits } from '../fetch/share.ts'
import { createTurns } from '../fetch/turns.ts'
import { FetchRow } from '../fetch-row.ts'
import {
  createFetchSessions,
  epochAfter,
  type FetchSession,
  FINAL_EPOCH,
  INITIAL_EPOCH,
  NO_SESSION,
} from '../fetch-sessions.ts'
import { createLeaderNames, findRepeated, keyOf, type Naming } from '../partitions.ts'
import { createStandingFetches, MOST_KEPT_ROWS, type Standing } from '../standing-fetches.ts'
import { handler, type Request } from './handler.ts'

type Body = RequestOf<typeof fetch>
type Answer = ResponseInput<typeof fetch>
type TopicRow = Answer['responses'][number]
type PartitionRow = TopicRow['partitions'][number]

const FIRST_WITH_EMPTY_BATCHES = 5
const FIRST_WITH_SESSIONS = 7
const FIRST_WITH_ZSTD = 10
const FIRST_WITH_IDS = 13
const READ_COMMITTED = 1

/** One request on its way to its answer. */
interface Reading {
  readonly request: Request<Body>
  readonly naming: Naming
  /** Null for a full request. */
  readonly session: FetchSession | null
  /** What was looked at so far, or is known without a look: of a full request all of it, of a session's what was ready. */
  readonly rows: FetchRow[]
  /** Null while a full request has not had to wait. */
  list: Watchlist<FetchRow> | null
  /** Of a full request that says the same again, while none of its rows has had news. */
  still: Standing | null
  /** The memory for what was found; null where nothing was looked for. */
  grant: Grant | null
  readonly maxBytes: number
  /** On Clock.monotonic(). */
  readonly untilMs: number
}

type Wanted = Pick<Asking, 'mostBytes' | 'leastBytes'>

/** What one pass over partitions may still take. */
interface Allowance {
  leftBytes: number
  /** Nothing has been found yet: the next batch goes whole. */
  isFirst: boolean
  /** Others have so much of the memory for answers that it is less than what this fetch could use. */
  readonly isShort: boolean
}

export const fetchHandler = handler(fetch, rooms => {
  const { clock, cluster, groups, logs, metrics, settings, throttle } = rooms
  const longestWaitMs = settings.get('broker.fetch-max-wait')
  const largestBytes = settings.get('broker.fetch-max-bytes')
  const usualPartitionBytes = settings.get('broker.fetch-partition-max-bytes')
  const sessions = createFetchSessions(rooms, settings.get('broker.fetch-session-cache-slots'))
  const standing = createStandingFetches()
  const share = createFetchShare(
    clock,
    shareLimits(settings.get('broker.global-max-pending-bytes'), settings.get('broker.global-resume-pending-bytes')),
  )
  const turns = createTurns(clock)
  const deferred = metrics.child('svc.broker.fetch.deferred', {})
  metrics.sample('svc.broker.fetch.granted_bytes', {}, () => share.bytes)

  return {
    answer(request) {
      const { body, apiVersion } = request
      const naming = apiVersion >= FIRST_WITH_IDS ? 'topicId' : 'name'
      share.asked(request.connection, request.receivedAtMs)
      const { sessionId, sessionEpoch } = body
      if (sessionEpoch === FINAL_EPOCH || sessionEpoch === INITIAL_EPOCH) {
        sessions.close(sessionId)
        return beginFull(request, naming)
      }
      const session = sessions.next(body, naming)
      if (session === null) return beginFull(request, naming)
      if (isRefusal(session)) return refuseAll(request, session)
      return look(readingOf(request, naming, { session, list: session.list }), session.list.ready())
    },
    refused: (request, refusal) => refuseAll(request, refusal),
    isRepetitive: true,
    patienceMs: ({ body }) => waitOf(body),
  }

  function waitOf(body: Body): number {
    return Math.min(Math.max(body.maxWaitMs, 0), longestWaitMs)
  }

  function readingOf(request: Request<Body>, naming: Naming, known: Partial<Reading>): Reading {
    const { body, receivedAtMs } = request
    return {
      request,
      naming,
      session: null,
      rows: [],
      list: null,
      still: null,
      grant: null,
      ...known,
      maxBytes: Math.min(Math.max(body.maxBytes, 0), largestBytes, throttle.fetchableBytes(request)),
      untilMs: receivedAtMs + waitOf(body),
    }
  }

  function beginFull(request: Request<Body>, naming: Naming): Answer | Promise<Answer> {
    // While another may lead here every partition has to say so.
    const left = standing.take(request.connection, cluster.isConfirmed ? request.body : null)
    const still = left?.standing ?? null
    if (left !== null && still !== null) {
      const reading = readingOf(request, naming, { rows: left.rows, list: still.list, still })
      return look(reading, still.list.ready())
    }
    const rows = rowsOf(request.body, naming, left?.rows ?? [])
    return look(readingOf(request, naming, { rows }), rows)
  }

  /** A full request that made no session leaves its rows to the next one, standing where they all had nothing to say. */
  function leave(reading: Reading, responses: readonly TopicRow[] | null): void {
    const { request, rows } = reading
    const { body, connection, closed } = request
    let { still, list } = reading
    const mayStand = rows.length > 0 && rows.length <= MOST_KEPT_ROWS && !closed.aborted
    if (still === null && responses !== null && mayStand && rows.every(row => row.isQuiet)) {
      list ??= logs.watchlist<FetchRow>()
      settle(list, rows)
      for (const row of rows) row.reader = null
      still = { list, responses }
    }
    if (still === null) {
      for (const row of rows) {
        list?.drop(row)
        row.drop()
      }
    }
    standing.leave(connection, closed, { body, rows, standing: still })
  }

  /** Reads these rows, then answers or waits. What other rows hold besides is nothing. */
  function look(reading: Reading, rows: readonly FetchRow[]): Answer | Promise<Answer> {
    if (rows.length > 0) reading.still = null
    for (const row of rows) row.resolve(rooms, reading.naming)
    const wanted = wantedBytes(reading, rows)
    if (wanted === null) {
      reading.grant?.release()
      reading.grant = null
      return lookWithin(reading, rows, { leftBytes: reading.maxBytes, isFirst: true, isShort: false })
    }
    const turn = turns.wait()
    if (turn === null) return lookFor(reading, rows, wanted)
    return turn.then(() => (isSuperseded(reading) ? conclude(reading, []) : lookFor(reading, rows, wanted)))
  }

  function lookFor(reading: Reading, rows: readonly FetchRow[], wanted: Wanted): Answer | Promise<Answer> {
    const former = reading.grant
    const { connection, closed, receivedAtMs: askedAtMs } = reading.request
    const asking = { connection, closed, askedAtMs, ...wanted }
    const grant = former === null ? share.take(asking) : former.exchange(asking)
    if (grant !== null) return lookWith(reading, rows, grant)
    turns.pass()
    // It waited for more, and there is no room for more: its turn was spent on what it has. The rest stays marked.
    if (reading.rows.some(row => row.bytes > 0)) return deliver(reading)
    return lookLater(reading, rows, asking)
  }

  /** The memory that reading these rows may take; null where there is nothing to read. */
  function wantedBytes({ maxBytes }: Reading, rows: readonly FetchRow[]): Wanted | null {
    let mostBytes = 0
    let leastBytes = 0
    for (const row of rows) {
      const batchBytes = row.partition?.mostBytesAt(row.fetchOffset) ?? 0
      if (batchBytes === 0) continue
      leastBytes = Math.max(leastBytes, batchBytes)
      mostBytes += Math.max(partitionBytesOf(row), batchBytes)
    }
    return leastBytes === 0 ? null : { leastBytes, mostBytes: Math.min(mostBytes, maxBytes) }
  }

  function lookWith(reading: Reading, rows: readonly FetchRow[], grant: Grant): Answer | Promise<Answer> {
    reading.grant = grant
    return lookWithin(reading, rows, { leftBytes: grant.bytes, isFirst: true, isShort: grant.isShort })
  }

  function lookWithin(reading: Reading, rows: readonly FetchRow[], allowance: Allowance): Answer | Promise<Answer> {
    claim(reading, rows)
    const later = read(reading, rows, allowance, 0)
    if (later === null) return conclude(reading, rows)
    return later.then(
      () => conclude(reading, rows),
      error => {
        reading.grant?.release()
        throw error
      },
    )
  }

  /** They are read for this request from here on, and told in its answer. */
  function claim(reading: Reading, rows: readonly FetchRow[]): void {
    for (const row of rows) {
      if (row.reader !== reading && reading.session !== null) reading.rows.push(row)
      row.reader = reading
    }
  }

  /** Others have the memory: what is wrong is told at once, and the rest when its turn has come, or its time is up. */
  async function lookLater(reading: Reading, rows: readonly FetchRow[], asking: Asking): Promise<Answer> {
    const { drain } = reading.request
    claim(reading, rows)
    await read(reading, rows, { leftBytes: 0, isFirst: false, isShort: true }, 0)
    if (isSuperseded(reading)) return conclude(reading, [])
    const isWrong = rows.some(row => isRefusal(row.found))
    const grant = isWrong ? null : await share.wait(asking, reading.untilMs - clock.monotonic(), drain)
    if (grant !== null) await turns.wait()
    if (isSuperseded(reading)) {
      grant?.release()
      return conclude(reading, [])
    }
    if (grant !== null) return lookWith(reading, rows, grant)
    deferred.inc()
    return deliver(reading)
  }

  /**
   * Reads the rows from `from` on. Null when the log had all of it in memory. Rows that the store has to be asked for are
   * read side by side, as many as fit when each takes what it may: their batches lie close together on the disk.
   */
  function read(reading: Reading, rows: readonly FetchRow[], allowance: Allowance, from: number): Promise<void> | null {
    const asked: FetchRow[] = []
    const results: Promise<ReadResult | Refusal>[] = []
    let asideBytes = 0
    let at = from
    for (; at < rows.length && (asked.length === 0 || asideBytes < allowance.leftBytes); at++) {
      const row = rows[at]!
      const leftBytes = allowance.leftBytes - asideBytes
      const isFirst = allowance.isFirst && asked.length === 0
      const isRead = isFirst || !allowance.isShort || mayFit(row, leftBytes)
      const mostBytes = isRead ? Math.min(partitionBytesOf(row), leftBytes) : 0
      const result = readOne(row, mostBytes, isFirst)
      if (result instanceof Promise) {
        asked.push(row)
        results.push(result)
        asideBytes += mostBytes
      } else {
        take(reading, row, result, allowance)
      }
    }
    if (asked.length === 0) return null
    return Promise.all(results).then(found => {
      for (const [i, row] of asked.entries()) take(reading, row, found[i]!, allowance)
      // The first had nothing after all, so a batch of another has to go whole.
      const again = allowance.isFirst ? read(reading, asked.slice(1), allowance, 0) : null
      return (again ?? Promise.resolve()).then(() => read(reading, rows, allowance, at) ?? undefined)
    })
  }

  /** The store reads whole batches: asked for one that does not fit, it would read it for nothing. This knows only how large one may be. */
  function mayFit(row: FetchRow, leftBytes: number): boolean {
    const batchBytes = row.partition?.mostBytesAt(row.fetchOffset) ?? 0
    return Math.min(batchBytes, partitionBytesOf(row)) <= leftBytes
  }

  function partitionBytesOf({ partitionMaxBytes }: FetchRow): number {
    return partitionMaxBytes > 0 ? partitionMaxBytes : usualPartitionBytes
  }

  function readOne(
    { partition, found, fetchOffset, currentLeaderEpoch }: FetchRow,
    maxBytes: number,
    isFirst: boolean,
  ) {
    if (partition === null) return found
    return partition.checkEpoch(currentLeaderEpoch) ?? partition.read(fetchOffset, maxBytes, isFirst)
  }

  function conclude(reading: Reading, looked: readonly FetchRow[]): Answer | Promise<Answer> {
    const { request, session, maxBytes, untilMs, grant } = reading
    if (isSuperseded(reading)) {
      grant?.release()
      return refuseAll(request, INVALID_FETCH_SESSION_EPOCH, session!.id)
    }
    const { body, drain, closed } = request
    const minBytes = Math.min(body.minBytes, maxBytes, grant?.bytes ?? maxBytes)
    const bytes = looked.reduce((sum, row) => sum + row.bytes, 0)
    grant?.trim(bytes)
    turns.count(bytes)
    const isOver = drain.aborted || closed.aborted || session?.isClosed === true || clock.monotonic() >= untilMs
    if (isOver || bytes >= minBytes || looked.some(row => isRefusal(row.found))) return deliver(reading)
    if (session === null && reading.rows.length === 0) return deliver(reading)
    return wait(reading, looked, minBytes, bytes)
  }

  function wait(
    reading: Reading,
    looked: readonly FetchRow[],
    minBytes: number,
    alreadyBytes: number,
  ): Promise<Answer> {
    const list = reading.list ?? logs.watchlist<FetchRow>()
    reading.list = list
    settle(list, looked)
    const hasMoved = looked.some(row => row.hasMoved)
    // What came while the store was reading has told nobody.
    const maxWaitMs = hasMoved ? 0 : reading.untilMs - clock.monotonic()
    return list
      .wait({ minBytes, alreadyBytes, maxWaitMs, signal: reading.request.closed })
      .then(() => (isSuperseded(reading) ? conclude(reading, []) : look(reading, list.ready())))
  }

  /** Another request of the session has come meanwhile, and reads on where this one was. */
  function isSuperseded({ session, request }: Reading): boolean {
    return session !== null && !session.isClosed && session.nextEpoch !== epochAfter(request.body.sessionEpoch)
  }

  /** The answer, empty where the client's quota does not allow what was found: it asks again after its wait (KIP-219). */
  function deliver(reading: Reading): Answer {
    const { request, session, rows, still } = reading
    const bytes = still === null ? rows.reduce((sum, row) => sum + row.bytes, 0) : 0
    const { throttleMs: throttleTimeMs, deliver: isAllowed } = throttle.fetching(request, bytes)
    if (isAllowed) {
      reading.grant?.made()
      creditOwner(request, rows)
      request.onSent = releaseOf(rows, reading.grant)
      return { ...answerOf(reading), throttleTimeMs }
    }
    reading.grant?.release()
    if (session === null) leave(reading, null)
    else {
      for (const row of rows) {
        if (!session.isClosed) session.list.mark(row)
        row.drop()
      }
    }
    return { throttleTimeMs, errorCode: NONE, sessionId: session?.id ?? NO_SESSION, responses: [] }
  }

  /** What this client is told is delivered to the groups whose member it is, in the partitions that it owns. */
  function creditOwner({ clientId, connection }: Request<Body>, rows: readonly FetchRow[]): void {
    const reader = groups.deliveries.reader(clientId ?? '', connection.address)
    if (reader === null) return
    for (const { partition, fetchOffset, found } of rows) {
      if (partition === null || isRefusal(found)) continue
      const last = found.batches.at(-1)
      const nextOffset = last === undefined ? fetchOffset : viewBatch(last).lastOffset + 1
      credit(reader, partition.topicId, partition.index, nextOffset)
    }
  }

  function answerOf(reading: Reading): Answer {
    const { request, rows } = reading
    const session = reading.session ?? openSession(reading)
    const told = reading.session === null ? rows : rows.filter(row => row.isNews)
    const leaders = createLeaderNames(rooms, request.connection.listener)
    const leaderOf = ({ found, topic, topicId, index }: FetchRow) => {
      if (!isRefusal(found)) return {}
      return {
        currentLeader: leaders.nameFor(found, reading.naming, reading.naming === 'name' ? topic : topicId, index),
      }
    }
    const responses = reading.still?.responses ?? responsesOf(told, request.body.isolationLevel, leaderOf)
    if (session === null) leave(reading, responses)
    else {
      const served = told.filter(row => row.bytes > 0)
      if (!session.isClosed) settle(session.list, rows)
      for (const row of served) session.list.defer(row)
      for (const row of rows) row.tell()
    }
    return { errorCode: NONE, sessionId: session?.id ?? NO_SESSION, responses, nodeEndpoints: leaders.endpoints() }
  }

  function openSession({ request, naming, rows, list }: Reading): FetchSession | null {
    const isWanted = request.body.sessionEpoch === INITIAL_EPOCH && !request.closed.aborted
    return isWanted ? sessions.open(rows, naming, list ?? logs.watchlist()) : null
  }
})

/** Rows that have nothing to say stand at their partitions until they have; the others are looked at again. */
function settle(list: Watchlist<FetchRow>, rows: readonly FetchRow[]): void {
  for (const row of rows) {
    if (row.isQuiet) list.rest(row, row.partition!.waits)
    else {
      list.mark(row)
      if (row.partition !== null) row.stand(row.partition.waits)
    }
  }
}

function take(reading: Reading, row: FetchRow, result: ReadResult | Refusal, allowance: Allowance): void {
  if (row.reader !== reading) return
  const { apiVersion } = reading.request
  const found = apiVersion < FIRST_WITH_ZSTD ? readable(result, apiVersion) : result
  row.found = found
  if (isRefusal(found) || found.bytes === 0) return
  allowance.leftBytes = Math.max(0, allowance.leftBytes - found.bytes)
  allowance.isFirst = false
}

const NO_ZSTD = because(
  UNSUPPORTED_COMPRESSION_TYPE,
  `Fetch must have version ${FIRST_WITH_ZSTD} or later for a batch that is compressed with zstd.`,
)

/** As much of what was found as a client of an early version can read. */
function readable(found: ReadResult | Refusal, apiVersion: number): ReadResult | Refusal {
  if (isRefusal(found)) return found
  const [first] = found.batches
  if (apiVersion < FIRST_WITH_EMPTY_BATCHES && first !== undefined && viewBatch(first).recordCount === 0)
    return { ...found, batches: [], bytes: 0 }
  const count = found.batches.findIndex(bytes => viewBatch(bytes).compression === 'zstd')
  if (count < 0) return found
  if (count === 0) {
    found.release?.()
    return NO_ZSTD
  }
  const batches = found.batches.slice(0, count)
  return { ...found, batches, bytes: batches.reduce((sum, { length }) => sum + length, 0) }
}

/**
 * The partitions to look at, as rows that are known where those are the same. Of rows that name the same one the last is
 * taken.
 */
function rowsOf({ topics }: Body, naming: Naming, known: readonly FetchRow[]): FetchRow[] {
  const said = naming === 'name' ? 'topic' : 'topicId'
  const repeated = findRepeated(
    topics.map(topic => ({ topic: topic[said], partitions: topic.partitions.map(row => row.partition) })),
  )
  const last = new Map<string, unknown>()
  if (repeated.size > 0) {
    for (const topic of topics) for (const row of topic.partitions) last.set(keyOf(topic[said], row.partition), row)
  }
  const rows: FetchRow[] = []
  for (const topic of topics) {
    for (const row of topic.partitions) {
      if (repeated.size > 0 && last.get(keyOf(topic[said], row.partition)) !== row) continue
      const before = known[rows.length]
      if (before?.is(topic, row.partition) !== true) rows.push(new FetchRow(topic, row))
      else {
        before.ask(row)
        rows.push(before)
      }
    }
  }
  return rows
}

/** Gives back the memory of what was found, to be called when it is out; null where nothing was. */
function releaseOf(rows: readonly FetchRow[], grant: Grant | null): (() => void) | null {
  if (grant === null) return null
  const releases: (() => void)[] = []
  for (const { found } of rows) if (!isRefusal(found) && found.release !== null) releases.push(found.release)
  return () => {
    for (const release of releases) release()
    grant.sent()
  }
}

/** Rows of one topic that stand side by side go under one name. */
function responsesOf(
  rows: readonly FetchRow[],
  isolationLevel: number,
  leaderOf: (row: FetchRow) => Pick<PartitionRow, 'currentLeader'>,
): TopicRow[] {
  // Readers of committed records want the list, empty or not; the others want none.
  const abortedTransactions = isolationLevel === READ_COMMITTED ? [] : null
  const responses: (TopicRow & { partitions: PartitionRow[] })[] = []
  for (const row of rows) {
    const { topic, topicId, index, found } = row
    let last = responses.at(-1)
    if (last === undefined || last.topic !== topic || last.topicId !== topicId) {
      last = { topic, topicId, partitions: [] }
      responses.push(last)
    }
    const { highWatermark, lastStableOffset, logStartOffset, batches } = isRefusal(found) ? NOTHING : found
    last.partitions.push({
      partitionIndex: index,
      errorCode: isRefusal(found) ? found.code : NONE,
      highWatermark,
      lastStableOffset,
      logStartOffset,
      abortedTransactions,
      records: batches,
      ...leaderOf(row),
    })
  }
  return responses
}

const NOTHING = Object.freeze({ batches: [], highWatermark: -1, lastStableOffset: -1, logStartOffset: -1 })

/** Clients take an error of the whole request as one to try again; in a row they stop at codes they do not expect there. */
function refuseAll({ body, apiVersion }: Request<Body>, refusal: Refusal, sessionId = NO_SESSION): Answer {
  if (apiVersion >= FIRST_WITH_SESSIONS) {
    return { errorCode: refusal.code, sessionId, responses: [] }
  }
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
  return { errorCode: NONE, responses }
}
