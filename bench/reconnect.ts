// Clients that all connect at once and sign in, in a process of its own: half of them with SCRAM-SHA-256 and half with
// PLAIN. A client that fails tries again after a pause, as real clients do. The program prints `ready`, and connects
// when a line comes in on its standard input. It prints one line of JSON when all clients are signed in, and keeps them
// connected until it is killed.
//
//   node bench/reconnect.ts --port 9092 --ca ca.pem --clients 4000 --users 2000

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { connectFrom, logIn, type Mechanism } from '../testing/log-in.ts'

/** The output of the program. The times are those from the start until a client is signed in. */
export interface Reconnected {
  readonly retries: number
  readonly seconds: { readonly half: number; readonly all: number }
  /** The processor seconds of this program. */
  readonly cpuSeconds: number
}

const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    ca: { type: 'string' },
    /** Of each mechanism. */
    clients: { type: 'string', default: '2000' },
    users: { type: 'string', default: '2000' },
    password: { type: 'string' },
  },
})
const { port, ca, password } = values
if (port === undefined || ca === undefined || password === undefined)
  throw new Error('--port, --ca or --password is missing')
const where = { port: Number(port), tls: { ca: readFileSync(ca), servername: 'localhost' } }
const users = Number(values.users)
const LEAST_PAUSE_MS = 50
const MOST_PAUSE_MS = 1_000

console.log('ready')
await once(process.stdin, 'data')
let retries = 0
const startedAtMs = performance.now()

async function join(mechanism: Mechanism, at: number): Promise<number> {
  const who = { mechanism, username: `${mechanism}-${at % users}`, password: password! }
  for (let pauseMs = LEAST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MOST_PAUSE_MS)) {
    const error = await connectFrom(where, at)
      .then(wire => logIn(wire, who))
      .catch(() => null)
    if (error === 0) return (performance.now() - startedAtMs) / 1000
    if (error !== null) throw new Error(`error ${error} to the right password of ${who.username}`)
    retries++
    await new Promise(resolve => setTimeout(resolve, pauseMs))
  }
}

const mechanisms: readonly Mechanism[] = ['SCRAM-SHA-256', 'PLAIN']
const seconds = await Promise.all(
  Array.from({ length: Number(values.clients) }, (_, at) => mechanisms.map(mechanism => join(mechanism, at))).flat(),
)
seconds.sort((one, other) => one - other)
const { user, system } = process.cpuUsage()
const reconnected: Reconnected = {
  retries,
  seconds: { half: seconds[seconds.length >> 1]!, all: seconds.at(-1)! },
  cpuSeconds: (user + system) / 1e6,
}
console.log(JSON.stringify(reconnected))
