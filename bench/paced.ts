// Sends single records at a fixed rate on one connection, whether or not the earlier ones are answered, and times
// each. It runs as a process of its own. It sends Produce requests to a broker, or the same batches as bare XADDs to
// a Redis. Both are prepared bytes, so that the only difference is the server. It ends with a message at the first
// error. With --batch-bytes it sends batches of records instead, whose values are words. It prints one line of JSON.
//
//   node bench/paced.ts produce --port 9092 --topic bench --partitions 16 --rate 1000 --seconds 3
//   node bench/paced.ts xadd    --port 6379               --partitions 16 --rate 1000 --seconds 3

import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { parseArgs } from 'node:util'
import { correlationOf, frameReader, prepareBatch, produceHead, readProduced, setCorrelation } from './frames.ts'
import { keyedBatches } from './keyed-batches.ts'

/** The output of the program. It counts the records that were sent after the warm-up. */
export interface Paced {
  readonly records: number
  /** Records sent in a second, as measured. */
  readonly rate: number
  readonly latencyMs: { readonly p50: number; readonly p99: number; readonly max: number }
}

/** As many batches of words are made before the first is sent. */
const MOST_BATCHES = 256

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    port: { type: 'string' },
    topic: { type: 'string', default: 'bench' },
    partitions: { type: 'string', default: '16' },
    'record-bytes': { type: 'string', default: '1024' },
    // If set: batches of this size, with as many records of words as fit, instead of single records.
    'batch-bytes': { type: 'string' },
    // If set: the record batch in this file in each request.
    batch: { type: 'string' },
    rate: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '3' },
    'warm-up': { type: 'string', default: '1' },
  },
})
const [mode] = positionals
if (mode !== 'produce' && mode !== 'xadd') throw new Error(`the mode must be produce or xadd, got ${mode}`)
if (values.port === undefined) throw new Error('--port is missing')

function refuse(what: string): never {
  console.error(`the answer was ${what}`)
  process.exit(1)
}

const recordBytes = Number(values['record-bytes'])
const batches = preparedBatches()
const batch = batches[0]!
const heads = Array.from({ length: Number(values.partitions) }, (_, partition) =>
  mode === 'produce' ? produceHead(values.topic, partition, batch.length) : commandHead(partition),
)
const tail = mode === 'produce' ? Buffer.alloc(0) : Buffer.from('\r\n')

function preparedBatches(): readonly Buffer[] {
  if (values.batch !== undefined) return [readFileSync(values.batch)]
  if (values['batch-bytes'] !== undefined) return wordBatches(recordBytes, Number(values['batch-bytes']))
  return [prepareBatch(recordBytes + 80, recordBytes)]
}

/** Returns different batches of one length. */
function wordBatches(valueBytes: number, batchBytes: number): readonly Buffer[] {
  const recordsPerBatch = Math.floor(batchBytes / (valueBytes + 26))
  const data = { keys: 1_000_000, order: 'random', codec: 'none', valueBytes, recordsPerBatch } as const
  const all = [...keyedBatches({ ...data, records: recordsPerBatch * MOST_BATCHES })]
  return all.filter(({ length }) => length === all[0]!.length)
}

/**
 * Returns the head of an XADD whose entry is like the broker's: the header has a field of its own. Redis chooses the
 * id.
 */
function commandHead(partition: number): Buffer {
  const words = ['XADD', `{${partition}}:paced`, '*', 'h', 'h'.repeat(28), 'b']
  const prefix = words.map(word => `$${word.length}\r\n${word}\r\n`).join('')
  return Buffer.from(`*${words.length + 1}\r\n${prefix}$${batch.length}\r\n`)
}

const startedAt = performance.now()
const measuredFrom = startedAt + Number(values['warm-up']) * 1000
const over = measuredFrom + Number(values.seconds) * 1000
/** The time at which each unanswered record was sent, by its number. Answers come in the order of the numbers. */
const sentAt = new Map<number, number>()
const latencies: number[] = []
let sent = 0
let answered = 0

function answer(): void {
  const at = sentAt.get(answered)!
  sentAt.delete(answered++)
  if (at >= measuredFrom) latencies.push(performance.now() - at)
  if (sentAt.size === 0 && performance.now() >= over) finish()
}

function finish(): never {
  latencies.sort((a, b) => a - b)
  const at = (share: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))]!
  const paced: Paced = {
    records: latencies.length,
    rate: latencies.length / Number(values.seconds),
    latencyMs: { p50: at(0.5), p99: at(0.99), max: latencies.at(-1)! },
  }
  console.log(JSON.stringify(paced))
  process.exit(0)
}

const socket = connect({ port: Number(values.port), host: '127.0.0.1', noDelay: true })

function send(): void {
  const head = Buffer.from(heads[sent % heads.length]!)
  if (mode === 'produce') setCorrelation(head, sent)
  sentAt.set(sent++, performance.now())
  socket.write(Buffer.concat([head, batches[sent % batches.length]!, tail]))
}

const readFrames = frameReader(response => {
  if (correlationOf(response) !== answered) refuse(`correlation id ${correlationOf(response)}, not ${answered}`)
  const { error } = readProduced(response)
  if (error !== 0) refuse(`error ${error} to a Produce`)
  answer()
})

let held = ''
/** Reads the answers. Each is an entry id as a bulk string: two lines. */
function readReplies(chunk: Buffer): void {
  const lines = (held + chunk.toString('latin1')).split('\r\n')
  held = lines.pop()!
  if (lines.length % 2 === 1) held = `${lines.pop()}\r\n${held}`
  for (let at = 0; at < lines.length; at += 2) {
    if (!lines[at]!.startsWith('$')) refuse(lines[at]!)
    answer()
  }
  if (held.startsWith('-')) refuse(held)
}

socket.on('data', mode === 'produce' ? readFrames : readReplies)
socket.on('error', error => refuse(`a broken connection: ${error.message}`))
socket.on('close', () => refuse('a closed connection'))
socket.on('connect', () => {
  const rate = Number(values.rate)
  const connectedAt = performance.now()
  // A late timer sends all records that are due.
  const timer = setInterval(() => {
    const now = performance.now()
    if (now >= over) {
      clearInterval(timer)
      if (sentAt.size === 0) finish()
      return
    }
    while (sent < ((now - connectedAt) / 1000) * rate) send()
  }, 1)
})
