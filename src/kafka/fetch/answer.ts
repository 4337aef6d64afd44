// Makes the answer of a fetch: its rows, or the refusal of the whole request. The results of reading are in row.ts.

import type { Isolation } from '../../log/partition.ts'
import { isRefusal, NONE, type Refusal } from '../../protocol/errors.ts'
import type { fetch } from '../../protocol/messages/fetch.ts'
import type { RequestOf, ResponseInput } from '../../protocol/schema.ts'
import type { FetchRow } from './row.ts'
import { NO_SESSION } from './sessions.ts'

export type FetchBody = RequestOf<typeof fetch>
export type FetchAnswer = ResponseInput<typeof fetch>
export type TopicRow = FetchAnswer['responses'][number]
type PartitionRow = TopicRow['partitions'][number]

const FIRST_WITH_SESSIONS = 7

/**
 * Returns the topics of an answer. Neighbouring rows of one topic share one entry. `leaderOf` is called for rows that
 * were refused.
 */
export function responsesOf(
  rows: readonly FetchRow[],
  isolation: Isolation,
  leaderOf: (row: FetchRow, refusal: Refusal) => PartitionRow['currentLeader'],
): TopicRow[] {
  // Readers of committed records need the list, even if it is empty; other readers must not get one.
  const abortedTransactions = isolation === 'READ_COMMITTED' ? [] : null
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
      ...(isRefusal(found) ? { currentLeader: leaderOf(row, found) } : NO_LEADER),
    })
  }
  return responses
}

const NOTHING = Object.freeze({ batches: [], highWatermark: -1, lastStableOffset: -1, logStartOffset: -1 })
const NO_LEADER = Object.freeze({})

/**
 * Returns the answer to a fetch that is refused as a whole. Versions with sessions have an error of the whole
 * request. Clients retry after it, but after an unexpected code in a row they stop.
 */
export function refuseAll(
  { body, apiVersion }: { readonly body: FetchBody; readonly apiVersion: number },
  refusal: Refusal,
  sessionId = NO_SESSION,
): FetchAnswer {
  if (apiVersion >= FIRST_WITH_SESSIONS) return { errorCode: refusal.code, sessionId, responses: [] }
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
