// Runs a process with the least rights: as user 65534, without capabilities, with one writable folder. The process
// has its own mounts, which end with it. Only root can create them; without root a test is skipped and says why.

import { spawnSync } from 'node:child_process'
import { chmod, chown, mkdtemp, rm, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CleanUp } from './broker.ts'

export const NOBODY = 65_534

const root = fileURLToPath(new URL('..', import.meta.url))

/** The umask is open. So if a file has restricted modes, the process itself restricted them. */
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
  /** The only writable folder; empty, and removed with the test. */
  readonly folder: string
  /** Returns the command that runs this command with the least rights. The process id stays the same. */
  within(command: readonly string[]): readonly string[]
}

/** Returns why such a system is impossible here; null if it is possible. */
export function leastPrivilegeAbsence(): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return 'SKIPPED read-only system: only root on Linux can make one'
  const probe = spawnSync('unshare', ['-m', 'mount', '-o', 'remount,bind,ro', '/'], { encoding: 'utf8' })
  return probe.status === 0 ? null : `SKIPPED read-only system: nothing can be remounted here (${probe.stderr?.trim()})`
}

export async function leastPrivilege(cleanUp: CleanUp): Promise<LeastPrivilege> {
  const folder = await mkdtemp(join(tmpdir(), 'ketch-'))
  // The user may have no access to the repository's path, so the repository is mounted here.
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
