// Clients beside the poison, in a thread of their own, so that they wait for the brokers and not for the test. At
// each broker one client produces a record, fetches it and requests metadata, again and again, and measures the
// slowest request. Another client does the same at a broker on the same machine without poison: the wait there shows
// the load of the machine.

import { parentPort, Worker, workerData } from 'node:worker_threads'
import { systemClock } from '../../src/base/clock.ts'
import { fetch } from '../../src/protocol/messages/fetch.ts'
import { metadata } from '../../src/protocol/messages/metadata.ts'
import { produce } from '../../src/protocol/messages/produce.ts'
import { encodeBatch } from '../../src/protocol/records.ts'
import { connect, type Wire } from '../../testing/wire.ts'

export interface Bystander {
  /** Resolves to the slowest request in ms since the last call: at the poisoned brokers, and at the other one. */
  slowest(): Promise<{ readonly hereMs: number; readonly elsewhereMs: number; readonly requests: number }>
  stop(): Promise<void>
}

interface Place {
  readonly port: number
  readonly topic: string
  readonly partition: number
  readonly isElsewhere: boolean
}

/** Starts the clients. slowest() rejects if a request of a client is refused or its connection is lost. */
export function startBystander(places: readonly Place[]): Bystander {
  const worker = new Worker(new URL(import.meta.url), { workerData: places })
  const failed = new Promise<never>((_, reject) => {
    worker.once('error', reject)
    worker.once('exit', status => reject(new Error(`the clients beside the poison ended with status ${status}`)))
  })
  failed.catch(() => {})
  return {
    slowest() {
      const answered = new Promise<Awaited<ReturnType<Bystander['slowest']>>>(resolve => {
        worker.once('message', resolve)
      })
      worker.postMessage('slowest')
      return Promise.race([answered, failed])
    },
    async stop() {
      await worker.terminate()
    },
  }
}

const PAUSE_MS = 20

async function stand(places: readonly Place[]): Promise<never> {
  let hereMs = 0
  let elsewhereMs = 0
  let requests = 0
  parentPort!.on('message', () => {
    parentPort!.postMessage({ hereMs, elsewhereMs, requests })
    hereMs = 0
    elsewhereMs = 0
    requests = 0
  })
  const timed = async <T>(place: Place, work: () => Promise<T>): Promise<T> => {
    const beganAtMs = systemClock.monotonic()
    const result = await work()
    const tookMs = systemClock.monotonic() - beganAtMs
    requests++
    if (place.isElsewhere) elsewhereMs = Math.max(elsewhereMs, tookMs)
    else hereMs = Math.max(hereMs, tookMs)
    return result
  }
  const each = async (place: Place): Promise<never> => {
    const wire = await connect({ port: place.port })
    for (;;) {
      await timed(place, () => wire.send(metadata, 9, { topics: [] }))
      const offset = await timed(place, () => produceTo(wire, place))
      await timed(place, () => fetchFrom(wire, place, offset))
      await new Promise(resolve => systemClock.timer(PAUSE_MS, () => resolve(null)))
    }
  }
  return await Promise.race(places.map(each))
}

async function produceTo(wire: Wire, { topic, partition }: Place): Promise<number> {
  const records = encodeBatch([{ value: 'calm', timestamp: systemClock.now() }])
  const topicData = [{ name: topic, partitionData: [{ index: partition, records }] }]
  const { responses } = await wire.send(produce, 9, { acks: -1, timeoutMs: 30_000, topicData })
  const { errorCode, baseOffset } = responses[0]!.partitionResponses[0]!
  if (errorCode !== 0) throw new Error(`a produce request beside the poison got error code ${errorCode}`)
  return baseOffset
}

async function fetchFrom(wire: Wire, { topic, partition }: Place, fetchOffset: number): Promise<void> {
  const topics = [{ topic, partitions: [{ partition, fetchOffset, partitionMaxBytes: 1e6 }] }]
  const { responses } = await wire.send(fetch, 11, { maxWaitMs: 0, minBytes: 0, maxBytes: 1e6, topics })
  const { errorCode, records } = responses[0]!.partitions[0]!
  if (errorCode !== 0 || !Buffer.from(records!).includes('calm'))
    throw new Error(`a fetch beside the poison got error code ${errorCode}`)
}

if (parentPort !== null) {
  // The timers of this clock keep no thread alive; the message port does.
  await stand(workerData as readonly Place[])
}
