// Exports the records of a topic one after the other, as many as the caller requests, up to the ends that its
// partitions have when the export starts. It reads page after page, so that it never has more in memory than one page
// may read. Unlike a page it leaves nothing out: a batch that cannot be read ends the export with an error.

import type { ShownRecord } from '../../api/messages.ts'
import type { Decoding } from '../../api/words.ts'
import { afterOthers } from '../../base/clock.ts'
import { patience } from '../../base/patience.ts'
import { isRefusal, type Refusal } from '../../protocol/errors.ts'
import type { ReachRooms } from '../reach.ts'
import { byTime, openQuestion, pageBudget, type Question, readersFrom, type Selection } from './browse.ts'
import type { SchemaRooms } from './schema-value.ts'
import { present, whole } from './shown-record.ts'

export interface ExportRequest extends Selection {
  readonly keyDecode: Decoding
  readonly decode: Decoding
}

/**
 * The largest record that is decoded. The key, value and headers of a larger record are base64. To parse 512 KiB of
 * JSON blocks the event loop for some 10 ms.
 */
export const LARGEST_DECODED_BYTES = 512 * 1024

/**
 * Resolves to an iteration over the whole records, or to a refusal if a partition cannot be read at the start. The
 * iteration throws if a partition cannot be read later. It also throws what the store throws, and the reason of the
 * signal.
 */
export async function exportRecords(
  rooms: ReachRooms & SchemaRooms,
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
  rooms: ReachRooms & SchemaRooms,
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
    for await (const kept of byTime(readers, request.order)) {
      check()
      yield await present(rooms, question.topic, kept)
      ended.throwIfAborted()
      if (--left === 0) return
    }
    check()
    begins = new Map(readers.filter(({ isDone }) => !isDone).map(({ partition, position }) => [partition, position]))
  }
}
