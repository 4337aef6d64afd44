// A client beside the poison, in a thread of its own, so that it waits for brokers and not for the test: to each broker
// in turn it produces a record, fetches it and asks for metadata, all the time, and says how long the slowest of these
// took. To another broker on the same machine, which gets no poison, it does the same: the wait there is the machine's.

import { parentPort, Worker, workerData } from 'node:worker_threads'
import { systemClock } from '../../src/base/clock.ts'
import { fetch } from '../../src/protocol/messages/fetch.ts'
import { metadata } from '../../src/protocol/messages/metadata.ts'
import { produce } from '../../src/protocol/messages/produce.ts'
import { encodeBatch } from '../../src/protocol/records.ts'
import { connect, type Wire } from '../../testing/wire.ts'

export interface Bystander {
  /** Since the last question, in milliseconds: of the brokers, and of the other one. */
  slowest(): Promise<{ readonly hereMs: number; readonly elsewhereMs: number; readonly requests: number }>
  stop(): Promise<void>
}

interface Place {
  readonly port: number
  readonly topic: string
  readonly partition: number
  readonly isElsewhere: boolean
}

/** Rejects where one of the clients is refused or loses its connection. */
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

const PAUSE_MS = 10

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
  if (errorCode !== 0) throw new Error(`a produce request beside the poison was answered ${errorCode}`)
  return baseOffset
}

async function fetchFrom(wire: Wire, { topic, partition }: Place, fetchOffset: number): Promise<void> {
  const topics = [{ topic, partitions: [{ partition, fetchOffset, partitionMaxBytes: 1e6 }] }]
  const { responses } = await wire.send(fetch, 11, { maxWaitMs: 0, minBytes: 0, maxBytes: 1e6, topics })
  const { errorCode, records } = responses[0]!.partitions[0]!
  if (errorCode !== 0 || !Buffer.from(records!).includes('calm'))
    throw new Error(`a fetch beside the poison was answered ${errorCode}`)
}

if (parentPort !== null) {
  // The timers of the clock keep no thread alive; the port does.
  await stand(workerData as readonly Place[])
}
