// The field `cleaned` of the meta hash of a stream that was rewritten, and the parts of the log: which offsets lie in
// which Redis stream. functions.lua draws the field and the parts. It changes the field when entries are deleted; this
// file computes it when a pass begins and when a rewrite is made.

import { type EpochStart, type Pass, StoreUnavailable } from '../store.ts'
import type { StreamKeys } from './keys.ts'
import { decodeEpochs, decodeVoids, type Void } from './voids.ts'

/** One of the two Redis streams of rewritten entries. */
export interface Rewritten {
  /** The offset at which its part of the log ends. */
  readonly to: number
  /** The position (entry.ts) that its next entry would have. */
  readonly left: number
  /** The position of the first entry behind `to`. It differs from `left` by the bytes that rewrites have removed. */
  readonly right: number
  /** The number of entries that must exist. */
  readonly length: number
  /** The id of its newest entry. */
  readonly last: string
  /** Which leader wrote from which offset on, like the field `epochs`, but separated by commas. */
  readonly leads: string
}

export interface Cleaned {
  /** The stored text of the field: a rewrite counts only if the field is still the same. */
  readonly text: string
  /** The number of the pass that runs or ran last; the first one has 1. */
  readonly generation: number
  readonly current: Rewritten
  /** Of the pass before. Once the current pass has reached its end, it is a place without entries. */
  readonly former: Rewritten
}

/** The offsets that lie in one Redis stream. */
export interface Part {
  readonly key: string
  /** The pass that wrote the entries; 0 for entries that were appended. */
  readonly generation: number
  /** The offset at which the part ends. */
  readonly to: number
  readonly epochs: readonly EpochStart[]
  readonly voids: readonly Void[]
}

/** The state that decides the parts of a log. */
export interface Parted {
  readonly epochs: readonly EpochStart[]
  readonly voids: readonly Void[]
  readonly cleaned: Cleaned | null
}

/** Decodes the field; null if the stream was never rewritten. Throws StoreUnavailable if another program wrote it. */
export function decodeCleaned(text: string | undefined): Cleaned | null {
  if (text === undefined) return null
  const words = text.split(' ')
  if (words.length !== 14)
    throw new StoreUnavailable(`the field cleaned is ${JSON.stringify(text)}, which this version does not read`)
  const rewrittenAt = (at: number): Rewritten => {
    const [to, left, right, length] = words.slice(at, at + 4).map(Number) as [number, number, number, number]
    return { to, left, right, length, last: words[at + 4]!, leads: words[at + 5]! }
  }
  return { text, generation: Number(words[0]), current: rewrittenAt(2), former: rewrittenAt(8) }
}

function encodeCleaned(cleaned: Omit<Cleaned, 'text'>, isSheared: boolean): Cleaned {
  const { generation, current, former } = cleaned
  const words = [generation, isSheared ? 1 : 0]
  const all = [current, former].flatMap(({ to, left, right, length, last, leads }) => [
    ...[to, left, right, length],
    ...[last, leads],
  ])
  return { ...cleaned, text: [...words, ...all].join(' ') }
}

/** Returns the key of the current stream of rewritten entries. */
export function currentKey({ cleaned }: StreamKeys, { generation }: Cleaned): string {
  return cleaned[generation % 2]!
}

export function formerKey({ cleaned }: StreamKeys, { generation }: Cleaned): string {
  return cleaned[(generation + 1) % 2]!
}

/** Returns the keys of all calls on the stream. The keys of rewritten entries are missing in a stream without them. */
export function allKeys({ batches, meta, rows, cleaned }: StreamKeys, isRewritten: boolean): readonly string[] {
  return isRewritten ? [batches, meta, rows, ...cleaned] : [batches, meta, rows]
}

/** Returns the part of the log in which an entry at this offset lies. */
export function partAt(keys: StreamKeys, { epochs, voids, cleaned }: Parted, offset: number): Part {
  if (cleaned !== null) {
    const { generation, current, former } = cleaned
    if (offset < current.to) return partOf(currentKey(keys, cleaned), generation, current)
    if (offset < former.to) return partOf(formerKey(keys, cleaned), generation - 1, former)
  }
  return { key: keys.batches, generation: 0, to: Number.POSITIVE_INFINITY, epochs, voids }
}

function partOf(key: string, generation: number, { to, leads }: Rewritten): Part {
  const text = leads.replaceAll(',', ' ')
  return { key, generation, to, epochs: decodeEpochs(text), voids: decodeVoids(text) }
}

/** Returns the position of the first entry at or above the offset at which the part begins that contains `offset`. */
export function positionBefore(cleaned: Cleaned | null, offset: number, start: number): number {
  if (cleaned === null || offset < cleaned.current.to) return start
  return offset < cleaned.former.to ? cleaned.current.right : cleaned.former.right
}

export function passOf(cleaned: Cleaned | null): Pass {
  if (cleaned === null) return { to: 0, until: 0 }
  const { current, former } = cleaned
  return { to: current.to, until: Math.max(current.to, former.to) }
}

/** Returns the number of bytes by which positions run ahead of the entries that are left. */
export function removedBytes(cleaned: Cleaned | null): number {
  if (cleaned === null) return 0
  const { current, former } = cleaned
  return current.right - current.left + former.right - former.left
}

/** Returns the state of a new pass. `start` is the log start, `position` that of the first live entry. */
export function begun(cleaned: Cleaned | null, start: number, position: number): Cleaned {
  const current = placeAt(start, position)
  const former = cleaned !== null && cleaned.current.to > start ? cleaned.current : current
  return encodeCleaned({ generation: (cleaned?.generation ?? 0) + 1, current, former }, true)
}

export interface Piece {
  readonly epoch: number
  readonly from: number
  readonly to: number
  /** The ids of its entries. */
  readonly ids: readonly string[]
  /** The total size of its batches. */
  readonly bytes: number
  /** The position of the first entry at or above `to`. */
  readonly right: number
}

/** Returns the state after a rewrite. */
export function rewritten(cleaned: Cleaned, { epoch, from, to, ids, bytes, right }: Piece): Cleaned {
  const { current, former } = cleaned
  const { last, leads } = current
  const isOwn = ids.length === 0 || decodeEpochs(leads).at(-1)!.epoch === epoch
  const next = {
    to,
    left: current.left + bytes,
    right,
    length: current.length + ids.length,
    last: ids.at(-1) ?? last,
    leads: isOwn ? leads : `${leads},${epoch}:${from}:${last}`,
  }
  return encodeCleaned({ ...cleaned, current: next, former: to < former.to ? former : placeAt(to, right) }, false)
}

function placeAt(to: number, position: number): Rewritten {
  return { to, left: position, right: position, length: 0, last: '0-0', leads: '0:0' }
}
