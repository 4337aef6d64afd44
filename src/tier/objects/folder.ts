// Objects as files of a folder, on a local disk or on NFS. A key is the path of its file below the folder, so SQL
// engines find the files. Several processes may use one folder at once. Symbolic links below the folder are refused:
// a link that somebody else places must not lead a read or a write out of it.

import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, realpath, rmdir, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { checkMemory, checkRange } from './byte-range.ts'
import { codeOf, folderError, isAbsence } from './folder-errors.ts'
import { sweepLeftOvers, walkObjects } from './folder-walk.ts'
import { type ByteRange, checkKey, type ObjectFacts, ObjectStoreError, type Objects } from './objects.ts'
import { type StagedFile, stageFile } from './staged-file.ts'

export interface FolderDeps {
  readonly clock: Clock
  readonly random: Random
  /** Takes a sentence for the log. */
  readonly warn: (text: string) => void
}

/** A `delete` may remove the folder of a new file this many times between its creation and its use. */
const FOLDER_ATTEMPTS = 10
/** The number of folders of which an instance remembers that they are durable. */
const REMEMBERED_FOLDERS = 1_000

/** Without O_NONBLOCK the opening of a named pipe would wait for its other end. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/**
 * Opens the folder, and creates it if it does not exist. If that fails, each call tells the reason. Left-over files of
 * writes are removed meanwhile.
 */
export async function openFolder(path: string, deps: FolderDeps): Promise<Objects> {
  try {
    const first = await makeFolders(path)
    // The names of new folders must be as durable as the objects in them.
    if (first !== null)
      for (let made = path; made !== dirname(first); made = dirname(made)) await syncFolder(dirname(made))
  } catch (error) {
    // A disk that is away must not end the start. A folder that is missing rejects each call.
    const why = codeOf(error) === 'EEXIST' ? 'a file has this name' : (error as Error).message
    deps.warn(`cannot create the folder ${path}: ${why}`)
  }
  return folderObjects(path, deps)
}

function folderObjects(folder: string, { clock, random, warn }: FolderDeps): Objects {
  let isClosed = false
  const sweep = sweepLeftOvers(folder, clock.now(), () => isClosed).catch((error: Error) =>
    warn(`left-over files stay in ${folder} until the next start: ${error.message}`),
  )
  /** The identity of each folder whose name is known to be on the disk, by path. */
  const durable = new Map<string, string>()

  /**
   * Resolves with the path of the folder itself. A folder that is not there would look like an empty one, and a table
   * in it as if it had never been; so its absence is an error. The slash asks for a folder: a file has none below it.
   */
  async function rootPath(): Promise<string> {
    try {
      return await realpath(`${folder}/`)
    } catch (error) {
      if (!isAbsence(error)) throw folderError(`open ${folder}`, error)
      const why = codeOf(error) === 'ENOTDIR' ? ': it is a file, or a part of its path is one' : ''
      throw new ObjectStoreError('away', `cannot open ${folder}: the folder does not exist${why}`, error)
    }
  }

  const refuseLink = (path: string) =>
    new ObjectStoreError('refused', `cannot use ${path}: symbolic links are not followed`)

  /** Resolves with the path of the file of a key; null if the folder of the file does not exist. */
  async function pathOf(key: string): Promise<string | null> {
    checkKey(key)
    const parent = join(await rootPath(), dirname(key))
    try {
      if ((await realpath(parent)) !== parent) throw refuseLink(parent)
      return join(parent, basename(key))
    } catch (error) {
      if (isAbsence(error)) return null
      throw folderError(`open ${parent}`, error)
    }
  }

  /** Creates the folders of a key. When it resolves, their names are on the disk. */
  async function makeFolder(root: string, relative: string): Promise<string> {
    if (relative === '.') return root
    const parent = await makeFolder(root, dirname(relative))
    const path = join(root, relative)
    try {
      await mkdir(path)
    } catch (error) {
      // ENOENT: a `delete` has removed the parent. The caller begins again.
      if (codeOf(error) === 'ENOENT') return path
      if (codeOf(error) !== 'EEXIST') throw folderError(`create the folder ${path}`, error)
    }
    const stats = await lookAt(path)
    if (stats === null) return path
    if (stats.isSymbolicLink()) throw refuseLink(path)
    if (!stats.isDirectory())
      throw new ObjectStoreError('refused', `cannot create the folder ${path}: a file has this name`)
    // Another process may have made it a moment ago, and power may fail before that process makes the name durable.
    const identity = `${stats.ino} ${stats.birthtimeMs}`
    if (durable.get(path) !== identity) {
      try {
        await syncFolder(parent)
      } catch (error) {
        // A `delete` has removed both folders meanwhile.
        if (isAbsence((error as Error).cause)) return path
        throw error
      }
      if (durable.size >= REMEMBERED_FOLDERS) durable.clear()
      durable.set(path, identity)
    }
    return path
  }

  async function stage(key: string, parts: AsyncIterable<Uint8Array> | Uint8Array): Promise<[StagedFile, string]> {
    checkKey(key)
    for (let attempt = 1; attempt <= FOLDER_ATTEMPTS; attempt++) {
      const parent = await makeFolder(await rootPath(), dirname(key))
      const staged = await stageFile(parent, parts, { random, warn })
      if (staged !== null) return [staged, join(parent, basename(key))]
    }
    throw new ObjectStoreError('away', `cannot write ${join(folder, key)}: its folder is removed again and again`)
  }

  async function put(key: string, parts: AsyncIterable<Uint8Array> | Uint8Array): Promise<{ readonly size: number }> {
    const [staged, target] = await stage(key, parts)
    try {
      await staged.renameTo(target)
    } finally {
      await staged.dispose()
    }
    await syncFolder(dirname(target))
    return { size: staged.size }
  }

  return {
    uri: `file://${folder}`,

    async read(key, range) {
      checkRange(range)
      const path = await pathOf(key)
      if (path === null) return null
      let file: FileHandle
      try {
        file = await open(path, READ)
      } catch (error) {
        if (isAbsence(error)) return null
        throw codeOf(error) === 'ELOOP' ? refuseLink(path) : folderError(`read ${path}`, error)
      }
      try {
        const stats = await file.stat()
        if (stats.isDirectory()) return null
        if (!stats.isFile()) throw new ObjectStoreError('refused', `cannot read ${path}: it is not a file`)
        return await readRange(file, path, stats.size, range)
      } catch (error) {
        throw folderError(`read ${path}`, error)
      } finally {
        await file.close()
      }
    },

    async stat(key): Promise<ObjectFacts | null> {
      const path = await pathOf(key)
      const stats = path === null ? null : await lookAt(path)
      if (stats?.isSymbolicLink()) throw refuseLink(path!)
      return stats?.isFile() ? { size: stats.size, changedAtMs: Math.floor(stats.mtimeMs) } : null
    },

    write: put,

    async replace(key, bytes) {
      await put(key, bytes)
    },

    async create(key, bytes) {
      const [staged, target] = await stage(key, bytes)
      try {
        if (!(await staged.linkTo(target))) return 'exists'
        try {
          await syncFolder(dirname(target))
        } catch (error) {
          throw new ObjectStoreError(
            'unknown',
            `${target} was created but may not be durable: ${(error as Error).message}`,
            error,
          )
        }
        return 'created'
      } finally {
        await staged.dispose()
      }
    },

    async *list(prefix) {
      yield* walkObjects(await rootPath(), prefix)
    },

    async delete(keys) {
      const parents = new Set<string>()
      for (const key of keys) {
        const path = await pathOf(key)
        if (path === null) continue
        try {
          await unlink(path)
        } catch (error) {
          // A folder is no object.
          if (!isAbsence(error) && codeOf(error) !== 'EISDIR') throw folderError(`delete ${path}`, error)
        }
        parents.add(dirname(path))
      }
      const root = await rootPath()
      for (const parent of parents) await removeEmptyFolders(parent, root)
    },

    async close() {
      isClosed = true
      await sweep
    },
  }
}

