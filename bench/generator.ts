// The load generator, a process of its own. It writes prepared Produce frames or Fetch requests, keeps a fixed number
// of requests in flight on each connection, and counts the successful answers. It ends with a message at the first
// error code, so that a broker that refuses requests does not look fast. It prints one line of JSON.
//
//   node bench/generator.ts produce --port 9092 --topic bench --partitions 16 --connections 1 --in-flight 5 --seconds 3
//   node bench/generator.ts fetch   --port 9092 --topic bench --partitions 4  --connections 4 --in-flight 1 --seconds 3
//   node bench/generator.ts produce ... --bytes 3221225472        this many bytes instead of a number of seconds
//   node bench/generator.ts produce ... --only 1,4,7              these partitions, such as those that a broker leads
//   node bench/generator.ts produce ... --batch batch.bin          this record batch in each request
//   node bench/generator.ts produce ... --tls ca.pem               over TLS, with these authorities
//   node bench/generator.ts fetch ... --follow                    waits at the end of the log for more, as consumers do

import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { parseArgs } from 'node:util'
import {
  correlationOf,
  fetchRequest,
  frameReader,
  prepareBatch,
  produceHead,
  readFetched,
  readProduced,
  setCorrelation,
  setFetchOffset,
} from './frames.ts'

/** The output of a generator. Rates are of record bytes, 1 MB = 10^6. */
export interface Load {
  readonly bytes: number
  readonly seconds: number
  /** The time before the measurement began. */
  readonly warmUpSeconds: number
  readonly megabytesPerSecond: number
  readonly requests: number
  readonly latencyMs: { readonly p50: number; readonly p99: number; readonly max: number }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    port: { type: 'string' },
    topic: { type: 'string', default: 'bench' },
    // If set: this many topics, named <topic>-0, <topic>-1 …, each with `partitions` partitions.
    topics: { type: 'string' },
    partitions: { type: 'string', default: '16' },
    only: { type: 'string' },
    follow: { type: 'boolean', default: false },
    connections: { type: 'string', default: '1' },
    'in-flight': { type: 'string', default: '5' },
    'batch-bytes': { type: 'string', default: '65536' },
    'record-bytes': { type: 'string', default: '1024' },
    batch: { type: 'string' },
    'fetch-bytes': { type: 'string', default: '1048576' },
    seconds: { type: 'string', default: '3' },
    'warm-up': { type: 'string', default: '1' },
    bytes: { type: 'string' },
    tls: { type: 'string' },
  },
})
const [mode] = positionals
if (mode !== 'produce' && mode !== 'fetch') throw new Error(`the mode must be produce or fetch, got ${mode}`)
if (values.port === undefined) throw new Error('--port is missing')
const port = Number(values.port)
const ca = values.tls === undefined ? null : readFileSync(values.tls)
const topics =
  values.topics === undefined
    ? [values.topic]
    : Array.from({ length: Number(values.topics) }, (_, at) => `${values.topic}-${at}`)
/** Every partition that gets load. */
const targets = (
  values.only?.split(',').map(Number) ?? Array.from({ length: Number(values.partitions) }, (_, partition) => partition)
).flatMap(partition => topics.map(topic => ({ topic, partition })))
const connections = Number(values.connections)
const inFlight = Number(values['in-flight'])
const wantedBytes = values.bytes === undefined ? null : Number(values.bytes)
const warmUpMs = wantedBytes === null ? Number(values['warm-up']) * 1000 : 0
const seconds = Number(values.seconds)

const batch =
  values.batch === undefined
    ? prepareBatch(Number(values['batch-bytes']), Number(values['record-bytes']))
    : readFileSync(values.batch)
const startedAt = performance.now()
let sentBytes = 0
let measuredFrom: number | null = null
let bytes = 0
let requests = 0
let latencies: number[] = []
let over = false

