// Fetch 4-18: reads whole record batches from partitions, up to the high watermark or to the last stable offset. It
// waits for more bytes if there are too few.
//
// The steps of a request: a full request makes rows, or takes the rows that are kept for it (beginFull). A request of
// a session takes the rows with news. The rows are read with a grant of memory (look), or wait for one (lookLater).
// Then the answer is made (deliver), or the request waits for more records and reads again (conclude).
//
// An answer waits while it has fewer than `minBytes` and no row has an error. It waits at most for the smaller of the
// client's wait and `broker.fetch-max-wait`, and an append wakes it. It has at most `broker.fetch-max-bytes`, even if
// the client asks for more. Before a request reads, it needs a grant of the memory for answers (fetch/share.ts). If
// that memory is taken, the request waits its turn, and is answered without records when its wait is over.
//
// fetch/reading.ts reads the rows. Rows that only the archive has (KIP-405) are cold. A fetch tries at most
// `storage.remote.iceberg.read.threads` reads of the archive, and its other cold rows are empty. If the archive's queue
// is full, a row gets KAFKA_STORAGE_ERROR, and the fetch is answered at once. A fetch with local records does not wait
// for the archive. Another one waits for the first result, at most half of `broker.response-queue-timeout`, however
// short or long its own wait is: an object store is usually slower than a consumer's 500 ms, and must not cause a
// REQUEST_TIMED_OUT. Then the answer is empty, and the next fetch finds the records that its reads have brought. As in
// Kafka, records from the archive do not wait for `minBytes`. A fetch that waits for the archive holds no memory.
//
//   5    a fetch may return a batch without records, if the log end has moved forward over offsets without records
//        (docs/decisions/0037). Earlier versions return nothing there until records follow, because kafka-python 2.0,
//        which knows at most version 4, fails at such a batch
//   7    sessions (KIP-227), which fetch/sessions.ts keeps. A request of a session reads only partitions that it
//        changes or that have news. The answer names only those with records, another high watermark or log start,
//        or an error
//   9    leader epochs are compared (KIP-320)
//   10   zstd (KIP-110). In earlier versions a partition returns the batches before a batch in zstd, and
//        UNSUPPORTED_COMPRESSION_TYPE if that batch is the first
//   13   topics by id only (KIP-516)
//
// If a full request repeats the connection's last one, whose answer had no records, it is served like a request of a
// session: its rows still watch their partitions, and only those with news are read (fetch/standing-fetches.ts).
//
// Unlike in Apache Kafka there are no followers: a replica id gives no right to read beyond the end for consumers. A
// partition that is named twice is answered once, with the values of its last row, as in Kafka.
//
// A request checks every row that its answer may have against the policy of its own client: those that it names, those
// of its session, which another client may have opened, and those that its connection left. It checks them again when
// it has waited. A row that is not allowed is an error, so it is answered at once.

import type { Policy } from '../../auth/clients/policy.ts'
import type { Isolation } from '../../log/partition.ts'
import type { Watchlist } from '../../log/waiters.ts'
import { INVALID_FETCH_SESSION_EPOCH, isRefusal, NONE } from '../../protocol/errors.ts'
import { fetch } from '../../protocol/messages/fetch.ts'
import { viewBatch } from '../../protocol/records.ts'
import { type FetchAnswer, type FetchBody, refuseAll, responsesOf, type TopicRow } from '../fetch/answer.ts'
import type { ArchiveReads } from '../fetch/archive-reads.ts'
import { openFetches } from '../fetch/fetches.ts'
import type { Allowance, Wanted } from '../fetch/reading.ts'
import { type FetchRow, READING, releaseOf, rowsOf, settle } from '../fetch/row.ts'
import { epochAfter, type FetchSession, FINAL_EPOCH, INITIAL_EPOCH, NO_SESSION } from '../fetch/sessions.ts'
import type { Asking, Grant } from '../fetch/share.ts'
import { MOST_KEPT_ROWS, type Standing } from '../fetch/standing-fetches.ts'
import { handler, type Request } from '../handler.ts'
import { type Need, onCluster } from '../needs.ts'
import { createLeaderNames, type Naming } from '../partitions.ts'

type Asked = Request<FetchBody>
type Answer = FetchAnswer | Promise<FetchAnswer>

const FIRST_WITH_IDS = 13
const FIRST_WITH_REPLICA_STATE = 15
const READ_COMMITTED = 1

