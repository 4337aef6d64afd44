// Builds the console before a broker starts, if start.mjs has found that the built one is not the one of its sources.
// The arguments are those of the broker, because a broker without the console needs no build. If the console cannot be
// built, this program says why in one line, and the broker starts without it.

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { meansVerb } from '../src/cli/verb-first.ts'
import { loadSettings } from '../src/settings/load.ts'
import { readPlainFile } from '../src/settings/plain-file.ts'
import { readCommandLine } from '../src/settings/sources.ts'
import { builtFolder, consoleFolder, isConsoleBuilt, stampOfSources } from './console-build.mjs'
import { installing, missingPackages, runNpm } from './node24.mjs'

/** The console is built here. Only a complete build moves to its place, so that no broker reads half of one. */
const FRESH = join(consoleFolder, '.dist')
const REPLACED = join(consoleFolder, '.dist-replaced')

/** A registry that does not answer must not keep the broker from starting. The times are in ms. */
const PING = ['ping', '--loglevel=error', '--fetch-retries=0', '--fetch-timeout=5000']
const LONGEST_PING_MS = 10_000
const PATIENCE = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000', '--fetch-timeout=20000']
const LONGEST_INSTALL_MS = 180_000
const LONGEST_BUILD_MS = 120_000

const say = (line: string) => process.stderr.write(`ketch: ${line}\n`)

/** Returns whether these arguments start a broker with a console. The broker itself says which of them are wrong. */
function wantsConsole(argv: readonly string[]): boolean {
  const args = argv[0] === 'start' ? argv.slice(1) : argv
  try {
    if (args[0] !== undefined && argv[0] !== 'start' && meansVerb(args)) return false
    if (readCommandLine(args).wants !== 'run') return false
    return loadSettings({ argv: args, env: process.env, cwd: process.cwd(), readFile: readPlainFile }).get('ui.enabled')
  } catch {
    return false
  }
}

/**
 * Waits until no other start builds this console. The lock is a socket without a file, which the system removes when
 * its process ends, in whichever way.
 */
async function lock(): Promise<Disposable> {
  const path = `\0ketch-console-${createHash('sha256').update(consoleFolder).digest('hex')}`
  for (let isFirst = true; ; isFirst = false) {
    const server = createServer()
    const failed = await new Promise<NodeJS.ErrnoException | null>(resolve => {
      server.once('error', resolve).listen({ path }, () => resolve(null))
    })
    if (failed === null) return { [Symbol.dispose]: () => void server.close() }
    if (failed.code !== 'EADDRINUSE') throw failed
    if (isFirst) say('another start builds the web console; waiting for it ...')
    await sleep(200)
  }
}

/** Builds the console. Throws an error whose message says in one line why that is impossible. */
function build(): void {
  const missing = missingPackages(consoleFolder, { dev: false })
  say(`building the web console (once${missing.length > 0 ? '; needs the npm registry' : ''}) ...`)
  for (const folder of [FRESH, REPLACED]) rmSync(folder, { recursive: true, force: true })
  mkdirSync(FRESH)
  try {
    if (missing.length > 0) install()
    const vite = join(consoleFolder, 'node_modules/vite/bin/vite.js')
    const args = ['build', '--outDir', FRESH, '--emptyOutDir', '--logLevel', 'error']
    check(
      'vite build',
      spawnSync(process.execPath, [vite, ...args], {
        cwd: consoleFolder,
        encoding: 'utf8',
        timeout: LONGEST_BUILD_MS,
        env: { ...process.env, NODE_ENV: 'production' },
      }),
      2,
    )
    if (existsSync(builtFolder)) renameSync(builtFolder, REPLACED)
    renameSync(FRESH, builtFolder)
  } finally {
    for (const folder of [FRESH, REPLACED]) rmSync(folder, { recursive: true, force: true })
  }
}

/** Installs the packages. Without a registry npm ci takes up to half a minute to fail, so a ping comes first. */
function install(): void {
  const pinged = runNpm(consoleFolder, PING, { encoding: 'utf8', timeout: LONGEST_PING_MS })
  // A registry that answers with an error of HTTP may have no ping.
  if (!/ code E\d{3}\b/.test(pinged.stderr)) check('npm ping', pinged)
  const args = [...installing({ dev: false }), ...PATIENCE]
  check('npm ci', runNpm(consoleFolder, args, { encoding: 'utf8', timeout: LONGEST_INSTALL_MS }))
}

/** Lines with which npm and Vite begin an error, before the sentences. */
const PREAMBLE =
  /^$|^(code|errno|syscall|type|path|dest) \S+$|Build failed|^error during build:|^Caused by:|^This is a problem related to/

/** Throws the first sentence of a program that has failed, or a few of them. */
function check(name: string, { status, error, stdout, stderr }: ReturnType<typeof runNpm>, sentences = 1): void {
  if (status === 0) return
  const lines = stripVTControlCharacters(`${stderr}\n${stdout}`).split('\n')
  const telling = lines
    .map(line => line.replace(/^npm error (network )?/, '').trim())
    .filter(line => !PREAMBLE.test(line))
  throw new Error(`${name}: ${error?.message ?? (telling.slice(0, sentences).join(' ') || `status ${status}`)}`)
}

if (wantsConsole(process.argv.slice(2))) {
  try {
    if (stampOfSources() === null) throw new Error('this folder has no console/')
    using _ = await lock()
    if (!isConsoleBuilt()) build()
  } catch (error) {
    const rest = existsSync(builtFolder) ? 'with the one that was built before' : 'without it'
    say(`the web console cannot be built: ${(error as Error).message}; the broker starts ${rest}`)
  }
}
