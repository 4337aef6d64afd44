// Walks through the files of a folder in the order of keys, and removes files that writes have left behind. Follows no
// symbolic link.

import type { Dirent } from 'node:fs'
import { lstat, readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { objectionToKey, RESERVED } from '../../base/object-key.ts'
import { folderError, isAbsence } from './folder-errors.ts'
import { compareKeys, type ListedObject } from './objects.ts'

/** A write takes less time than this, so a staged file that nothing changed for longer is a left-over. */
const LEFT_OVER_MS = 24 * 3600_000

/** Yields the objects whose keys begin with the prefix. `root` has no symbolic link in its path. */
export async function* walkObjects(root: string, prefix: string): AsyncGenerator<ListedObject> {
  for await (const { key, path } of walk(root, '', prefix)) {
    if (!key.startsWith(prefix) || objectionToKey(key) !== null) continue
    const facts = await factsOf(path)
    if (facts !== null) yield { key, ...facts }
  }
}

/** Removes the staged files that are older than a day. Stops early after `isClosed` has returned true. */
export async function sweepLeftOvers(root: string, nowMs: number, isClosed: () => boolean): Promise<void> {
  for await (const { name, path } of walk(root, '', '')) {
    if (isClosed()) return
    if (!name.startsWith(RESERVED)) continue
    const facts = await factsOf(path)
    if (facts === null || nowMs - facts.changedAtMs <= LEFT_OVER_MS) continue
    try {
      await unlink(path)
    } catch (error) {
      if (!isAbsence(error)) throw folderError(`remove ${path}`, error)
    }
  }
}

interface WalkedFile {
  readonly key: string
  readonly name: string
  readonly path: string
}

/** `folderKey` is '' or ends with '/'. */
async function* walk(path: string, folderKey: string, prefix: string): AsyncGenerator<WalkedFile> {
  const entries = (await entriesOf(path))
    .filter(entry => entry.isFile() || entry.isDirectory())
    // A folder stands where the keys of its files stand: 'a-' < 'a/b' < 'a0'.
    .map(entry => ({ entry, key: folderKey + entry.name + (entry.isDirectory() ? '/' : '') }))
    .sort((a, b) => compareKeys(a.key, b.key))
  for (const { entry, key } of entries) {
    if (!key.startsWith(prefix) && !prefix.startsWith(key)) continue
    if (entry.isDirectory()) yield* walk(join(path, entry.name), key, prefix)
    else yield { key, name: entry.name, path: join(path, entry.name) }
  }
}

/** Returns no entries if the folder was removed meanwhile. */
async function entriesOf(path: string): Promise<Dirent[]> {
  try {
    return await readdir(path, { withFileTypes: true })
  } catch (error) {
    if (isAbsence(error)) return []
    throw folderError(`list ${path}`, error)
  }
}

async function factsOf(path: string) {
  try {
    const { size, mtimeMs } = await lstat(path)
    return { size, changedAtMs: Math.floor(mtimeMs) }
  } catch (error) {
    if (isAbsence(error)) return null
    throw folderError(`look at ${path}`, error)
  }
}