/** One request, from its arrival until its answer. */
interface Reading {
  readonly request: Asked
  readonly naming: Naming
  readonly isolation: Isolation
  /** Null for a full request. */
  readonly session: FetchSession | null
  /** The rows whose state is known: all rows of a full request, or the rows of a session that had news. */
  readonly rows: FetchRow[]
  /** Null while a full request has not had to wait. */
  list: Watchlist<FetchRow> | null
  /** Set for a full request that repeats the last one, while none of its rows has had news. */
  still: Standing | null
  /** The policy for which the rows were checked. A re-authentication may replace that of the connection. */
  policy: Policy | null
  /** The memory for the records that were found; null if the request has no grant. */
  grant: Grant | null
  /** The reads of the archive; null until there is a cold row. */
  cold: ArchiveReads | null
  readonly maxBytes: number
  /** On Clock.monotonic(). */
  readonly untilMs: number
  /** The end of the wait while only the archive may have records. */
  readonly coldUntilMs: number
}

export const fetchHandler = handler(fetch, rooms => {
  const { clock, cluster, logger, logs, readPositions, settings, throttle } = rooms
  const { sessions, standing, share, turns, rowReading, deferred } = openFetches(rooms)
  const longestWaitMs = settings.get('broker.fetch-max-wait')
  const largestBytes = settings.get('broker.fetch-max-bytes')
  const coldWaitMs = settings.get('broker.response-queue-timeout') / 2

  return {
    needs: needsOf,
    answer(request) {
      const { body, apiVersion } = request
      const naming = namingOf(apiVersion)
      share.asked(request.connection, request.receivedAtMs)
      const { sessionId, sessionEpoch } = body
      if (sessionEpoch === FINAL_EPOCH || sessionEpoch === INITIAL_EPOCH) {
        sessions.close(sessionId)
        return beginFull(request, naming)
      }
      const session = sessions.next(body, naming, request.connection.policy)
      if (session === null) return beginFull(request, naming)
      if (isRefusal(session)) return refuseAll(request, session)
      return look(readingOf(request, naming, { session, list: session.list }), session.list.ready())
    },
    refused: (request, refusal) => refuseAll(request, refusal),
    isRepetitive: true,
    patienceMs: ({ body }) => waitOf(body),
  }

  function waitOf(body: FetchBody): number {
    return Math.min(Math.max(body.maxWaitMs, 0), longestWaitMs)
  }

  function readingOf(request: Asked, naming: Naming, known: Partial<Reading>): Reading {
    const { body, receivedAtMs } = request
    return {
      request,
      naming,
      isolation: body.isolationLevel === READ_COMMITTED ? 'READ_COMMITTED' : 'READ_UNCOMMITTED',
      session: null,
      rows: [],
      list: null,
      still: null,
      policy: request.connection.policy,
      grant: null,
      cold: null,
      ...known,
      maxBytes: Math.min(Math.max(body.maxBytes, 0), largestBytes, throttle.fetchableBytes(request)),
      untilMs: receivedAtMs + waitOf(body),
      coldUntilMs: receivedAtMs + coldWaitMs,
    }
  }

  function beginFull(request: Asked, naming: Naming): Answer {
    // While another broker may already lead the partitions, every row must be looked up again.
    const left = standing.take(request.connection, cluster.isConfirmed ? request.body : null, request.connection.policy)
    const still = left?.standing ?? null
    if (left !== null && still !== null) {
      const reading = readingOf(request, naming, { rows: left.rows, list: still.list, still })
      return look(reading, still.list.ready())
    }
    const rows = rowsOf(request.body, naming, left?.rows ?? [])
    return look(readingOf(request, naming, { rows }), rows)
  }

  /** Reads these rows, then answers or waits. The other rows have no records. */
  function look(reading: Reading, rows: readonly FetchRow[]): Answer {
    if (rows.length > 0) reading.still = null
    for (const row of rows) row.resolve(rooms, reading.naming, reading.policy)
    const wanted = rowReading.wanted(reading, rows, reading.maxBytes)
    if (wanted === null) {
      reading.grant?.release()
      reading.grant = null
      return lookWithin(reading, rows, { leftBytes: reading.maxBytes, isFirst: true, isShort: false })
    }
    const turn = turns.wait()
    if (turn === null) return lookFor(reading, rows, wanted)
    return turn.then(() => goOn(reading, () => lookFor(reading, rows, wanted)))
  }

  function lookFor(reading: Reading, rows: readonly FetchRow[], wanted: Wanted): Answer {
    const former = reading.grant
    const { connection, closed, receivedAtMs: askedAtMs } = reading.request
    const asking = { connection, closed, askedAtMs, ...wanted }
    const grant = former === null ? share.take(asking) : former.exchange(asking)
    if (grant !== null) return lookWith(reading, rows, grant)
    turns.pass()
    // The request waited for more records, but there is no memory for them: the answer has the records that were
    // found. The other rows stay marked.
    if (reading.rows.some(row => row.bytes > 0)) return deliver(reading)
    return lookLater(reading, rows, asking)
  }

  /**
   * Waits for memory that other fetches have. An error is answered at once. Otherwise the rows are read when the
   * request gets memory, or answered without records when its time is up.
   */
  async function lookLater(reading: Reading, rows: readonly FetchRow[], asking: Asking): Promise<FetchAnswer> {
    const { drain } = reading.request
    claim(reading, rows)
    await rowReading.read(reading, rows, { leftBytes: 0, isFirst: false, isShort: true })
    if (isSuperseded(reading)) return conclude(reading, [])
    const isWrong = rows.some(row => isRefusal(row.found))
    const grant = isWrong ? null : await share.wait(asking, reading.untilMs - clock.monotonic(), drain)
    if (grant !== null) {
      await turns.wait()
      if (isSuperseded(reading)) grant.release()
      return goOn(reading, () => lookWith(reading, rows, grant))
    }
    return goOn(reading, () => {
      deferred.inc()
      return deliver(reading)
    })
  }

  function lookWith(reading: Reading, rows: readonly FetchRow[], grant: Grant): Answer {
    reading.grant = grant
    return lookWithin(reading, rows, { leftBytes: grant.bytes, isFirst: true, isShort: grant.isShort })
  }

  function lookWithin(reading: Reading, rows: readonly FetchRow[], allowance: Allowance): Answer {
    claim(reading, rows)
    const later = rowReading.read(reading, rows, allowance)
    if (later === null) return conclude(reading, rows)
    return later.then(
      () => conclude(reading, rows),
      error => {
        reading.grant?.release()
        reading.cold?.end()
        throw error
      },
    )
  }

  /** Claims the rows for this request: its answer has their results. */
  function claim(reading: Reading, rows: readonly FetchRow[]): void {
    for (const row of rows) {
      if (row.reader !== reading && reading.session !== null) reading.rows.push(row)
      row.reader = reading
    }
  }

  function conclude(reading: Reading, looked: readonly FetchRow[]): Answer {
    const { request, session, maxBytes, grant, cold } = reading
    if (isSuperseded(reading)) {
      grant?.release()
      cold?.end()
      return refuseAll(request, INVALID_FETCH_SESSION_EPOCH, session!.id)
    }
    const { body, drain, closed } = request
    const minBytes = Math.min(body.minBytes, maxBytes, grant?.bytes ?? maxBytes)
    const bytes = looked.reduce((sum, row) => sum + row.bytes, 0)
    grant?.trim(bytes)
    turns.count(bytes)
    const untilMs = cold?.isPending === true && bytes === 0 ? reading.coldUntilMs : reading.untilMs
    const isOver = drain.aborted || closed.aborted || session?.isClosed === true || clock.monotonic() >= untilMs
    if (isOver || bytes >= minBytes || looked.some(row => isRefusal(row.found))) return deliver(reading)
    if (session === null && reading.rows.length === 0) return deliver(reading)
    if (cold !== null && looked.some(row => row.bytes > 0 && row.isCold)) return deliver(reading)
    return wait(reading, looked, { minBytes, alreadyBytes: bytes, untilMs })
  }

  function wait(
    reading: Reading,
    looked: readonly FetchRow[],
    { minBytes, alreadyBytes, untilMs }: { minBytes: number; alreadyBytes: number; untilMs: number },
  ): Promise<FetchAnswer> {
    const { request, cold } = reading
    const list = reading.list ?? logs.watchlist<FetchRow>()
    reading.list = list
    settle(list, looked)
    if (cold !== null) {
      // An append to a partition that is read from the archive brings nothing for its reader.
      for (const row of looked) if (row.isCold) row.leave()
      cold.onNews = () => list.interrupt()
    }
    const hasMoved = looked.some(row => row.hasMoved) || cold?.hasNews === true
    const sinceMs = clock.monotonic()
    // Records that arrived while the store was read have marked no watch, so the request must not wait.
    const maxWaitMs = hasMoved ? 0 : untilMs - sinceMs
    return list.wait({ minBytes, alreadyBytes, maxWaitMs, signal: request.closed }).then(() => {
      if (cold !== null) cold.onNews = null
      request.waitedMs += clock.monotonic() - sinceMs
      return goOn(reading, () => look(reading, list.ready()))
    })
  }

  /** Runs the next step of a request that has waited, unless another request has taken over its rows. */
  function goOn(reading: Reading, step: () => Answer): Answer {
    return logger.during(reading.request, () => (isSuperseded(reading) ? conclude(reading, []) : step()))
  }

  /** Returns true if another request of the session has arrived meanwhile and continues the session. */
  function isSuperseded({ session, request }: Reading): boolean {
    return session !== null && !session.isClosed && session.nextEpoch !== epochAfter(request.body.sessionEpoch)
  }

  /**
   * Returns the answer. It is empty if the client's quota does not allow its bytes: the client fetches again after
   * its wait (KIP-219).
   */
  function deliver(reading: Reading): FetchAnswer {
    if (reading.policy !== reading.request.connection.policy) checkAgain(reading)
    const { request, session, rows, still, cold } = reading
    cold?.end()
    const bytes = still === null ? rows.reduce((sum, row) => sum + row.bytes, 0) : 0
    const { throttleMs: throttleTimeMs, deliver: isAllowed } = throttle.fetching(request, bytes)
    if (isAllowed) {
      reading.grant?.made()
      remember(request, rows)
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

  /** Refuses the rows that the client may no longer read: it has authenticated again while the request waited. */
  function checkAgain(reading: Reading): void {
    reading.policy = reading.request.connection.policy
    reading.still = null
    for (const row of reading.rows) {
      const denied = row.check(rooms, reading.naming, reading.policy)
      if (denied === null) continue
      if (!isRefusal(row.found)) row.found.release?.()
      row.partition = null
      row.leave()
      row.found = denied
    }
  }

  /**
   * Notes the records in an answer as delivered to the client: it may be a member of a group that owns the partition.
   */
  function remember({ clientId, connection }: Asked, rows: readonly FetchRow[]): void {
    const reader = readPositions.reader(clientId ?? '', connection.address)
    for (const { partition, fetchOffset, found } of rows) {
      if (partition === null || isRefusal(found)) continue
      const last = found.batches.at(-1)
      const nextOffset = last === undefined ? fetchOffset : viewBatch(last).lastOffset + 1
      reader.delivered(partition.topicId, partition.index, nextOffset)
    }
  }

  function answerOf(reading: Reading): FetchAnswer {
    const { request, rows, naming } = reading
    const session = reading.session ?? openSession(reading)
    const told = reading.session === null ? rows : rows.filter(row => row.isNews)
    const leaders = createLeaderNames(rooms, request.connection.listener)
    const leaderOf: Parameters<typeof responsesOf>[2] = ({ topic, topicId, index }, refusal) =>
      leaders.nameFor(refusal, naming, naming === 'name' ? topic : topicId, index)
    const responses = reading.still?.responses ?? responsesOf(told, reading.isolation, leaderOf)
    if (session === null) leave(reading, responses)
    else {
      const served = told.filter(row => row.bytes > 0)
      if (!session.isClosed) settle(session.list, rows)
      for (const row of served) session.list.defer(row)
      for (const row of rows) row.tell()
    }
    return { errorCode: NONE, sessionId: session?.id ?? NO_SESSION, responses, nodeEndpoints: leaders.endpoints() }
  }

  /**
   * Leaves the rows of a full request without a session to the connection's next one. They keep watching their
   * partitions if none of them has news.
   */
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
    standing.leave(connection, closed, { body, rows, standing: still, policy: reading.policy })
  }

  function openSession({ request, naming, rows, list, policy }: Reading): FetchSession | null {
    const isWanted = request.body.sessionEpoch === INITIAL_EPOCH && !request.closed.aborted
    return isWanted ? sessions.open(rows, naming, list ?? logs.watchlist(), policy) : null
  }
})

function namingOf(apiVersion: number): Naming {
  return apiVersion >= FIRST_WITH_IDS ? 'topicId' : 'name'
}

/** Returns the needs of a request. A follower needs the permission of a cluster member. */
function needsOf({ body, apiVersion }: Asked): readonly Need[] {
  const replicaId = apiVersion >= FIRST_WITH_REPLICA_STATE ? body.replicaState.replicaId : body.replicaId
  return replicaId >= 0 ? [onCluster('CLUSTER_ACTION'), READING] : [READING]
}
