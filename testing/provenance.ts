// Describes the time, the commit and the machine of a measurement, for every result that is stored in the repository.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

export interface Provenance {
  /** The time in UTC (ISO 8601). */
  readonly at: string
  /** The commit, with a note if src/ has local changes. */
  readonly commit: string
  readonly machine: {
    readonly cpu: string
    readonly cores: number
    readonly memoryGB: number
    readonly kernel: string
    readonly node: string
  }
}

/** Returns the description of this moment, this checkout and this machine. */
export function provenance(): Provenance {
  const git = (...args: string[]) => spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout.trim()
  const isClean = git('status', '--porcelain', '--', 'src') === ''
  return {
    at: new Date().toISOString(),
    commit: `${git('rev-parse', '--short', 'HEAD')}${isClean ? '' : ' with local changes'}`,
    machine: {
      cpu: cpus()[0]?.model ?? 'unknown',
      cores: cpus().length,
      memoryGB: Math.round(totalmem() / 2 ** 30),
      kernel: readFileSync('/proc/version', 'utf8').split(' ').slice(0, 3).join(' '),
      node: process.versions.node,
    },
  }
}