/** Counts one answer; returns whether the load goes on. */
function count(answeredBytes: number, latencyMs: number): boolean {
  const now = performance.now()
  if (measuredFrom === null) {
    if (now - startedAt < warmUpMs) return true
    measuredFrom = wantedBytes === null ? now : startedAt
    bytes = 0
    requests = 0
    latencies = []
  }
  bytes += answeredBytes
  requests++
  latencies.push(latencyMs)
  if (wantedBytes === null ? now - measuredFrom >= seconds * 1000 : bytes >= wantedBytes) finish(now)
  return !over
}

function finish(now: number): void {
  if (over) return
  over = true
  const elapsed = (now - measuredFrom!) / 1000
  latencies.sort((a, b) => a - b)
  const at = (share: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))]!
  const load: Load = {
    bytes,
    seconds: elapsed,
    warmUpSeconds: (measuredFrom! - startedAt) / 1000,
    megabytesPerSecond: bytes / 1e6 / elapsed,
    requests,
    latencyMs: { p50: at(0.5), p99: at(0.99), max: latencies.at(-1)! },
  }
  console.log(JSON.stringify(load))
  process.exit(0)
}

function refuse(what: string): never {
  console.error(`the broker answered ${what}`)
  process.exit(1)
}

/** One slot of a connection; it has at most one request in flight. */
interface Slot {
  sentAt: number
  target: number
  offset: number
}

const heads = targets.map(({ topic, partition }) => produceHead(topic, partition, batch.length))
const fetches = targets.map(({ topic, partition }) => fetchRequest(topic, partition, Number(values['fetch-bytes'])))

function drive(index: number): void {
  const socket: Socket =
    ca === null ? connect({ port, host: '127.0.0.1', noDelay: true }) : connectTls({ port, host: '127.0.0.1', ca })
  const slots: Slot[] = Array.from({ length: inFlight }, (_, slot) => ({
    sentAt: 0,
    target: (index * inFlight + slot) % targets.length,
    offset: 0,
  }))
  const send = (number: number) => {
    const slot = slots[number]!
    slot.sentAt = performance.now()
    if (mode === 'fetch') {
      const request = fetches[slot.target]!
      setCorrelation(request, number)
      setFetchOffset(request, slot.offset)
      socket.write(Buffer.from(request))
      return
    }
    if (wantedBytes !== null && sentBytes >= wantedBytes) return
    sentBytes += batch.length
    // All slots together walk through all targets; each slot makes a step of connections × slots.
    slot.target = (slot.target + connections * inFlight) % targets.length
    const head = Buffer.from(heads[slot.target]!)
    setCorrelation(head, number)
    socket.cork()
    socket.write(head)
    socket.write(batch)
    socket.uncork()
  }
  if (ca !== null) socket.setNoDelay(true)
  socket.on(ca === null ? 'connect' : 'secureConnect', () => slots.forEach((_, number) => void send(number)))
  socket.on('error', error => over || refuse(`with a broken connection: ${error.message}`))
  socket.on('close', () => over || refuse('by closing the connection'))
  socket.on(
    'data',
    frameReader(response => {
      const number = correlationOf(response)
      const slot = slots[number]
      if (slot === undefined) refuse(`correlation id ${number}, for which there is no request`)
      const latencyMs = performance.now() - slot.sentAt
      if (mode === 'produce') {
        const { error } = readProduced(response)
        if (error !== 0) refuse(`error ${error} to a Produce`)
        if (count(batch.length, latencyMs)) send(number)
        return
      }
      const fetched = readFetched(response)
      if (fetched.error !== 0) refuse(`error ${fetched.error} to a Fetch at offset ${slot.offset}`)
      const { nextOffset, highWatermark } = fetched
      if (values.follow) slot.offset = nextOffset ?? slot.offset
      // At the end of the log the slot begins again at offset 0, because a fetch at the end would wait for more
      // records.
      else slot.offset = nextOffset === null || nextOffset >= highWatermark ? 0 : nextOffset
      if (count(fetched.bytes, latencyMs)) send(number)
    }),
  )
}

for (let index = 0; index < connections; index++) drive(index)
