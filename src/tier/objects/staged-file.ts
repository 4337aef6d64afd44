// A file that is being written under a name of its own beside its final name. Until it is moved to its final name,
// only the sweep of the folder sees it.
//
//   .ketch-<uuid>  open, write, fsync ──link──> key (create: fails if the key exists)
//                                     └rename─> key (write, replace)

import { type FileHandle, link, open, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { RESERVED } from '../../base/object-key.ts'
import { type Random, randomUuid } from '../../base/random.ts'
import { codeOf, folderError } from './folder-errors.ts'
import { ObjectStoreError } from './objects.ts'

export interface StagedFile {
  readonly size: number
  /** Gives the file its final name if no file has it. Resolves with false if one has. */
  linkTo(target: string): Promise<boolean>
  renameTo(target: string): Promise<void>
  /** Closes it, and removes the name that it has beside its final one. Warns of a failure, since a sweep repairs it. */
  dispose(): Promise<void>
}

/** These errors of link(2) say that it changed nothing. */
const CHANGED_NOTHING = ['EACCES', 'EDQUOT', 'EMLINK', 'ENAMETOOLONG', 'ENOSPC', 'ENOTDIR', 'EROFS', 'EXDEV']
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

/** Resolves with null if the folder does not exist. When it resolves with a file, the bytes are on the disk. */
export async function stageFile(
  folder: string,
  parts: AsyncIterable<Uint8Array> | Uint8Array,
  { random, warn }: { readonly random: Random; readonly warn: (text: string) => void },
): Promise<StagedFile | null> {
  const path = join(folder, `${RESERVED}${randomUuid(random)}`)
  let file: FileHandle
  try {
    file = await open(path, 'wx')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw folderError(`create a file in ${folder}`, error)
  }
  const staged = stagedFile(path, file, warn)
  try {
    if (parts instanceof Uint8Array) await staged.write(parts)
    else for await (const part of parts) await staged.write(part)
    await staged.sync()
    return staged
  } catch (error) {
    await staged.dispose()
    throw error
  }
}

function stagedFile(path: string, file: FileHandle, warn: (text: string) => void) {
  let size = 0
  let hasName = true
  const attempt = async <T>(what: string, call: () => Promise<T>): Promise<T> => {
    try {
      return await call()
    } catch (error) {
      throw folderError(what, error)
    }
  }
  return {
    get size() {
      return size
    },
    async write(bytes: Uint8Array): Promise<void> {
      for (let done = 0; done < bytes.length; ) {
        const written = await attempt(`write ${path}`, () => file.write(bytes, done, bytes.length - done, size))
        done += written.bytesWritten
        size += written.bytesWritten
      }
    },
    sync: () => attempt(`write ${path}`, () => file.sync()),
    async linkTo(target: string): Promise<boolean> {
      try {
        await link(path, target)
        return true
      } catch (error) {
        const code = codeOf(error) ?? ''
        if (NO_LINKS.includes(code))
          throw new ObjectStoreError(
            'refused',
            `cannot create ${target}: the file system has no hard links (${code}), without which two creates could both succeed`,
            error,
          )
        if (CHANGED_NOTHING.includes(code)) throw folderError(`create ${target}`, error)
        // Over NFS the answer of a link that succeeded may be lost, and its repetition fails: see open(2) on O_EXCL.
        const { nlink } = await attempt(`create ${target}`, () => file.stat())
        if (nlink > 1) return true
        if (code === 'EEXIST') return false
        throw new ObjectStoreError(
          'unknown',
          `${target} may have been created or not: ${(error as Error).message}`,
          error,
        )
      }
    },
    renameTo: (target: string) =>
      attempt(`write ${target}`, async () => {
        await rename(path, target)
        hasName = false
      }),
    async dispose(): Promise<void> {
      try {
        await file.close()
        if (hasName) await unlink(path)
      } catch (error) {
        if (codeOf(error) !== 'ENOENT') warn(`cannot remove ${path}: ${(error as Error).message}`)
      }
    },
  }
}
