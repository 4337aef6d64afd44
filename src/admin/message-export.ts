// Gives out the records of a topic one after the other, as many as are asked for, up to the ends that its partitions have when it
// is asked. It reads as a page does and begins the next one where that ended, so that it never holds more than one page may read;
// unlike a page it leaves nothing out: what cannot be read ends it with an error.

import { afterOthers } from '../base/clock.ts'
import { patience } from '../base/patience.ts'
import { isRefusal, type Refusal } from '../protocol/errors.ts'
import { byTime, openQuestion, pageBudget, type Question, readersFrom, type Selection } from './messages.ts'
import type { Message } from './messages-contract.ts'
import type { ReachRooms } from './reach.ts'
import { whole } from './shown-message.ts'
import type { Decoding } from './shown-value.ts'

export interface ExportRequest extends Selection {
  readonly keyDecode: Decoding
  readonly decode: Decoding
}

/** A larger record is not decoded: its key, value and headers are base64. To read 512 KiB as JSON takes some 10 ms of everybody's time. */
export const LARGEST_DECODED_BYTES = 512 * 1024

/**
 * The records, whole. A refusal where a partition cannot be read at the start; the iteration throws where one cannot be read later
 * on, what the store throws, and the reason of the signal.
 */
export async function exportMessages(
  rooms: ReachRooms,
  topicName: string,
  request: ExportRequest,
  ended: AbortSignal,
): Promise<AsyncGenerator<Message, void> | Refusal> {
  const question = await openQuestion(rooms, topicName, request, patience(rooms.clock, Number.POSITIVE_INFINITY, ended))
  if (isRefusal(question)) return question
  const [refusal] = question.refusals.values()
  return refusal ?? everyMessage(rooms, question, request, ended)
}

async function* everyMessage(
  rooms: ReachRooms,
  question: Question,
  request: ExportRequest,
  ended: AbortSignal,
): AsyncGenerator<Message, void> {
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
    // What is in memory is read without one.
    await afterOthers(rooms.clock)
    ended.throwIfAborted()
    const readers = readersFrom(rooms, question, begins, request, { budget: pageBudget(rooms, waiting), keeping })
    const check = () => {
      for (const { partition, refusal } of readers)
        if (refusal !== null) throw new Error(`partition ${partition} cannot be read on: ${refusal.message}`)
    }
    for await (const message of byTime(readers, request.order)) {
      check()
      yield message
      ended.throwIfAborted()
      if (--left === 0) return
    }
    check()
    begins = new Map(readers.filter(({ isDone }) => !isDone).map(({ partition, position }) => [partition, position]))
  }
}
