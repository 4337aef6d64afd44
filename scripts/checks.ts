// Runs the checks that are not tests, all at the same time: types, format, lint, licences, house rules, unused code,
// and stale reference pages.

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { NODE_FLAGS, root } from './node24.mjs'

const bin = (name: string) => join(root, 'node_modules', '.bin', name)
/** The folder of the caches. With them the next run looks only at the files that have changed. */
const CACHE = 'node_modules/.cache'
const node = [process.execPath, ...NODE_FLAGS]

const CHECKS: readonly (readonly [name: string, command: readonly string[]])[] = [
  ['types', [bin('tsc'), '--noEmit', '--incremental', '--tsBuildInfoFile', `${CACHE}/types.tsbuildinfo`, '-p', '.']],
  [
    'types of the console',
    [
      bin('tsc'),
      '--noEmit',
      '--incremental',
      '--tsBuildInfoFile',
      `${CACHE}/console-types.tsbuildinfo`,
      '-p',
      'console',
    ],
  ],
  ['format and lint', [bin('biome'), 'check', '--error-on-warnings', '.']],
  ['floating promises', [bin('oxlint'), '--type-aware', '--deny-warnings']],
  ['packages', [...node, 'scripts/packages.ts']],
  ['house rules', [...node, 'scripts/tidy.ts']],
  ['unused code', [process.execPath, bin('knip'), '--no-progress', '--cache']],
  ['reference pages', [...node, 'scripts/docs.ts', '--check']],
]

/**
 * Runs all checks. Prints a line for each check, and the output of each check that fails. Returns the names of the
 * checks that failed.
 */
export async function runChecks(): Promise<{ readonly passed: number; readonly failures: readonly string[] }> {
  const results = await Promise.all(CHECKS.map(async ([name, command]) => ({ name, ...(await execute(command)) })))
  for (const { name, status, output } of results) {
    console.log(`${status === 0 ? '✔' : '✖'} ${name}`)
    if (status !== 0) console.log(output)
  }
  const failures = results.filter(({ status }) => status !== 0).map(({ name }) => name)
  return { passed: results.length - failures.length, failures }
}

function execute(command: readonly string[]): Promise<{ status: number | null; output: string }> {
  return new Promise(resolve => {
    const child = spawn(command[0]!, command.slice(1), { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    child.stdout.on('data', chunk => (output += chunk))
    child.stderr.on('data', chunk => (output += chunk))
    child.on('error', error => resolve({ status: null, output: `${output}${error.message}\n` }))
    child.on('close', status => resolve({ status, output }))
  })
}
