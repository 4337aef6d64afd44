// Installs the judges of the HTTP side from PyPI into a virtual environment, once.

import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { FOLDER, judgesAbsence, PACKAGES, PYTHON } from './judges.ts'

function run(command: string, args: readonly string[]): void {
  const { status, error } = spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  if (status === 0) return
  // An incomplete environment would look like a complete one.
  rmSync(FOLDER, { recursive: true, force: true })
  throw new Error(`${command} ${args.join(' ')} ended with ${status ?? error?.message}`)
}

if (judgesAbsence('build') !== null) {
  run('python3', ['-m', 'venv', FOLDER])
  run(PYTHON, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...PACKAGES])
}
