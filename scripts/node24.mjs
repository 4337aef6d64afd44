// Prepares every command before TypeScript can run: it installs the packages of package-lock.json and finds Node 24.
// It is plain JavaScript for Node 20 and later and imports only Node's own modules. See docs/decisions/0001.

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Returns the locked packages of a folder that are missing or have another version. Packages for other platforms do
 * not count.
 */
export function missingPackages(folder, { dev }) {
  const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'))
  return Object.entries(lock.packages).filter(([path, entry]) => {
    if (path === '' || (entry.dev && !dev)) return false
    if (entry.os && !entry.os.includes(process.platform)) return false
    if (entry.cpu && !entry.cpu.includes(process.arch)) return false
    if (entry.libc?.includes('musl')) return false
    try {
      return JSON.parse(readFileSync(join(folder, path, 'package.json'), 'utf8')).version !== entry.version
    } catch {
      // npm may leave out an optional package, even without a platform of its own. Then its absence is allowed.
      return !entry.optional
    }
  })
}

/** Runs npm in a folder. Returns what spawnSync returns. */
export function runNpm(folder, args, options) {
  const npm = process.env.npm_execpath
  return npm?.endsWith('.js')
    ? spawnSync(process.execPath, [npm, ...args], { cwd: folder, ...options })
    : spawnSync('npm', args, { cwd: folder, ...options })
}

/** Returns the arguments that install the locked packages. Install scripts never run: no package here needs one. */
export function installing({ dev }) {
  return ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', ...(dev ? [] : ['--omit=dev'])]
}

/** Installs missing packages and prints a line about it. Ends this process if that fails. */
export function ensureInstalled({ dev, folder = root }) {
  const missing = missingPackages(folder, { dev })
  if (missing.length === 0) return
  process.stderr.write(`ketch: installing ${missing.length} packages (once; needs the npm registry) ...\n`)
  const { status, error } = runNpm(folder, installing({ dev }), { stdio: ['ignore', 2, 2] })
  if (status !== 0) {
    process.stderr.write(`ketch: npm ci failed (${error?.message ?? `status ${status}`}); its output above says why\n`)
    process.exit(1)
  }
}

/** Returns the path of a Node 24 binary: the one of this process, or the one that was installed as a package. */
export function node24() {
  if (Number(process.versions.node.split('.')[0]) >= 24) return process.execPath
  const packaged = join(root, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node')
  if (existsSync(packaged)) return packaged
  process.stderr.write(
    `ketch: needs Node 24 and this is ${process.versions.node}; no package brings Node 24 to ` +
      `${process.platform}-${process.arch}, so install it and run the command again\n`,
  )
  process.exit(1)
}

/**
 * The flags of every Node 24 process that runs our code. `__proto__` in a client's data is plain data. The young
 * generation of the heap stays small (8 MB; docs/decisions/0015). V8 marks the old generation seldom and in other
 * threads (0036).
 */
export const NODE_FLAGS = [
  '--disable-proto=delete',
  '--disable-warning=ExperimentalWarning',
  '--max-semi-space-size=8',
  '--heap-growing-percent=100',
  '--no-incremental-marking-task',
]

/** The environment variables that belong to the flags. A variable that the caller has set takes precedence. */
export const NODE_ENVIRONMENT = {
  // lmdb, zlib and fs share libuv's pool, whose four threads by default let one kind of work delay the others.
  UV_THREADPOOL_SIZE: '16',
  // Otherwise glibc gives each of these threads, and V8's, a heap of its own and keeps freed memory in it.
  MALLOC_ARENA_MAX: '2',
  // Memory blocks of this size or more go back to the system when they are freed. By default glibc raises this limit
  // to 32 MB. Then the memory into which hundreds of batches were decompressed stays with the process, in pieces
  // (0039). Requests and answers of usual sizes are smaller than the limit.
  MALLOC_MMAP_THRESHOLD_: String(4 << 20),
  // The value that glibc would reach by itself. glibc no longer adapts it if the other variable is set.
  MALLOC_TRIM_THRESHOLD_: String(64 << 20),
  NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'compile'),
}

/**
 * Runs a TypeScript file under Node 24 in this terminal and exits with its status. Forwards SIGTERM and SIGINT to it.
 */
export function runTypeScript(file, args, { cwd = process.cwd() } = {}) {
  const child = spawn(node24(), [...NODE_FLAGS, join(root, file), ...args], {
    cwd,
    // The IPC channel tells the child when this process has ended, even by SIGKILL.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...NODE_ENVIRONMENT, ...process.env },
  })
  // If the signal went to the whole process group, the child gets it twice; main.ts treats the two as one.
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(signal === null ? code : 128 + constants.signals[signal]))
}

/** Runs a TypeScript file under Node 24 to its end. It writes to the standard error of this process. */
export function runFirst(file, args) {
  const env = { ...NODE_ENVIRONMENT, ...process.env }
  spawnSync(node24(), [...NODE_FLAGS, join(root, file), ...args], { stdio: ['ignore', 2, 2], env })
}
