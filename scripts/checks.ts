// Runs the checks that are not tests, all at the same time: types, format, lint, licences, house rules, unused code,
// and stale reference pages.

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { changedFiles, keepPassed, readPassed, readSources } from './changed-files.ts'
import { NODE_FLAGS, root } from './node24.mjs'

const bin = (name: string) => join(root, 'node_modules', '.bin', name)
/** The folder of the caches. With them the next run looks only at the files that have changed. */
const CACHE = 'node_modules/.cache'
const node = [process.execPath, ...NODE_FLAGS]

type Check = readonly [name: string, command: readonly string[], narrowed?: Narrowed]

/** How a check looks only at the files that have changed since it last passed. */
interface Narrowed {
  /** The cache of the hashes of the files that passed. */
  readonly cache: string
  /** Whether a file's outcome depends on the files that it imports. */
  readonly importers: boolean
  /** The arguments before the changed files, in place of those that name every file. */
  readonly command: readonly string[]
}

const BIOME = [bin('biome'), 'check', '--error-on-warnings']
const OXLINT = [bin('oxlint'), '--type-aware', '--deny-warnings']
/** With more changed files a check looks at all files. */
const MOST_CHANGED = 500

const CHECKS: readonly Check[] = [
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
  [
    'format and lint',
    [...BIOME, '.'],
    { cache: `${CACHE}/biome.json`, importers: false, command: [...BIOME, '--no-errors-on-unmatched'] },
  ],
  ['floating promises', OXLINT, { cache: `${CACHE}/oxlint.json`, importers: true, command: OXLINT }],
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
  const results = await Promise.all(CHECKS.map(async check => ({ name: check[0], ...(await runCheck(check)) })))
  for (const { name, status, output } of results) {
    console.log(`${status === 0 ? '✔' : '✖'} ${name}`)
    if (status !== 0) console.log(output)
  }
  const failures = results.filter(({ status }) => status !== 0).map(({ name }) => name)
  return { passed: results.length - failures.length, failures }
}

/** Runs one check, if it can on the changed files alone. */
async function runCheck([, command, narrowed]: Check): Promise<{ status: number | null; output: string }> {
  const sources = narrowed === undefined ? null : readSources(root)
  if (narrowed === undefined || sources === null) return await execute(command)
  const cache = join(root, narrowed.cache)
  const changed = changedFiles(sources, readPassed(cache), narrowed)
  if (changed?.length === 0) return { status: 0, output: '' }
  const isFew = changed !== null && changed.length <= MOST_CHANGED
  const result = await execute(isFew ? [...narrowed.command, ...changed] : command)
  if (result.status === 0) keepPassed(cache, sources)
  return result
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
