// Clients that request 50 MB at a time and read slowly or nothing, in a process of its own: many connections, each
// with one Fetch of all partitions from offset 0, again and again. It prints `asked` when all connections have sent
// their request. When its standard input ends, it prints one line of JSON and ends.
//
//   node bench/slow.ts --port 9092 --topic slow --partitions 60 --connections 200 --rate 1048576

import { connect, type Socket } from 'node:net'
import { parseArgs } from 'node:util'
import { encodeRequest } from '../src/protocol/codec.ts'
import { requestHeader } from '../src/protocol/header.ts'
import { fetch } from '../src/protocol/messages/fetch.ts'

/**
 * The output at the end: the bytes that each connection has read, the smallest first, and the number of connections
 * that the broker has closed.
 */
export interface Slow {
  readonly bytes: readonly number[]
  readonly seconds: number
  readonly closed: number
}

/** The milliseconds between two turns: a socket returns at most 64 KiB in a turn. */
const TURN_MS = 40
const ASKED_BYTES = 50 << 20
const CONNECTING_AT_ONCE = 50

const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    topic: { type: 'string', default: 'slow' },
    partitions: { type: 'string', default: '60' },
    connections: { type: 'string', default: '200' },
    /** The bytes that each connection reads in a second; 0 to read nothing. */
    rate: { type: 'string', default: '1048576' },
  },
})
if (values.port === undefined) throw new Error('--port is missing')
const bytesInATurn = (Number(values.rate) * TURN_MS) / 1000

const request = ((): Buffer => {
  const partitions = Array.from({ length: Number(values.partitions) }, (_, partition) => ({
    partition,
    fetchOffset: 0,
    partitionMaxBytes: 1 << 20,
  }))
  const topics = [{ topic: values.topic, partitions }]
  const body = encodeRequest(fetch, 11, {
    maxWaitMs: 500,
    minBytes: 1,
    maxBytes: ASKED_BYTES,
    sessionEpoch: -1,
    topics,
  })
  const parts = [requestHeader(fetch, 11, 1, 'slow'), ...body]
  const size = Buffer.alloc(4)
  size.writeInt32BE(parts.reduce((sum, part) => sum + part.length, 0))
  return Buffer.concat([size, ...parts])
})()

interface Reader {
  readonly socket: Socket
  bytes: number
  /** The bytes of the current answer that are still to read. */
  leftBytes: number
}

const readers: Reader[] = []
let closed = 0

async function join(): Promise<void> {
  const socket = connect({ port: Number(values.port), host: '127.0.0.1', noDelay: true })
  socket.on('error', () => {})
  socket.once('close', () => closed++)
  await new Promise<void>(resolve => {
    socket.once('connect', resolve)
    socket.once('close', resolve)
  })
  if (bytesInATurn > 0) socket.on('readable', () => {})
  readers.push({ socket, bytes: 0, leftBytes: 0 })
  socket.write(request)
}

/** Reads the bytes that the reader may read in this turn, and sends the next request at the end of an answer. */
function read(reader: Reader): void {
  const { socket } = reader
  for (let left = bytesInATurn; left > 0; ) {
    if (reader.leftBytes === 0) {
      const size: Buffer | null = socket.read(4)
      if (size === null) return
      reader.leftBytes = size.readInt32BE()
    }
    const found: Buffer | null = socket.read(Math.min(left, reader.leftBytes, Math.max(1, socket.readableLength)))
    if (found === null) return
    left -= found.length
    reader.bytes += found.length
    reader.leftBytes -= found.length
    if (reader.leftBytes === 0) socket.write(request)
  }
}

for (let at = 0; at < Number(values.connections); at += CONNECTING_AT_ONCE) {
  const count = Math.min(CONNECTING_AT_ONCE, Number(values.connections) - at)
  await Promise.all(Array.from({ length: count }, join))
}
const startedAtMs = performance.now()
console.log('asked')
if (bytesInATurn > 0) setInterval(() => readers.forEach(read), TURN_MS)
process.stdin.on('end', () => {
  const bytes = readers.map(reader => reader.bytes).sort((one, other) => one - other)
  const slow: Slow = { bytes, seconds: (performance.now() - startedAtMs) / 1000, closed }
  console.log(JSON.stringify(slow))
  process.exit(0)
})
process.stdin.resume()
