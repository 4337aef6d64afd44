// Finds the files that snapshots need. All deletion goes by these sets: a file is removed because no snapshot reaches
// it, and never because of its name or age alone.

import { aFewAtATime } from '../../base/a-few.ts'
import type { Clock } from '../../base/clock.ts'
import type { Objects } from '../objects/objects.ts'
import { loadManifest, loadManifestList, type ManifestFile } from './manifest-lists.ts'
import { STATUS } from './manifests.ts'
import type { Snapshot, TableMetadata } from './metadata.ts'
import { keyOf } from './table-files.ts'

/** Files as the metadata names them. */
export interface Listed {
  readonly lists: ReadonlySet<string>
  /** By path. */
  readonly manifests: ReadonlyMap<string, ManifestFile>
}

/**
 * Reads the manifest lists of the snapshots. Rejects if any of them cannot be read: a gap would look like an orphan.
 */
export async function manifestsOfAll(clock: Clock, objects: Objects, snapshots: readonly Snapshot[]): Promise<Listed> {
  const lists = new Set(snapshots.map(snapshot => snapshot['manifest-list']))
  const read = await aFewAtATime(clock, [...lists], list => loadManifestList(objects, list))
  return { lists, manifests: new Map(read.flat().map(manifest => [manifest.path, manifest])) }
}

/** Returns the paths of the data and delete files that the manifests have in their snapshots. Rejects as above. */
export async function liveFilesOf(
  clock: Clock,
  objects: Objects,
  manifests: readonly ManifestFile[],
): Promise<ReadonlySet<string>> {
  const files = new Set<string>()
  await aFewAtATime(clock, manifests, async manifest => {
    const { entries } = await loadManifest(objects, manifest)
    for (const { status, file } of entries) if (status !== STATUS.deleted) files.add(file.path)
  })
  return files
}

/** Returns the paths of statistics files, which belong to snapshots but stand in the table's metadata. */
export function statisticsFiles(metadata: TableMetadata, isOf: (snapshot: unknown) => boolean): readonly string[] {
  return ['statistics', 'partition-statistics'].flatMap(member => {
    const files = metadata[member]
    if (!Array.isArray(files)) return []
    return files.filter(file => isOf(file['snapshot-id'])).map(file => String(file['statistics-path']))
  })
}

/**
 * Returns the keys of those paths that are in the folder of the table. Files elsewhere belong to others, even if a
 * snapshot names them.
 */
export function keysInTable(objects: Objects, location: string, paths: Iterable<string>): readonly string[] {
  return [...paths].flatMap(path => keyOf(objects, path) ?? []).filter(key => key.startsWith(`${location}/`))
}

/** Says whether files of the table may be deleted: `gc.enabled=false` means that other tables share them. */
export const mayCollect = ({ properties }: TableMetadata) => properties['gc.enabled']?.toLowerCase() !== 'false'

/** Deletes objects, a page of S3 at a time. */
export async function deleteAll(objects: Objects, keys: readonly string[]): Promise<void> {
  for (let from = 0; from < keys.length; from += 1000) await objects.delete(keys.slice(from, from + 1000))
}
