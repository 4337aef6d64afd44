// Clients that never authenticate, in a process of its own: TLS handshakes that are begun and not finished, SASL
// exchanges that are begun and not finished, and failed logins at a fixed rate, each on a new connection. If the broker
// closes a half-open connection, another one takes its place. The program prints `open` when all half-open connections
// are there. When a line comes in on its standard input, it prints one line of JSON, and goes on until it is killed.
//
//   node bench/hostile.ts --port 9092 --ca ca.pem --tls 1000 --sasl 1000 --logins 10000 --users 100

import { readFileSync } from 'node:fs'
import { connect as connectSocket } from 'node:net'
import { parseArgs } from 'node:util'
import { SASL_AUTHENTICATION_FAILED } from '../src/protocol/errors.ts'
import { choose, connectFrom, logIn, type Mechanism } from '../testing/log-in.ts'

/** The output. */
export interface Hostile {
  /** The half-open connections that the broker has closed and that were opened again. */
  readonly reopened: number
  /** The logins that the broker has refused, those that it has closed, and those that could not connect. */
  readonly refused: number
  readonly closed: number
  readonly unconnected: number
  readonly seconds: number
}

const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    ca: { type: 'string' },
    tls: { type: 'string', default: '1000' },
    sasl: { type: 'string', default: '1000' },
    /** Failed logins in a minute. */
    logins: { type: 'string', default: '10000' },
    /** The users of each mechanism whose names the failed logins claim. */
    users: { type: 'string', default: '100' },
  },
})
if (values.port === undefined || values.ca === undefined) throw new Error('--port or --ca is missing')
const where = { port: Number(values.port), tls: { ca: readFileSync(values.ca), servername: 'localhost' } }
const users = Number(values.users)
const MECHANISMS: readonly Mechanism[] = ['SCRAM-SHA-256', 'PLAIN']
const OPENING_AT_ONCE = 50
const REOPEN_MS = 100

/** The first bytes of a ClientHello, whose length is 200. */
const HALF_HELLO = Buffer.from('16030100c8010000c40303', 'hex')

let reopened = 0

function again(open: () => void): void {
  reopened++
  setTimeout(open, REOPEN_MS)
}

/** Resolves when the connection is open and has sent what it is going to send. */
async function beginTls(at: number): Promise<void> {
  const socket = connectSocket({ port: where.port, host: '127.0.0.1', localAddress: `127.0.0.${2 + (at % 16)}` })
  socket.on('error', () => {})
  socket.on('close', () => again(() => void beginTls(at)))
  await new Promise(resolve => socket.once('connect', resolve))
  if (at % 2 === 0) socket.write(HALF_HELLO)
}

async function beginSasl(at: number): Promise<void> {
  try {
    const wire = await connectFrom(where, at)
    void wire.closed.then(() => again(() => void beginSasl(at)))
    await choose(wire, MECHANISMS[at % 2]!)
  } catch {
    again(() => void beginSasl(at))
  }
}

async function openAll(count: number, open: (at: number) => Promise<void>): Promise<void> {
  for (let at = 0; at < count; at += OPENING_AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(OPENING_AT_ONCE, count - at) }, (_, i) => open(at + i)))
}

await openAll(Number(values.tls), beginTls)
await openAll(Number(values.sasl), beginSasl)

let begun = 0
let refused = 0
let closed = 0
let unconnected = 0

async function fail(at: number): Promise<void> {
  const mechanism = MECHANISMS[at % 2]!
  const wire = await connectFrom(where, at).catch(() => null)
  if (wire === null) {
    unconnected++
    return
  }
  try {
    const code = await logIn(wire, { mechanism, username: `${mechanism}-${at % users}`, password: null })
    if (code !== SASL_AUTHENTICATION_FAILED.code) throw new Error(`the broker answered a wrong password with ${code}`)
    refused++
  } catch {
    closed++
  }
  await wire.close()
}

console.log('open')
const startedAtMs = performance.now()
setInterval(() => {
  const due = ((performance.now() - startedAtMs) / 60_000) * Number(values.logins)
  while (begun < due) void fail(begun++)
}, 10)
process.stdin.on('data', () => {
  const hostile: Hostile = { reopened, refused, closed, unconnected, seconds: (performance.now() - startedAtMs) / 1000 }
  console.log(JSON.stringify(hostile))
})
