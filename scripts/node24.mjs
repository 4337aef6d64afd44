// Every command needs this before TypeScript can run: the packages of package-lock.json, and Node 24.
// Plain JavaScript for any Node from 20 on, and no import beyond Node's own. See docs/decisions/0001.

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** Paths of locked packages that are absent or of another version; those of other platforms do not count. */
function missingPackages(withDev) {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  return Object.entries(lock.packages).filter(([path, entry]) => {
    if (path === '' || (entry.dev && !withDev)) return false
    if (entry.os && !entry.os.includes(process.platform)) return false
    if (entry.cpu && !entry.cpu.includes(process.arch)) return false
    if (entry.libc?.includes('musl')) return false
    try {
      return JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8')).version !== entry.version
    } catch {
      // An optional package without a platform of its own may be left out by npm; only its absence is forgiven.
      return !entry.optional
    }
  })
}

/** Installs what is missing, saying so. Install scripts never run: no package here needs one. */
export function ensureInstalled({ dev }) {
  const missing = missingPackages(dev)
  if (missing.length === 0) return
  process.stderr.write(`ketch: installing ${missing.length} packages (once; needs the npm registry) ...\n`)
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', ...(dev ? [] : ['--omit=dev'])]
  const npm = process.env.npm_execpath
  const { status, error } = npm?.endsWith('.js')
    ? spawnSync(process.execPath, [npm, ...args], { cwd: root, stdio: ['ignore', 2, 2] })
    : spawnSync('npm', args, { cwd: root, stdio: ['ignore', 2, 2] })
  if (status !== 0) {
    process.stderr.write(`ketch: npm ci failed (${error?.message ?? `status ${status}`}); its output above says why\n`)
    process.exit(1)
  }
}

/** The path of a Node 24 binary: this process's own, or the one that came as a package. */
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
 * Flags of every Node 24 that runs our code: `__proto__` in a client's data is data, the young part of the heap stays
 * small, in MB (docs/decisions/0015), and the old one is marked seldom and by other threads (0036).
 */
export const NODE_FLAGS = [
  '--disable-proto=delete',
  '--disable-warning=ExperimentalWarning',
  '--max-semi-space-size=8',
  '--heap-growing-percent=100',
  '--no-incremental-marking-task',
]

/** The environment that goes with them; what the caller has set itself wins. */
export const NODE_ENVIRONMENT = {
  // lmdb, zlib and fs share libuv's pool, whose four threads by default let one kind of work delay the others.
  UV_THREADPOOL_SIZE: '16',
  // Otherwise glibc gives each of those threads, and V8's, a heap of its own, and keeps what is freed in there.
  MALLOC_ARENA_MAX: '2',
  // Larger pieces of memory go back to the system when they are freed. By itself glibc raises this to 32 MB, and what
  // hundreds of batches were unpacked into then stays with the process, in pieces (0039). Requests and answers of usual
  // sizes lie below it.
  MALLOC_MMAP_THRESHOLD_: String(4 << 20),
  // The value that glibc would reach by itself. It no longer adapts once the other variable is set.
  MALLOC_TRIM_THRESHOLD_: String(64 << 20),
  NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'compile'),
}

/** Runs a TypeScript file under Node 24 in this terminal and ends with its status; signals are passed on. */
export function runTypeScript(file, args, { cwd = process.cwd() } = {}) {
  const child = spawn(node24(), [...NODE_FLAGS, join(root, file), ...args], {
    cwd,
    // The channel tells the child when this process is gone, be it by SIGKILL.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...NODE_ENVIRONMENT, ...process.env },
  })
  // The child may have the signal already, if it was sent to the whole process group; main.ts takes the two for one.
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(signal === null ? code : 128 + constants.signals[signal]))
}
