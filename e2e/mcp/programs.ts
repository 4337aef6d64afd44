// Runs programs of foreign packages to their end.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { endWithUs } from '../../testing/end-with-us.ts'

export interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program with this Node. It keeps its files in the folder, and not in those of the user. */
export async function runProgram(program: string, args: readonly string[], home: string): Promise<Ended> {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: home,
    env: { ...process.env, HOME: home, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  endWithUs(child)
  const text = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', more => (text[name] += more))
  const [status] = await once(child, 'close')
  return { status, ...text }
}
