// Gives a test a network in which every port of localhost is free, and an empty /var/lib. Commands run in it exactly
// as a page prints them. It works only on Linux and needs no root.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { CleanUp } from './broker.ts'
import { endWithUs } from './end-with-us.ts'

/** Starts the network, hides /var/lib, prints `up`, and keeps both until its input ends. */
const KEEPER = 'ip link set lo up && mount -t tmpfs none /var/lib && echo up && exec cat'
const isRoot = process.getuid?.() === 0
/** Root needs no user namespace. Some machines do not allow one. */
const OWN = [...(isRoot ? [] : ['--user', '--map-root-user']), '--net', '--mount']

export interface OwnMachine {
  /** Starts a shell line in the folder, in a process group of its own. */
  run(line: string, options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv }): ChildProcess
}

/** Returns why this machine cannot create one; null if it can. */
export function ownMachineAbsence(): string | null {
  const probe = spawnSync('unshare', [...OWN, 'sh', '-c', KEEPER], { encoding: 'utf8', input: '' })
  if (probe.status === 0) return null
  return `SKIPPED own network: unshare and ip cannot create one here (${probe.error?.message ?? probe.stderr.trim()})`
}

/** Creates the machine with unshare. It ends with the test. */
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
