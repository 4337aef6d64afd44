// A disk that is small enough to fill: a tmpfs of its own, which answers ENOSPC as a full volume does. Only root can mount
// one; elsewhere a test says so and skips.

import { spawnSync } from 'node:child_process'
import { mkdtemp, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CleanUp } from './broker.ts'

/** Why no small disk can be had here; null when one can. */
export function smallDiskAbsence(): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return 'SKIPPED full disk: only root on Linux can mount one'
  const probe = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], { encoding: 'utf8' })
  return probe.status === 0 ? null : `SKIPPED full disk: no tmpfs can be mounted here (${probe.stderr?.trim()})`
}

/** Mounts a tmpfs of so many MiB and returns its folder; it goes with the test. */
export async function mountSmallDisk(cleanUp: CleanUp, sizeMiB: number): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'ketch-disk-'))
  const run = (command: string, ...args: readonly string[]) => {
    const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' })
    if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`)
  }
  run('mount', '-t', 'tmpfs', '-o', `size=${sizeMiB}m`, 'ketch', path)
  cleanUp.after(async () => {
    run('umount', path)
    await rmdir(path)
  })
  return path
}