/**
 * Creates a folder and those above it. Resolves with the uppermost new one; null if no folder is new. Node's recursive
 * mkdir never ends in a file system that creates no folder and calls it missing, such as /proc.
 */
async function makeFolders(path: string): Promise<string | null> {
  let first: string | null = null
  try {
    await mkdir(path)
    return path
  } catch (error) {
    if (codeOf(error) === 'EEXIST' && (await stat(path)).isDirectory()) return null
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error
    first = await makeFolders(dirname(path))
  }
  try {
    await mkdir(path)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  }
  return first ?? path
}

async function lookAt(path: string) {
  try {
    return await lstat(path)
  } catch (error) {
    if (isAbsence(error)) return null
    throw folderError(`look at ${path}`, error)
  }
}

async function readRange(file: FileHandle, path: string, size: number, range: ByteRange | undefined) {
  const start = Math.min(range?.start ?? 0, size)
  const end = Math.min(range?.end ?? size, size)
  checkMemory(path, end - start, range)
  // Memory of its own: a slice of Node's pool could not be transferred. It is filled, so nothing has to clear it.
  const bytes = new Uint8Array(Buffer.allocUnsafeSlow(end - start).buffer)
  for (let done = 0; done < bytes.length; ) {
    const { bytesRead } = await file.read(bytes, done, bytes.length - done, start + done)
    // An object never becomes shorter, so another program has cut the file.
    if (bytesRead === 0) return bytes.slice(0, done)
    done += bytesRead
  }
  return bytes
}

/** Makes names that were added to a folder durable. */
async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY)
    try {
      await folder.sync()
    } finally {
      await folder.close()
    }
  } catch (error) {
    throw folderError(`write the folder ${path}`, error)
  }
}

/** Partitions and days come and go; a store of objects has no empty folders either. */
async function removeEmptyFolders(path: string, root: string): Promise<void> {
  for (let folder = path; folder !== root; folder = dirname(folder)) {
    try {
      await rmdir(folder)
    } catch (error) {
      if (isAbsence(error)) continue
      if (['ENOTEMPTY', 'EEXIST', 'EBUSY'].includes(codeOf(error) ?? '')) return
      throw folderError(`remove the empty folder ${folder}`, error)
    }
  }
}
