// Gives out the records of a topic one after the other, as many as the caller asks for, up to the ends that its
// partitions have at the start. It reads pages, each from the end of the one before, so that it never holds more than
// one page may read. Unlike a page it leaves nothing out: a batch that cannot be read ends it with an error.

import type { ShownRecord } from '../../api/messages.ts'
import type { Decoding } from '../../api/words.ts'
import { afterOthers } from '../../base/clock.ts'
import { patience } from '../../base/patience.ts'
import { isRefusal, type Refusal } from '../../protocol/errors.ts'
import type { ReachRooms } from '../reach.ts'
import { byTime, openQuestion, pageBudget, type Question, readersFrom, type Selection } from './browse.ts'
import { whole } from './shown-record.ts'

export interface ExportRequest extends Selection {
  readonly keyDecode: Decoding
  readonly decode: Decoding
}

/**
 * A larger record is not decoded: its key, value and headers are base64. Reading 512 KiB as JSON blocks the event loop
 * for some 10 ms.
 */
export const LARGEST_DECODED_BYTES = 512 * 1024

/**
 * The records, whole. A refusal if a partition cannot be read at the start. The iteration throws if one cannot be read
 * later; it also throws what the store throws, and the reason of the signal.
 */
export async function exportRecords(
  rooms: ReachRooms,
  topicName: string,
  request: ExportRequest,
  ended: AbortSignal,
): Promise<AsyncGenerator<ShownRecord, void> | Refusal> {
  const question = await openQuestion(rooms, topicName, request, patience(rooms.clock, Number.POSITIVE_INFINITY, ended))
  if (isRefusal(question)) return question
  const [refusal] = question.refusals.values()
  return refusal ?? everyRecord(rooms, question, request, ended)
}

async function* everyRecord(
  rooms: ReachRooms,
  question: Question,
  request: ExportRequest,
  ended: AbortSignal,
): AsyncGenerator<ShownRecord, void> {
  let { begins } = question
  let left = request.limit
  const waiting = patience(rooms.clock, Number.POSITIVE_INFINITY, ended)
  const keeping = whole(({ key, value, headers }) => {
    const bytes = [key, value, ...headers.map(header => header.value)].reduce(
      (sum, part) => sum + (part?.length ?? 0),
      0,
    )
    return bytes > LARGEST_DECODED_BYTES ? { keyDecode: 'raw', decode: 'raw' } : request
  })
  while (begins.size > 0) {
    // Reads from memory never wait, so the event loop gets its turn here.
    await afterOthers(rooms.clock)
    ended.throwIfAborted()
    const readers = readersFrom(rooms, question, begins, request, { budget: pageBudget(rooms, waiting), keeping })
    const check = () => {
      for (const { partition, refusal } of readers)
        if (refusal !== null) throw new Error(`partition ${partition} cannot be read further: ${refusal.message}`)
    }
    for await (const record of byTime(readers, request.order)) {
      check()
      yield record
      ended.throwIfAborted()
      if (--left === 0) return
    }
    check()
    begins = new Map(readers.filter(({ isDone }) => !isDone).map(({ partition, position }) => [partition, position]))
  }
}
