// A port for a server of a test. It is free when asked for; nothing keeps it so.

import { once } from 'node:events'
import { createServer } from 'node:net'
import { assert } from '../src/base/assert.ts'

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  assert(address !== null && typeof address === 'object', 'a TCP server has an address')
  await new Promise(resolve => server.close(resolve))
  return address.port
}
