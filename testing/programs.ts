// Finds the programs of this machine and reads their output.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Returns whether the PATH has a program of this name. */
export function hasProgram(name: string, path = process.env.PATH ?? ''): boolean {
  return path.split(delimiter).some(folder => existsSync(join(folder, name)))
}

/** Returns the standard output of a short program. If the program fails, throws with everything that it printed. */
export function outputOf(command: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', timeout: 60_000 })
  if (status === 0) return stdout
  throw new Error(`${command} ended with ${status ?? error?.message}\n${stderr}\n${stdout}`)
}
