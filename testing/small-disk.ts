// Disks that are small enough to fill: a tmpfs, or an ext4 in a file of its own. They return ENOSPC as a full volume
// does. An ext4 can also lose its power: its copy has only the data that had reached the device. Only root can mount
// them; otherwise a test is skipped with a reason.

import { spawnSync } from 'node:child_process'
import {
  closeSync,
  copyFileSync,
  openSync,
  readlinkSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { mkdtemp, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { CleanUp } from './broker.ts'
import { temporaryFolder } from './temporary-folder.ts'

export type FileSystem = 'tmpfs' | 'ext4'

export interface SmallDisk {
  readonly path: string
  /** Returns the bytes that this process may still write. */
  usableBytes(): number
  /** Acts as another program that takes all free space. A second call takes the rest and keeps what the first took. */
  fill(): void
  /** Frees the space that `fill` took. */
  empty(): void
  /** Makes an ext4 report an error. From then on it is read-only, because of its option errors=remount-ro. */
  turnReadOnly(): void
  /**
   * Mounts a copy of the disk as a power loss at this moment would leave it, without data that the kernel has not
   * written yet.
   */
  afterPowerLoss(): Promise<string>
}

function run(command: string, ...args: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`)
}

/** Returns why a small disk of this kind cannot be mounted here; null if it can. */
export function smallDiskAbsence(fileSystem: FileSystem = 'tmpfs'): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return 'SKIPPED full disk: only root on Linux can mount one'
  const commands = {
    tmpfs: 'mount -t tmpfs tmpfs /mnt',
    ext4: 'd=$(mktemp) && truncate -s 8M $d && mkfs.ext4 -q -F $d && mount -o loop $d /mnt && umount /mnt && rm $d',
  }
  const probe = spawnSync('unshare', ['-m', 'sh', '-c', commands[fileSystem]], { encoding: 'utf8' })
  return probe.status === 0 ? null : `SKIPPED full disk: no ${fileSystem} can be mounted here (${probe.stderr?.trim()})`
}

/** Mounts a disk of this many MiB. It is removed with the test. */
export async function mountSmallDisk(
  cleanUp: CleanUp,
  sizeMiB: number,
  fileSystem: FileSystem = 'tmpfs',
): Promise<SmallDisk> {
  const mountedAt = async (...args: readonly string[]) => {
    const path = await mkdtemp(join(tmpdir(), 'ketch-disk-'))
    run('mount', ...args, path)
    cleanUp.after(async () => {
      // A lazy unmount, because a broker that ends a moment later still has open files there.
      run('umount', '--lazy', path)
      await rmdir(path)
    })
    return path
  }
  const images = await temporaryFolder(cleanUp, 'ketch-image-')
  const image = join(images, 'disk')
  if (fileSystem === 'ext4') {
    run('truncate', '-s', `${sizeMiB}M`, image)
    run('mkfs.ext4', '-q', '-F', '-m', '0', image)
  }
  const path = await (fileSystem === 'ext4'
    ? mountedAt('-o', 'loop,errors=remount-ro', image)
    : mountedAt('-t', 'tmpfs', '-o', `size=${sizeMiB}m`, 'ketch'))
  const ballast = join(path, 'ballast')
  return {
    path,
    usableBytes() {
      const { bavail, bsize } = statfsSync(path)
      return bavail * bsize
    },
    fill() {
      const file = openSync(ballast, 'a')
      try {
        for (let bytes = 1 << 20; bytes > 0; ) {
          try {
            if (writeSync(file, Buffer.alloc(bytes, 1)) < bytes) bytes >>= 1
          } catch (error) {
            if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
            bytes >>= 1
          }
        }
      } finally {
        closeSync(file)
      }
    },
    empty: () => rmSync(ballast, { force: true }),
    turnReadOnly() {
      if (fileSystem === 'tmpfs') throw new Error('a tmpfs cannot report an error')
      const { dev } = statSync(path)
      // Linux numbers small devices like this: the major number above eight bits of the minor number.
      const device = basename(readlinkSync(`/sys/dev/block/${dev >> 8}:${dev & 255}`))
      writeFileSync(`/sys/fs/ext4/${device}/trigger_fs_error`, '1')
    },
    afterPowerLoss() {
      if (fileSystem === 'tmpfs') throw new Error('a tmpfs is empty after a loss of power')
      const copy = `${image}-after`
      copyFileSync(image, copy)
      return mountedAt('-o', 'loop', copy)
    },
  }
}
