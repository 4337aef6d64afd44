// Installs schemathesis from PyPI into a virtual environment of its own, once.

import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { FOLDER, schemathesisAbsence, VERSION } from './schemathesis.ts'

function run(command: string, args: readonly string[]): void {
  const { status, error } = spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  if (status === 0) return
  // A half of it would be taken for the whole.
  rmSync(FOLDER, { recursive: true, force: true })
  throw new Error(`${command} ${args.join(' ')} ended with ${status ?? error?.message}`)
}

if (schemathesisAbsence() !== null) {
  run('python3', ['-m', 'venv', FOLDER])
  run(`${FOLDER}/bin/pip`, ['install', '--quiet', '--disable-pip-version-check', `schemathesis==${VERSION}`])
}
