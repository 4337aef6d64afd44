// Joins small manifests. Each commit adds one, and a reader that plans a query reads all of them.

import { aFewAtATime } from '../../base/a-few.ts'
import type { Clock } from '../../base/clock.ts'
import { loadManifest, type ManifestFile } from './manifest-lists.ts'
import type { ManifestWriter } from './manifest-writer.ts'
import { type ManifestEntry, STATUS } from './manifests.ts'
import type { Table } from './table.ts'

/** A manifest of this size, in bytes, has thousands of files and is not joined again. */
const MERGED_BYTES = 1024 * 1024

/** Says whether the manifest may be joined with others of the spec. */
export function isMergeable({ content, specId, length }: ManifestFile, ofSpecId: number): boolean {
  return content === 0 && specId === ofSpecId && length < MERGED_BYTES
}

/**
 * Resolves with the manifests, in which small ones of the writer's spec are joined up to about 1 MB each. Files keep
 * their snapshot and sequence numbers.
 */
export async function mergeManifests(
  clock: Clock,
  table: Table,
  manifests: readonly ManifestFile[],
  writer: ManifestWriter,
): Promise<readonly ManifestFile[]> {
  const small = manifests.filter(each => isMergeable(each, writer.specId)).sort((a, b) => a.length - b.length)
  const merged: ManifestFile[] = manifests.filter(each => !small.includes(each))
  for (const bin of binsOf(small)) {
    if (bin.length === 1) {
      merged.push(bin[0]!)
      continue
    }
    const contents = await aFewAtATime(clock, bin, manifest => loadManifest(table.objects, manifest))
    const live = contents.flatMap(({ entries }) => entries).filter(({ status }) => status !== STATUS.deleted)
    merged.push(await writer.write(live.map((entry): ManifestEntry => ({ ...entry, status: STATUS.existing }))))
  }
  return merged
}

/** Returns lists of manifests whose lengths together are at most MERGED_BYTES. */
function binsOf(manifests: readonly ManifestFile[]): readonly (readonly ManifestFile[])[] {
  const bins: ManifestFile[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const manifest of manifests) {
    if (bytes + manifest.length > MERGED_BYTES) {
      bins.push([])
      bytes = 0
    }
    bins.at(-1)!.push(manifest)
    bytes += manifest.length
  }
  return bins
}
