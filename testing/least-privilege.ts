// A system with the least rights for a process: its user is 65534, has no capability, and may write one folder. The
// mounts belong to it and go with it. Only root can make them; elsewhere a test says so and skips.

import { spawnSync } from 'node:child_process'
import { chmod, chown, mkdtemp, rm, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CleanUp } from './broker.ts'

export const NOBODY = 65_534

const root = fileURLToPath(new URL('..', import.meta.url))

/** The mask of modes is open, so that what is closed nevertheless was closed by the process. */
const SCRIPT = `
set -e
repository=$1 seen=$2 folder=$3
shift 3
mount --rbind "$repository" "$seen"
mount --bind "$folder" "$folder"
for place in $(cut -d ' ' -f 5 /proc/self/mountinfo); do
  [ "$place" = "$folder" ] || mount -o remount,bind,ro "$place"
done
cd "$seen"
umask 000
exec setpriv --reuid ${NOBODY} --regid ${NOBODY} --clear-groups --no-new-privs --bounding-set -all -- "$@"
`

export interface LeastPrivilege {
  /** The folder that may be written; empty, and removed with the test. */
  readonly folder: string
  /** The command that runs this one so; its process has the same id. */
  within(command: readonly string[]): readonly string[]
}

/** Why no such system can be had here; null when one can. */
export function leastPrivilegeAbsence(): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return 'SKIPPED read-only system: only root on Linux can make one'
  const probe = spawnSync('unshare', ['-m', 'mount', '-o', 'remount,bind,ro', '/'], { encoding: 'utf8' })
  return probe.status === 0 ? null : `SKIPPED read-only system: nothing can be remounted here (${probe.stderr?.trim()})`
}

export async function leastPrivilege(cleanUp: CleanUp): Promise<LeastPrivilege> {
  const folder = await mkdtemp(join(tmpdir(), 'ketch-'))
  // The repository may lie where only root comes, so it is seen from here.
  const seen = await mkdtemp(join(tmpdir(), 'ketch-'))
  cleanUp.after(async () => {
    await rm(folder, { recursive: true, force: true })
    await rmdir(seen)
  })
  await chown(folder, NOBODY, NOBODY)
  await chmod(seen, 0o755)
  return {
    folder,
    within(command) {
      const moved = command.map(part => (part.startsWith(root) ? join(seen, part.slice(root.length)) : part))
      return ['unshare', '-m', 'sh', '-c', SCRIPT, 'sh', root, seen, folder, ...moved]
    },
  }
}
