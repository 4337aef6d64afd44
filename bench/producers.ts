// Ten producers in the process of a benchmark, for questions about the other clients of a broker. They produce at full
// speed, or at a fixed rate whether or not the earlier requests are answered. The question connects them. Measurements
// of the producing itself use generator.ts.

import type { Socket } from 'node:net'
import { frameReader, prepareBatch, produceHead, readProduced, setCorrelation } from './frames.ts'

/** Each of them writes to a partition of its own of the topic `bench`. */
export const PRODUCERS = 10
export const RECORD_BYTES = 1024
export const BATCH_BYTES = 16 << 10

/** Requests in flight of a producer at full speed. */
const IN_FLIGHT = 5

/** The result of a paced load. */
export interface Paced {
  /** The acknowledged share of the batches that were due. */
  readonly pace: number
  readonly p99Ms: number
}

/** Resolves with a socket on which Produce requests can be sent. Its bytes may not be read yet. */
type Join = () => Promise<Socket>

/** Connects the producers; `answered` is called with the producer's number for each answer. */
async function connectProducers(join: Join, answered: (producer: number) => void) {
  const batch = prepareBatch(BATCH_BYTES, RECORD_BYTES)
  const sockets = await Promise.all(Array.from({ length: PRODUCERS }, join))
  for (const [producer, socket] of sockets.entries()) {
    const read = frameReader(response => {
      const { error } = readProduced(response)
      if (error !== 0) throw new Error(`error ${error} to a Produce`)
      answered(producer)
    })
    socket.on('data', read)
  }
  const heads = sockets.map((_, producer) => produceHead('bench', producer, batch.length))
  return {
    send(producer: number, id: number) {
      const head = Buffer.from(heads[producer]!)
      setCorrelation(head, id)
      sockets[producer]!.write(Buffer.concat([head, batch]))
    },
    end() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Resolves with the acknowledged batches a second. */
export async function produceAtFullSpeed(join: Join, seconds: number): Promise<number> {
  let sent = 0
  let done = 0
  const producers = await connectProducers(join, producer => {
    done++
    producers.send(producer, sent++)
  })
  for (let producer = 0; producer < PRODUCERS; producer++) {
    for (let i = 0; i < IN_FLIGHT; i++) producers.send(producer, sent++)
  }
  await new Promise(resolve => setTimeout(resolve, seconds * 1000))
  producers.end()
  return done / seconds
}

export async function producePaced(join: Join, perSecond: number, seconds: number): Promise<Paced> {
  const waiting = Array.from({ length: PRODUCERS }, (): number[] => [])
  const latencies: number[] = []
  let sent = 0
  const producers = await connectProducers(join, producer =>
    latencies.push(performance.now() - waiting[producer]!.shift()!),
  )
  const startedAtMs = performance.now()
  const due = (nowMs: number) => ((nowMs - startedAtMs) / 1000) * perSecond
  const timer = setInterval(() => {
    for (const most = due(performance.now()); sent < most; sent++) {
      const producer = sent % PRODUCERS
      waiting[producer]!.push(performance.now())
      producers.send(producer, sent)
    }
  }, 1)
  await new Promise(resolve => setTimeout(resolve, seconds * 1000))
  clearInterval(timer)
  const pace = latencies.length / due(performance.now())
  // A request without an answer counts with the time that it has waited so far.
  for (const since of waiting.flat()) latencies.push(performance.now() - since)
  producers.end()
  latencies.sort((one, other) => one - other)
  return { pace, p99Ms: latencies[Math.floor(latencies.length * 0.99)]! }
}
