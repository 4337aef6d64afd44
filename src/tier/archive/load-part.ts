// Loads a part of a data file into the cache: fetches it, restores it in a thread, and compares it with the bounds by
// which readers find it.

import type { DecoderThreads } from '../columns/decoder-thread.ts'
import { DamagedFile } from '../columns/page-cursors.ts'
import type { GroupPart } from '../columns/read.ts'
import type { RestoredBatch } from '../columns/restore.ts'
import { naming } from './open-files.ts'
import type { Part } from './part.ts'
import type { Load, PartCache } from './part-cache.ts'
import type { PartAt } from './spots.ts'

/**
 * Loads a part for a reader, who must release it. Rejects with FileTrouble, ThreadEnded, Closed or an
 * ObjectStoreError.
 */
export function loadPart(cache: PartCache, decoders: DecoderThreads, part: PartAt): Promise<Part> {
  return cache.load(part.key, loadOf(decoders, part))
}

/** Does the same before a reader comes. */
export function loadPartAhead(cache: PartCache, decoders: DecoderThreads, part: PartAt): Promise<void> {
  return cache.loadAhead(part.key, loadOf(decoders, part))
}

function loadOf(decoders: DecoderThreads, { open, part }: PartAt): Load {
  const work = () =>
    naming(open.path, async () => {
      const batches = await decoders.restore(await part.fetch())
      if (open.file.isOurs) checkBounds(part, batches)
      return batches
    })
  return { bytes: part.bytes, work }
}

/** Neither the footer nor the page index has a checksum. Wrong bounds would hide batches from readers. */
function checkBounds({ firstOffset, lastOffset }: GroupPart, batches: readonly RestoredBatch[]): void {
  const [first, last] = [batches[0], batches.at(-1)]
  const has = (batch: RestoredBatch | undefined, offset: number) =>
    batch !== undefined && batch.baseOffset <= offset && offset <= batch.lastOffset
  if (has(first, firstOffset) && has(last, lastOffset)) return
  throw new DamagedFile(
    `a part should have the offsets ${firstOffset} to ${lastOffset} and has ${first?.baseOffset} to ${last?.lastOffset}`,
  )
}
