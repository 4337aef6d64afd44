// Finds a port for a server of a test, and keeps other test files away from it. Several of them run at once, and a port
// may be chosen long before its server listens, or while its server is down.

import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../src/base/clock.ts'

/** Linux assigns ports from this number on to clients, so a free port there may be in use a moment later. */
const EPHEMERAL_FROM = 32_768

/** A claim that is older was left by a process that was killed. */
const OLDEST_CLAIM_MS = 3_600_000

/** Each user has a folder of files, because another one could not remove them. */
const claims = join(tmpdir(), `ketch-claimed-ports-${userInfo().uid}`)
const own: string[] = []
process.once('exit', () => {
  for (const file of own) rmSync(file, { force: true })
})

/** Resolves with a free port. No other call on this machine returns it before this process ends. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, EPHEMERAL_FROM)
    if (!claim(port)) continue
    const server = createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') continue
      throw error
    }
    await new Promise(resolve => server.close(resolve))
    return port
  }
}

/** Makes the file of a port. Returns false if another call has made it. */
function claim(port: number): boolean {
  const file = join(claims, String(port))
  mkdirSync(claims, { recursive: true })
  try {
    if (systemClock.now() - statSync(file).mtimeMs > OLDEST_CLAIM_MS) rmSync(file, { force: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  try {
    closeSync(openSync(file, 'wx'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
  own.push(file)
  return true
}
