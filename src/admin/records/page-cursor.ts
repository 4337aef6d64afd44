// Encodes and decodes cursors. A cursor says where a page of records or a live tail continues: one offset for each
// partition. For the client it is an opaque text. It contains the topic id, and the order and partition of its
// request. So a cursor of another topic, or of a topic that was created again, is not accepted.
//
//   base64url of: 1 . topic id . o (oldest first) or n (newest first) . partition or * . offsets in base 36, joined
//                 with - .
//
// The dot at the end shows that a cursor was not cut. An offset of * stands for a partition that is not part of the
// request. An offset of ? stands for a partition whose start could not be looked up yet.

export type Order = 'oldest' | 'newest'

/** The start is not known yet, because the partition could not be reached. */
export const UNSOUGHT = Symbol('unsought')

/**
 * The next offset (oldest first) or the last returned offset (newest first); null if the partition is not part of the
 * request.
 */
export type Position = number | null | typeof UNSOUGHT

export interface Cursor {
  readonly topicId: string
  readonly order: Order
  /** Null: all partitions. */
  readonly partition: number | null
  /** One entry for each partition, in order; only one entry if the request names one partition. */
  readonly positions: readonly Position[]
}

const FORMAT = '1'
/** Characters that are not digits of base 36. */
const NOT_PART = '*'
const NOT_SOUGHT = '?'

export function encodeCursor({ topicId, order, partition, positions }: Cursor): string {
  const offsets = positions.map(position => {
    if (position === null) return NOT_PART
    return position === UNSOUGHT ? NOT_SOUGHT : position.toString(36)
  })
  return Buffer.from([FORMAT, topicId, order[0], partition ?? '*', offsets.join('-'), ''].join('.')).toString(
    'base64url',
  )
}

/** Returns null if the text is not a cursor. */
export function decodeCursor(text: string): Cursor | null {
  const decoded = Buffer.from(text, 'base64url').toString('latin1')
  const match = /^1\.([A-Za-z0-9_-]{22})\.([on])\.(\*|[0-9]{1,10})\.([0-9a-z*?-]+)\.$/.exec(decoded)
  if (match === null) return null
  const [, topicId, order, partition, offsets] = match
  const positions = offsets!.split('-').map((offset): Position => {
    if (offset === NOT_PART) return null
    if (offset === NOT_SOUGHT) return UNSOUGHT
    return /^[0-9a-z]{1,11}$/.test(offset) ? Number.parseInt(offset, 36) : Number.NaN
  })
  if (positions.some(position => typeof position === 'number' && !Number.isSafeInteger(position))) return null
  const isOne = partition !== '*'
  if (isOne && positions.length !== 1) return null
  return {
    topicId: topicId!,
    order: order === 'o' ? 'oldest' : 'newest',
    partition: isOne ? Number(partition) : null,
    positions,
  }
}
