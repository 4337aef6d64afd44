// Reads the records of one batch, wherever the batch came from, and reports a batch that cannot be decoded. The records
// are views that are valid only during the visit: a visitor that needs a record for longer makes a copy.

import type { Turns } from '../../base/clock.ts'
import type { Refusal } from '../../protocol/errors.ts'
import {
  BATCH_HEADER_BYTES,
  type BatchView,
  type DecodedRecord,
  type HeaderLimits,
  InvalidRecords,
  type RecordWalk,
} from '../../protocol/records.ts'
import type { ReachRooms } from '../reach.ts'
import type { ReadBudget } from './read-budget.ts'

export interface FoundRecord extends DecodedRecord {
  readonly partition: number
  /** The offset itself, unless it stands for more than one record. */
  readonly lastOffset: number
  readonly timestampType: BatchView['timestampType']
  /**
   * Why the batch cannot be decoded. The record then stands for the rest of the batch, and its value is those bytes.
   */
  readonly unreadable: string | null
}

/** A look through one batch. */
export interface BatchLook {
  readonly partition: number
  readonly batch: BatchView
  /** Records below it are passed over. */
  readonly from: number
  /** The look ends there. */
  readonly before: number
  readonly budget: ReadBudget
  readonly headers: HeaderLimits
  /** Visits a record. The look ends if it returns false. */
  visit(record: FoundRecord, turn: Turns): boolean | Promise<boolean>
  /** The look ends. The records are still valid. */
  finish?(turn: Turns): Promise<void>
}

const noTurns: Turns = () => undefined

/**
 * True if the look read the whole batch, false if the visitor ended it, and a refusal if the time limit did. Markers do
 * not count as records.
 */
export async function lookThrough(rooms: Pick<ReachRooms, 'logs'>, look: BatchLook): Promise<boolean | Refusal> {
  const { batch, from, before, budget, headers, partition } = look
  // Markers of transactions are the broker's own.
  if (batch.isControl) return true
  const { timestampType } = batch
  let next = batch.baseOffset
  const visitRest = (error: unknown, turn: Turns) => {
    if (!(error instanceof InvalidRecords)) throw error
    const rest = unreadableFrom(partition, batch, next, error)
    return rest.lastOffset < from || rest.offset >= before || look.visit(rest, turn)
  }
  try {
    return await rooms.logs.unpacking.look(batch, budget.looker, async ({ walk, unpackedBytes, step, turn }) => {
      budget.unpacked(unpackedBytes)
      const isWhole = await walkThrough(turn, step, walk)
      await look.finish?.(turn)
      return isWhole
    })
  } catch (error) {
    const isWhole = await visitRest(error, noTurns)
    await look.finish?.(noTurns)
    return isWhole
  }

  async function walkThrough(turn: Turns, step: Turns, walk: RecordWalk): Promise<boolean> {
    for (;;) {
      let record: DecodedRecord
      try {
        const others = step()
        if (others !== undefined) await others
        if (!walk.next()) return true
        if (walk.offset < from) {
          next = walk.offset + 1
          continue
        }
        if (walk.offset >= before) return true
        record = walk.read(headers)
      } catch (error) {
        return await visitRest(error, turn)
      }
      next = record.offset + 1
      budget.decoded()
      const others = turn()
      if (others !== undefined) await others
      const visited = look.visit(
        { ...record, lastOffset: record.offset, partition, timestampType, unreadable: null },
        turn,
      )
      if (!(typeof visited === 'boolean' ? visited : await visited)) return false
    }
  }
}

function unreadableFrom(partition: number, batch: BatchView, offset: number, error: InvalidRecords): FoundRecord {
  const { lastOffset, maxTimestamp, timestampType, bytes } = batch
  return {
    partition,
    offset,
    lastOffset,
    timestamp: maxTimestamp,
    timestampType,
    key: null,
    value: bytes.subarray(BATCH_HEADER_BYTES),
    headers: [],
    headerCount: 0,
    undecodedHeaders: null,
    unreadable: `The records at the offsets ${offset} to ${lastOffset} cannot be read: ${error.message}.`,
  }
}
