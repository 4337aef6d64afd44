// Encodes and decodes the meta hash of a stream, which functions.lua writes.

import { type EpochStart, type Opened, StoreUnavailable } from '../store.ts'
import { type Cleaned, decodeCleaned } from './cleaned.ts'
import type { Reply } from './client/links.ts'
import { decodeSizes, type Sizes } from './sizes.ts'
import { decodeEpochs, decodeVoids, type Void } from './voids.ts'

/** The state of a stream in its last answer. */
export interface Known {
  readonly epoch: number
  readonly epochs: readonly EpochStart[]
  readonly voids: readonly Void[]
  readonly start: number
  readonly end: number
  readonly highWatermark: number
  readonly sizes: Sizes
  /** The number of entries that must exist in batches. */
  readonly length: number
  /** Null if the stream was never rewritten. */
  readonly cleaned: Cleaned | null
  /** The stored text of the field `sealed`: an append counts only if the field is still the same. */
  readonly sealed: string
  readonly damage: Opened['damage']
}

/** The field `sealed`. Every append changes it and must know its last value. */
export interface Sealed {
  readonly end: number
  /** The high watermark that the leader stored last. */
  readonly visible: number
  readonly length: number
}

/** The fields that decodeMeta expects, in order. */
export const META = ['epoch', 'epochs', 'start', 'sealed', 'sizes', 'cleaned'] as const

/** Returns the text of the field. `last` is the id of the newest entry. */
export function encodeSealed({ end, visible, length }: Sealed, last: string): string {
  return `${end} ${visible} ${length} ${last}`
}

/** Decodes the field. Throws StoreUnavailable if another program wrote it. */
export function decodeSealed(text: string): Sealed {
  const found = /^(\d+) (\d+) (\d+) /.exec(text)
  if (found === null)
    throw new StoreUnavailable(`the field sealed is ${JSON.stringify(text)}, which this version does not read`)
  return { end: Number(found[1]), visible: Number(found[2]), length: Number(found[3]) }
}

/** Returns null if the stream does not exist. */
export function decodeMeta(reply: Reply): Known | null {
  const [epoch, epochs, start, packed, sizes, cleaned] = (reply as readonly (Buffer | null)[]).map(field =>
    field?.toString(),
  )
  if (epoch === undefined) return null
  const sealed = String(packed)
  const { end, visible, length } = decodeSealed(sealed)
  return {
    epoch: Number(epoch),
    epochs: decodeEpochs(String(epochs)),
    voids: decodeVoids(String(epochs)),
    start: Number(start),
    end,
    highWatermark: visible,
    sizes: decodeSizes(String(sizes)),
    length,
    cleaned: decodeCleaned(cleaned),
    sealed,
    damage: null,
  }
}
