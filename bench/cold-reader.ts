// A consumer for the benchmarks of the remote tier: one connection, one Fetch at a time, of one partition.

import { connect } from 'node:net'
import { type Fetched, fetchRequest, frameReader, readFetched, setFetchOffset } from './frames.ts'

export interface ColdReader {
  /** Resolves with the answer and its time. Rejects if the broker refuses it or closes the connection. */
  fetch(partition: number, offset: number): Promise<Fetched & { readonly ms: number }>
  close(): void
}

/** Each answer has at most this many bytes. */
export async function openColdReader(port: number, topic: string, maxBytes = 2 ** 20): Promise<ColdReader> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  let waiting: PromiseWithResolvers<Fetched> | null = null
  const fail = (why: string) => waiting?.reject(new Error(why))
  socket.on('error', error => fail(error.message))
  socket.on('close', () => fail('the broker has closed the connection'))
  const read = frameReader(response => waiting?.resolve(readFetched(response)))
  socket.on('data', read)
  return {
    async fetch(partition, offset) {
      const request = fetchRequest(topic, partition, maxBytes)
      setFetchOffset(request, offset)
      waiting = Promise.withResolvers()
      const sentAt = performance.now()
      socket.write(request)
      const fetched = await waiting.promise
      if (fetched.error !== 0)
        throw new Error(`error ${fetched.error} to a Fetch of ${topic}-${partition} at ${offset}`)
      return { ...fetched, ms: performance.now() - sentAt }
    },
    close: () => void socket.destroy(),
  }
}

/** Reads a partition from 0 to its end, and resolves with its bytes. */
export async function readThrough(port: number, topic: string, partition: number): Promise<number> {
  const reader = await openColdReader(port, topic)
  let bytes = 0
  for (let offset = 0; ; ) {
    const fetched = await reader.fetch(partition, offset)
    bytes += fetched.bytes
    offset = fetched.nextOffset ?? offset
    if (offset >= fetched.highWatermark) break
  }
  reader.close()
  return bytes
}
