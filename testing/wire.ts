// A raw client typed from the message declarations: one connection with or without TLS, pipelined requests, and answers
// matched by their correlation ids. It knows nothing of metadata, retries or groups, so a test decides every byte that
// it sends.

import { connect as connectSocket, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { decodeResponse, encodeRequest } from '../src/protocol/codec.ts'
import { readResponseHeader, requestHeader } from '../src/protocol/header.ts'
import type { Api, RequestInput, ResponseOf } from '../src/protocol/schema.ts'

export interface Wire {
  readonly socket: Socket
  /** Sends a request and resolves with its answer. Rejects if the connection ends before the answer. */
  send<A extends Api>(api: A, version: number, body: RequestInput<A>, options?: SendOptions): Promise<ResponseOf<A>>
  /** Sends a request that gets no answer, such as Produce with acks=0. Resolves when the kernel has the bytes. */
  post<A extends Api>(api: A, version: number, body: RequestInput<A>, options?: SendOptions): Promise<void>
  /** Sends bytes unchanged, without a size in front. */
  raw(bytes: Uint8Array): Promise<void>
  /**
   * Resolves with the next answer that belongs to no request of `send`, without its size; for example the answer to
   * `raw`.
   */
  answer(): Promise<Buffer>
  /** Resolves when either side has closed the connection. */
  readonly closed: Promise<void>
  close(): Promise<void>
}

export interface SendOptions {
  readonly clientId?: string | null
  /** By default a counter from 1. */
  readonly correlationId?: number
}

interface Waiting {
  readonly api: Api
  readonly version: number
  resolve(body: never): void
  reject(error: Error): void
}

const DEFAULT_CLIENT_ID = 'wire'

/** Connects, over TLS if `tls` is given, and from the address `from`. Rejects with the error of the socket. */
export async function connect(to: {
  port: number
  host?: string
  tls?: ConnectionOptions
  from?: string
}): Promise<Wire> {
  const from = to.from === undefined ? {} : { localAddress: to.from }
  const at = { port: to.port, host: to.host ?? '127.0.0.1', noDelay: true, ...from }
  const socket: Socket = to.tls === undefined ? connectSocket(at) : connectTls({ ...at, ...to.tls })
  await new Promise<void>((resolve, reject) => {
    socket.once(to.tls === undefined ? 'connect' : 'secureConnect', resolve)
    socket.once('error', reject)
  })

  // A test may use a correlation id twice; the broker answers in order.
  const waiting = new Map<number, Waiting[]>()
  const unclaimed: Buffer[] = []
  const listeners: { resolve(frame: Buffer): void; reject(error: Error): void }[] = []
  let nextCorrelationId = 1
  let received: Buffer[] = []
  let receivedBytes = 0
  let failure: Error | null = null

  socket.on('data', chunk => {
    received.push(chunk)
    receivedBytes += chunk.length
    for (let frame = takeFrame(); frame !== null; frame = takeFrame()) deliver(frame)
  })
  socket.on('error', error => {
    failure = error
  })
  const closed = new Promise<void>(resolve => {
    socket.once('close', () => {
      failure ??= new Error('the connection was closed')
      for (const queue of waiting.values()) for (const one of queue) one.reject(failure)
      for (const listener of listeners) listener.reject(failure)
      waiting.clear()
      listeners.length = 0
      resolve()
    })
  })

  function takeFrame(): Buffer | null {
    if (receivedBytes < 4) return null
    if (received[0]!.length < 4) received = [Buffer.concat(received)]
    const size = received[0]!.readInt32BE(0)
    if (size < 0) {
      socket.destroy(new Error(`the answer has a size of ${size}`))
      return null
    }
    if (receivedBytes < 4 + size) return null
    const all = received.length === 1 ? received[0]! : Buffer.concat(received)
    received = [all.subarray(4 + size)]
    receivedBytes -= 4 + size
    return all.subarray(4, 4 + size)
  }

  function deliver(frame: Buffer): void {
    const correlationId = frame.length < 4 ? null : frame.readInt32BE(0)
    const queue = correlationId === null ? undefined : waiting.get(correlationId)
    const one = queue?.shift()
    if (queue?.length === 0) waiting.delete(correlationId!)
    if (one === undefined) {
      const listener = listeners.shift()
      if (listener) listener.resolve(frame)
      else unclaimed.push(frame)
      return
    }
    try {
      const header = readResponseHeader(frame, one.api, one.version)
      one.resolve(decodeResponse(one.api, one.version, frame, header.bodyOffset) as never)
    } catch (error) {
      one.reject(error as Error)
    }
  }

  function write(parts: readonly Uint8Array[]): Promise<void> {
    if (failure) return Promise.reject(failure)
    socket.cork()
    const written = parts.map(
      part =>
        new Promise<void>((resolve, reject) => {
          socket.write(part, error => (error ? reject(error) : resolve()))
        }),
    )
    socket.uncork()
    return Promise.all(written).then(() => undefined)
  }

  function frameOf<A extends Api>(api: A, version: number, body: RequestInput<A>, id: number, clientId: string | null) {
    const parts = [requestHeader(api, version, id, clientId), ...encodeRequest(api, version, body)]
    const size = Buffer.alloc(4)
    size.writeInt32BE(parts.reduce((sum, part) => sum + part.length, 0))
    return [size, ...parts]
  }

  const clientOf = (options?: SendOptions) => (options?.clientId === undefined ? DEFAULT_CLIENT_ID : options.clientId)

  return {
    socket,
    closed,
    send<A extends Api>(api: A, version: number, body: RequestInput<A>, options?: SendOptions) {
      const correlationId = options?.correlationId ?? nextCorrelationId++
      const parts = frameOf(api, version, body, correlationId, clientOf(options))
      return new Promise<ResponseOf<A>>((resolve, reject) => {
        if (failure) return reject(failure)
        const queue = waiting.get(correlationId) ?? []
        queue.push({ api, version, resolve: resolve as Waiting['resolve'], reject })
        waiting.set(correlationId, queue)
        // If a write fails, the socket closes and rejects the request with the reason.
        write(parts).catch(() => undefined)
      })
    },
    post(api, version, body, options) {
      return write(frameOf(api, version, body, options?.correlationId ?? nextCorrelationId++, clientOf(options)))
    },
    raw: bytes => write([bytes]),
    answer() {
      const frame = unclaimed.shift()
      if (frame) return Promise.resolve(frame)
      if (failure) return Promise.reject(failure)
      return new Promise((resolve, reject) => listeners.push({ resolve, reject }))
    },
    async close() {
      socket.destroy()
      await closed
    },
  }
}
