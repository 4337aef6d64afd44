// Finds and creates tables. The newest `metadata/vN.metadata.json` is the table. version-hint.text only shortens the
// search: it may be missing, stale or garbage. A version is created once and never replaced, and versions have no gaps,
// because a commit creates the next one and old ones are removed from below (old-metadata.ts).

import { uuidText } from '../../base/random.ts'
import type { Objects } from '../objects/objects.ts'
import { loadManifestList, type ManifestFile } from './manifest-lists.ts'
import {
  BadMetadata,
  currentSnapshot,
  metadataBytes,
  type Properties,
  parseMetadata,
  type TableMetadata,
} from './metadata.ts'
import { newTableMetadata } from './new-table.ts'
import { type CommitDeps, putOnce } from './put-once.ts'
import { hintKey, metadataPrefix, uriOf, versionKey, versionOfKey } from './table-files.ts'

/** A table as it was when it was read. */
export interface Table {
  readonly objects: Objects
  /** The key of its folder. */
  readonly location: string
  readonly version: number
  readonly metadata: TableMetadata
  /** The manifests of the current snapshot, if they are known. */
  readonly manifests: readonly ManifestFile[] | null
}

/** Versions that are looked for one by one above the hint, before all are listed. */
const MOST_STEPS = 32

/** Resolves with the newest version of the table; null if there is no table. Rejects with BadMetadata. */
export async function loadTable(objects: Objects, location: string): Promise<Table | null> {
  const hint = await objects.read(hintKey(location))
  const hinted = hint === null ? null : /^\s*([1-9]\d{0,14})\s*$/.exec(Buffer.from(hint).toString('latin1'))
  if (hinted !== null) {
    const table = await loadVersion(objects, location, Number(hinted[1]))
    if (table !== null) return climb(table)
  }
  const listed = await newestListed(objects, location)
  if (listed === null) return null
  const table = await loadVersion(objects, location, listed)
  // The newest version is never removed, so a version that was listed and is gone belongs to a dropped table.
  return table === null ? null : climb(table)
}

/**
 * Resolves with the newest version of the table; with the same object if that is it. Rejects with TableGone if there is
 * no table any more.
 */
export async function refreshTable(table: Table): Promise<Table> {
  const { objects, location } = table
  const newest = await climb(table)
  if (newest !== table || (await isStillThere(table))) return newest
  const loaded = await loadTable(objects, location)
  if (loaded === null) throw new TableGone(table)
  return loaded
}

/**
 * Says whether the version of the table still exists. If it was removed as an old one, the next version may have been
 * removed too: it must be neither looked for nor created. Old versions go in ascending order, so a version that exists
 * has all of its successors.
 */
export async function isStillThere({ objects, location, version }: Table): Promise<boolean> {
  return (await objects.stat(versionKey(location, version))) !== null
}

/** Thrown if a table that was read has no metadata any more. */
export class TableGone extends Error {
  override readonly name = 'TableGone'

  constructor({ objects, location }: Table) {
    super(`the table ${uriOf(objects, location)} does not exist any more`)
  }
}

/** Looks for newer versions upwards. */
async function climb(table: Table): Promise<Table> {
  let newest = table
  for (let steps = 0; steps < MOST_STEPS; steps++) {
    const next = await loadVersion(table.objects, table.location, newest.version + 1)
    if (next === null) return newest
    newest = next
  }
  const listed = await newestListed(table.objects, table.location)
  if (listed === null || listed <= newest.version) return newest
  return climb((await loadVersion(table.objects, table.location, listed)) ?? newest)
}

async function newestListed(objects: Objects, location: string): Promise<number | null> {
  let newest: number | null = null
  for await (const { key } of objects.list(metadataPrefix(location))) {
    const version = versionOfKey(location, key)
    if (version !== null && version > (newest ?? 0)) newest = version
    if (/\/v\d+\.(gz\.metadata\.json|metadata\.json\.gz)$/.test(key))
      throw new BadMetadata(
        `${uriOf(objects, key)} is compressed metadata of another writer; ` +
          "expected write.metadata.compression-codec 'none', because two writers would each create the same version",
      )
  }
  return newest
}

async function loadVersion(objects: Objects, location: string, version: number): Promise<Table | null> {
  const key = versionKey(location, version)
  const bytes = await objects.read(key)
  return bytes === null ? null : tableOf(objects, location, version, bytes)
}

/** Returns the table that the bytes of a version describe. Throws BadMetadata. */
export function tableOf(objects: Objects, location: string, version: number, bytes: Uint8Array): Table {
  const metadata = parseMetadata(bytes, uriOf(objects, versionKey(location, version)))
  return { objects, location, version, metadata, manifests: null }
}

/** Resolves with the manifests of the current snapshot; empty for a table without a snapshot. */
export async function manifestsOf(table: Table): Promise<readonly ManifestFile[]> {
  if (table.manifests !== null) return table.manifests
  const snapshot = currentSnapshot(table.metadata)
  return snapshot === null ? [] : loadManifestList(table.objects, snapshot['manifest-list'])
}

/**
 * Resolves with the table at the location, which the call creates if it does not exist: one of several callers creates
 * it. Rejects with CommitUnknown if it cannot find out, and then a later call may.
 */
export async function createTable(
  objects: Objects,
  location: string,
  properties: Properties,
  deps: CommitDeps,
): Promise<Table> {
  const existing = await loadTable(objects, location)
  if (existing !== null) return existing
  const metadata = newTableMetadata({
    uuid: uuidText(deps.random),
    uri: uriOf(objects, location),
    nowMs: deps.clock.now(),
    properties,
  })
  const bytes = metadataBytes(metadata)
  const outcome = await putOnce(objects, versionKey(location, 1), bytes, () => {}, deps)
  if (outcome.kind === 'ours') return { objects, location, version: 1, metadata, manifests: [] }
  return climb(tableOf(objects, location, 1, outcome.found))
}
