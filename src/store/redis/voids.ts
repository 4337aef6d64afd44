// The field `epochs` of the meta hash: which epoch owns which offsets, and the voids between them.
// Voids: ranges of ids in which entries may exist but do not count. A void lies between the newest entry before an
// epoch and that epoch. A Redis that was killed inside a transaction can bring such entries back
// (docs/decisions/0037). `open` deletes them; until then readers skip them.

import type { EpochStart } from '../store.ts'

export interface Void {
  /** The epoch and the sequence of the newest entry before the void that counts. */
  readonly afterEpoch: number
  readonly afterSequence: number
  /** The epoch that begins after the void. */
  readonly before: number
}

/** Decodes the epochs from the field `epochs` of the meta hash. */
export function decodeEpochs(text: string): readonly EpochStart[] {
  return [...text.matchAll(/(\d+):(\d+)/g)].map(([, epoch, start]) => ({
    epoch: Number(epoch),
    startOffset: Number(start),
  }))
}

/** Decodes the voids from the field `epochs` of the meta hash. */
export function decodeVoids(text: string): readonly Void[] {
  const voids: Void[] = []
  // Usually there is only one epoch, and so no void.
  if (!text.includes(' ')) return voids
  let former: string | null = null
  for (const [, epoch, start, lastEpoch, lastSequence] of text.matchAll(/(\d+):(\d+)(?::(\d+)-(\d+))?/g)) {
    // An earlier version wrote no id. Then an entry of the former epoch counts if its offset is below the start of
    // the next epoch.
    const afterEpoch = lastEpoch ?? former
    if (former !== null)
      voids.push({
        afterEpoch: Number(afterEpoch),
        afterSequence: Number(lastSequence ?? start),
        before: Number(epoch),
      })
    former = epoch!
  }
  return voids
}

/** Returns true if an entry with this id lies in a void. */
export function isVoid(voids: readonly Void[], epoch: number, sequence: number): boolean {
  // Most reads request entries of the newest epoch.
  const newest = voids.at(-1)
  if (newest === undefined || epoch >= newest.before) return false
  const { afterEpoch, afterSequence } = voids.find(({ before }) => before > epoch)!
  return epoch > afterEpoch || (epoch === afterEpoch && sequence > afterSequence)
}
