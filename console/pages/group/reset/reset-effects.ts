// The effects of a reset, counted from the rows of the server's preview, in each partition and in total; and the
// differences between two previews.

import type { Reset } from '../../../../src/api/groups.ts'
import { count, counted } from '../../../text/format.ts'
import { rangesOf } from '../partition-ranges.ts'
import { byTopic } from './reset-request.ts'

export type Row = Reset['rows'][number]

export function keyOf({ topic, partition }: Pick<Row, 'topic' | 'partition'>): string {
  return `${topic}-${partition}`
}

/** Returns the number of records that the group has not been given; null if it is not known. */
export function lagOf({ committedOffset, deliveredOffset, endOffset }: Row): number | null {
  const position = deliveredOffset ?? committedOffset
  return position === null || endOffset === null ? null : Math.max(0, endOffset - position)
}

/** Returns the number of delivered records that are not committed: the reset forgets that they were delivered. */
export function pendingOf({ committedOffset, deliveredOffset, startOffset }: Row): number | null {
  if (deliveredOffset === null) return null
  const from = committedOffset ?? startOffset
  return from === null ? null : Math.max(0, deliveredOffset - from)
}

export interface Totals {
  /** Partitions whose committed offset is deleted. */
  readonly cleared: number
  /** Partitions that get another offset. */
  readonly moved: number
  readonly unchanged: number
  /** Delivered records that are not committed. */
  readonly pending: number
  /** Records that are read again; for cleared offsets, if the consumer begins at the first record. */
  readonly again: number
  /** Records that are skipped; for cleared offsets, if the consumer begins at the end. */
  readonly skipped: number
  /** True if the ends of a partition are not known, so that the numbers are lower bounds. */
  readonly isAtLeast: boolean
}

export function totalsOf(rows: readonly Row[]): Totals {
  const totals = { cleared: 0, moved: 0, unchanged: 0, pending: 0, again: 0, skipped: 0, isAtLeast: false }
  for (const row of rows) {
    const { committedOffset, startOffset, endOffset, newOffset } = row
    totals.pending += pendingOf(row) ?? 0
    if (newOffset === committedOffset) totals.unchanged++
    else if (newOffset === null) totals.cleared++
    else totals.moved++
    // Without an offset, the consumer begins where its own setting says: no record is read again or skipped for sure.
    if (committedOffset === null) continue
    if (startOffset === null || endOffset === null) {
      totals.isAtLeast = true
      continue
    }
    const position = Math.min(Math.max(committedOffset, startOffset), endOffset)
    totals.again += Math.max(0, position - (newOffset ?? startOffset))
    totals.skipped += Math.max(0, (newOffset ?? endOffset) - position)
  }
  return totals
}

/** Returns what the reset does in total, in sentences. */
export function totalsSentence(rows: readonly Row[]): string {
  const { cleared, moved, unchanged, pending, again, skipped, isAtLeast } = totalsOf(rows)
  const least = isAtLeast ? 'at least ' : ''
  const stay =
    unchanged === 0
      ? ''
      : ` ${counted(unchanged, 'partition stays', 'partitions stay')} as ${unchanged === 1 ? 'it is' : 'they are'}.`
  if (moved > 0 || (cleared === 0 && rows.some(({ newOffset }) => newOffset !== null)))
    return `Sets ${counted(moved, 'offset')}: ${least}${counted(again, 'record')} ${again === 1 ? 'is' : 'are'} read again, and ${least}${count(skipped)} ${skipped === 1 ? 'is' : 'are'} skipped.${stay}`
  const deliveries = pending === 0 ? '' : ` and ${counted(pending, 'pending delivery', 'pending deliveries')}`
  const effect = `${isAtLeast ? 'At least' : 'Up to'} ${counted(again, 'record')} may be read again, or ${count(skipped)} skipped, depending on the consumer.`
  return `Clears ${counted(cleared, 'offset')}${deliveries}. ${effect}${stay}`
}

/** Returns what happens in one partition. */
export function effectOf({ committedOffset, startOffset, endOffset, newOffset }: Row): string {
  if (newOffset === null) return 'the consumer decides'
  if (committedOffset === null) return 'the first offset of the group here'
  if (newOffset === committedOffset) return 'stays'
  if (startOffset === null || endOffset === null) return 'the ends of the log are not known'
  const position = Math.min(Math.max(committedOffset, startOffset), endOffset)
  if (newOffset < position) return `reads ${counted(position - newOffset, 'record')} again`
  return newOffset > position
    ? `skips ${counted(newOffset - position, 'record')}`
    : 'no record is skipped or read again'
}

/** The differences between two previews. */
export interface Changes {
  /** How a partition of the new preview differs, in a sentence. */
  readonly marked: ReadonlyMap<string, string>
  /** The rows that the new preview no longer has. */
  readonly gone: readonly Row[]
}

export function changesBetween(before: readonly Row[], after: readonly Row[]): Changes {
  const earlier = new Map(before.map(row => [keyOf(row), row]))
  const marked = new Map<string, string>()
  for (const row of after) {
    const old = earlier.get(keyOf(row))
    earlier.delete(keyOf(row))
    const change = old === undefined ? 'was not in the preview before' : changeOf(old, row)
    if (change !== null) marked.set(keyOf(row), change)
  }
  return { marked, gone: [...earlier.values()] }
}

function changeOf(old: Row, row: Row): string | null {
  if (old.committedOffset !== row.committedOffset) return `committed was ${offsetText(old.committedOffset)}`
  if (old.newOffset !== row.newOffset) return `the new offset was ${offsetText(old.newOffset)}`
  if (old.commitTimestamp !== row.commitTimestamp) return 'the same offset was committed again'
  return old.metadata === row.metadata ? null : 'the metadata of the commit changed'
}

function offsetText(offset: number | null): string {
  return offset === null ? 'none' : count(offset)
}

/**
 * Returns the sentences over a second preview, after a refusal of the first one or at the wish of the user. `isInUse`:
 * members of the group stand in the way of the new preview.
 */
export function changesSentence({ marked, gone }: Changes, isRefused: boolean, isInUse: boolean): string {
  const changed = marked.size + gone.length
  if (changed > 0) {
    const moved = `the group has moved in ${counted(changed, 'partition')} since the preview before`
    const marks = marked.size > 0 ? ' The changes are marked.' : ''
    const left = gone.length > 0 ? ` The group no longer has a position in ${placesOf(gone)}.` : ''
    return `${isRefused ? `Nothing was written: ${moved}` : capitalised(moved)}.${marks}${left}`
  }
  if (!isRefused) return 'No offset has changed since the preview before.'
  return isInUse
    ? 'Nothing was written: a member has joined the group since the preview before.'
    : 'Nothing was written: the broker no longer takes the preview, although no offset has changed. A preview lasts 15 minutes.'
}

const MOST_TOPICS = 10

/** Returns the partitions by topic: `orders (0–2), payments (7)`. */
function placesOf(rows: readonly Row[]): string {
  const topics = [...byTopic(rows)]
  const named = topics.slice(0, MOST_TOPICS).map(([topic, partitions]) => `${topic} (${rangesOf(partitions)})`)
  const more = topics.length - named.length
  return `${named.join(', ')}${more > 0 ? `, and ${counted(more, 'topic')} more` : ''}`
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
