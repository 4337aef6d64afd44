// A machine of a test's own, as far as ports and a folder go: a network in which every port of localhost is free, and
// an empty /var/lib. Commands run in it exactly as a page prints them. Linux only; it needs no root.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { CleanUp } from './broker.ts'
import { endWithUs } from './end-with-us.ts'

/** Brings the network up, hides /var/lib, says so, and keeps both until its input ends. */
const KEEPER = 'ip link set lo up && mount -t tmpfs none /var/lib && echo up && exec cat'
const isRoot = process.getuid?.() === 0
/** Root needs no user namespace, which some machines do not allow. */
const OWN = [...(isRoot ? [] : ['--user', '--map-root-user']), '--net', '--mount']

export interface OwnMachine {
  /** Starts a line of shell in the folder, in a process group of its own. */
  run(line: string, options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv }): ChildProcess
}

/** The reason why this machine cannot lend such a one; null if it can. */
export function ownMachineAbsence(): string | null {
  const probe = spawnSync('unshare', [...OWN, 'sh', '-c', KEEPER], { encoding: 'utf8', input: '' })
  if (probe.status === 0) return null
  return `SKIPPED own network: unshare and ip make none here (${probe.error?.message ?? probe.stderr.trim()})`
}

/** Made by unshare, and gone with the test. */
export async function ownMachine(cleanUp: CleanUp): Promise<OwnMachine> {
  const keeper = spawn('unshare', [...OWN, 'sh', '-c', KEEPER], { stdio: ['pipe', 'pipe', 'inherit'] })
  endWithUs(keeper)
  cleanUp.after(async () => {
    keeper.stdin.end()
    if (keeper.exitCode === null) await once(keeper, 'close')
  })
  await once(keeper.stdout, 'data')
  return {
    run(line, { cwd, env }) {
      const user = isRoot ? [] : ['--user', '--preserve-credentials']
      const enter = ['-t', String(keeper.pid), ...user, '--net', '--mount']
      const child = spawn('nsenter', [...enter, 'bash', '-c', 'cd "$1" && eval "$2"', 'bash', cwd, line], {
        env,
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      endWithUs(child, { isGroup: true })
      return child
    },
  }
}
