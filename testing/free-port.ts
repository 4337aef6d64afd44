// A port for a server of a test. It is free when asked for; nothing keeps it so.

import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** From there on Linux gives ports to clients: a free one may be an end of a connection a moment later. */
const EPHEMERAL_FROM = 32_768

/** A port that was free a moment ago. */
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
