// The meta hash of a stream, as functions.lua keeps it, to and from what is known of the stream.

import { type EpochStart, type Opened, StoreUnavailable } from '../store.ts'
import type { Reply } from './client/links.ts'
import { decodeSizes, type Sizes } from './sizes.ts'
import { decodeVoids, type Void } from './voids.ts'

/** A stream as its last answer described it. */
export interface Known {
  readonly epoch: number
  readonly epochs: readonly EpochStart[]
  readonly voids: readonly Void[]
  readonly start: number
  readonly end: number
  readonly highWatermark: number
  readonly sizes: Sizes
  readonly length: number
  /** The field `sealed` as it stands there: an append counts only if it finds it unchanged. */
  readonly sealed: string
  readonly damage: Opened['damage']
}

/** The field `sealed`: what every append changes and must know. */
export interface Sealed {
  readonly end: number
  /** The high watermark as the leader last stored it. */
  readonly visible: number
  readonly length: number
}

/** The fields that decodeMeta takes, in order. */
export const META = ['epoch', 'epochs', 'start', 'sealed', 'sizes'] as const

/** `last` is the id of the newest entry. */
export function encodeSealed({ end, visible, length }: Sealed, last: string): string {
  return `${end} ${visible} ${length} ${last}`
}

/** Throws StoreUnavailable if another program wrote it. */
export function decodeSealed(text: string): Sealed {
  const found = /^(\d+) (\d+) (\d+) /.exec(text)
  if (found === null)
    throw new StoreUnavailable(`the field sealed is ${JSON.stringify(text)}, which this version does not read`)
  return { end: Number(found[1]), visible: Number(found[2]), length: Number(found[3]) }
}

export function decodeEpochs(text: string): readonly EpochStart[] {
  return [...text.matchAll(/(\d+):(\d+)/g)].map(([, epoch, start]) => ({
    epoch: Number(epoch),
    startOffset: Number(start),
  }))
}

/** Null if the stream does not exist. */
export function decodeMeta(reply: Reply): Known | null {
  const [epoch, epochs, start, packed, sizes] = (reply as readonly (Buffer | null)[]).map(field => field?.toString())
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
    sealed,
    damage: null,
  }
}
