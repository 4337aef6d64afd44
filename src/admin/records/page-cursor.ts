// The place where a page of records or a live tail goes on: one offset for each partition, in a text that means nothing
// to the client that carries it. It names the topic by its id, and the question that it belongs to. So a cursor of
// another topic, or of a topic that was made again, does not pass for one that fits.
//
//   base64url of: 1 . topic id . o (oldest first) or n (newest first) . partition or * . offsets in base 36, joined
//                 with - .
//
// The last point tells a whole cursor from one that was cut. An offset of * stands for a partition that is not part of
// the question, an offset of ? for a partition in which the place could not be looked up yet.

export type Order = 'oldest' | 'newest'

/** The start is not known yet, because the partition could not be reached. */
export const UNSOUGHT = Symbol('unsought')

/** The next offset (oldest first) or the last that was given (newest first); null: not part of the question. */
export type Position = number | null | typeof UNSOUGHT

export interface Cursor {
  readonly topicId: string
  readonly order: Order
  /** Null: all. */
  readonly partition: number | null
  /** By partition; one entry if the question is about one partition. */
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

/** Null for a text that is not a cursor. */
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
