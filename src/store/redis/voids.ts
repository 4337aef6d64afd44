// Where entries do not count although they may be there: between the newest entry before an epoch and that epoch. A
// Redis that was killed inside a transaction can bring such entries back (docs/decisions/0037). `open` deletes them;
// until then readers pass over them.

export interface Void {
  /** The newest entry that counts before it. */
  readonly afterEpoch: number
  readonly afterSequence: number
  /** The epoch that begins behind it. */
  readonly before: number
}

/** Takes the field `epochs` of the meta hash. */
export function decodeVoids(text: string): readonly Void[] {
  const voids: Void[] = []
  // Mostly there is one epoch, and none.
  if (!text.includes(' ')) return voids
  let former: string | null = null
  for (const [, epoch, start, lastEpoch, lastSequence] of text.matchAll(/(\d+):(\d+)(?::(\d+)-(\d+))?/g)) {
    // An earlier version wrote no id: an entry of the former epoch counts below the offset where the next one begins.
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

/** Whether an entry with this id lies in one of them. */
export function isVoid(voids: readonly Void[], epoch: number, sequence: number): boolean {
  // Most reads are of the newest epoch.
  const newest = voids.at(-1)
  if (newest === undefined || epoch >= newest.before) return false
  const { afterEpoch, afterSequence } = voids.find(({ before }) => before > epoch)!
  return epoch > afterEpoch || (epoch === afterEpoch && sequence > afterSequence)
}
