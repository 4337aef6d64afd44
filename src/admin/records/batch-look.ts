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
  /** Equal to `offset`, unless the entry stands for more than one record. */
  readonly lastOffset: number
  readonly timestampType: BatchView['timestampType']
  /**
   * Why the batch cannot be decoded; null if it can. If it cannot, the record stands for the rest of the batch, and
   * its value is the undecoded bytes of the batch.
   */
  readonly unreadable: string | null
}

/** The parameters of a look through one batch. */
export interface BatchLook {
  readonly partition: number
  readonly batch: BatchView
  /** Records below this offset are skipped. */
  readonly from: number
  /** The look ends before this offset. */
  readonly before: number
  readonly budget: ReadBudget
  readonly headers: HeaderLimits
  /** Visits a record. The look ends if it returns false. */
  visit(record: FoundRecord, turn: Turns): boolean | Promise<boolean>
  /** Called when the look ends, while the records are still valid. */
  finish?(turn: Turns): Promise<void>
}

const noTurns: Turns = () => undefined

/**
 * Resolves to true if the look read the batch up to its end or up to `before`, to false if the visitor ended it, and
 * to a refusal if the time limit ended it. Transaction markers do not count as records.
 */
export async function lookThrough(rooms: Pick<ReachRooms, 'logs'>, look: BatchLook): Promise<boolean | Refusal> {
  const { batch, from, before, budget, headers, partition } = look
  // Transaction markers are records of the broker, not of producers.
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
