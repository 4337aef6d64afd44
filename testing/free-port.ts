// Finds a port for a server of a test. The port is free at the time of the call, but it is not reserved.

import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Linux assigns ports from this number on to clients, so a free port there may be in use a moment later. */
const EPHEMERAL_FROM = 32_768

/** Resolves with a port that was free a moment ago. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, EPHEMERAL_FROM)
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
