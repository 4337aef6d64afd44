// Sends requests to the other brokers of the cluster over the Kafka protocol, as a client of their first listener.
// Each broker has one pipelined connection. It opens with the first request, and closes after a while without
// requests. This file retries nothing: only the caller knows whether that is safe.

import { connect, type Socket } from 'node:net'
import type { Clock, Timer } from '../base/clock.ts'
import type { BrokerInfo, Endpoint } from '../cluster/broker-record.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { endpointForPeers, type Peers, PeerUnavailable } from '../cluster/peers.ts'
import { decodeResponse, encodeRequest } from '../protocol/codec.ts'
import { readResponseHeader, requestHeader } from '../protocol/header.ts'
import type { Api, RequestInput, ResponseOf } from '../protocol/schema.ts'

/** The longest time from a request to its answer. It is short because people wait for the answer. */
const ANSWER_MS = 5_000
const IDLE_MS = 30_000
/** The largest answer in bytes. It is far above every answer that a broker sends to another. */
const MAX_ANSWER_BYTES = 100 * 1024 * 1024
const MAX_CORRELATION_ID = 2 ** 31 - 1

export interface OpenPeers extends Peers {
  /** Rejects the unanswered requests and closes every connection. */
  close(): void
}

export function openPeers(rooms: {
  readonly cluster: Pick<Cluster, 'brokerId' | 'brokers' | 'watch'>
  readonly clock: Clock
}): OpenPeers {
  const { cluster, clock } = rooms
  const links = new Map<number, Link>()
  const clientId = `ketch-broker-${cluster.brokerId}`
  const living = (brokerId: number) => cluster.brokers().find(({ id }) => id === brokerId)
  let closed = false

  function drop(link: Link, why: PeerUnavailable): void {
    if (links.get(link.broker.id) === link) links.delete(link.broker.id)
    link.end(why)
  }

  function linkTo(broker: BrokerInfo, endpoint: Endpoint): Link {
    const known = links.get(broker.id)
    if (known?.broker.incarnation === broker.incarnation && !known.isEnded) return known
    const made = new Link(broker, endpoint, clientId, clock)
    links.set(broker.id, made)
    return made
  }

  cluster.watch({
    changed() {
      for (const link of [...links.values()]) {
        const { id, incarnation } = link.broker
        if (living(id)?.incarnation !== incarnation) drop(link, new PeerUnavailable(id, 'is gone', false))
      }
    },
    looked() {},
  })

  return {
    async ask(brokerId, api, version, body) {
      const broker = living(brokerId)
      const endpoint = broker === undefined ? null : endpointForPeers(broker)
      if (closed || broker === undefined || endpoint === null)
        throw new PeerUnavailable(brokerId, 'does not serve', true)
      return await linkTo(broker, endpoint).ask(api, version, body)
    },

    close() {
      closed = true
      for (const link of [...links.values()])
        drop(link, new PeerUnavailable(link.broker.id, 'was abandoned: this broker closes', false))
    },
  }
}

interface Question {
  readonly api: Api
  readonly version: number
  readonly timer: Timer
  settle(answer: never): void
  fail(error: PeerUnavailable): void
}

/** One connection to a broker. It is not used again after it has ended. */
class Link {
  readonly broker: BrokerInfo
  readonly #clientId: string
  readonly #clock: Clock
  readonly #socket: Socket
  readonly #questions = new Map<number, Question>()
  #isConnected = false
  #lastId = 0
  #received: Buffer[] = []
  #receivedBytes = 0
  #idle: Timer | null = null
  isEnded = false

  constructor(broker: BrokerInfo, { host, port }: Endpoint, clientId: string, clock: Clock) {
    this.broker = broker
    this.#clientId = clientId
    this.#clock = clock
    this.#socket = connect({ host, port, noDelay: true })
      .on('connect', () => {
        this.#isConnected = true
      })
      .on('data', chunk => this.#take(chunk))
      .on('error', error => this.end(this.#unavailable(`cannot be reached at ${host}:${port}`, error)))
      .on('close', () => this.end(this.#unavailable('has closed the connection')))
  }

  ask<A extends Api>(api: A, version: number, body: RequestInput<A>): Promise<ResponseOf<A>> {
    const id = this.#lastId === MAX_CORRELATION_ID ? 1 : this.#lastId + 1
    this.#lastId = id
    const parts = [requestHeader(api, version, id, this.#clientId), ...encodeRequest(api, version, body)]
    const size = Buffer.alloc(4)
    size.writeInt32BE(parts.reduce((sum, part) => sum + part.length, 0))
    this.#idle?.cancel()
    const { promise, resolve, reject } = Promise.withResolvers<ResponseOf<A>>()
    // Answers come in the order of the requests. If one request gets no answer, the later ones get none either.
    const late = () => this.end(this.#unavailable(`has not answered within ${ANSWER_MS} ms`))
    const timer = this.#clock.timer(ANSWER_MS, late)
    this.#questions.set(id, { api, version, timer, settle: resolve, fail: reject })
    this.#socket.cork()
    this.#socket.write(size)
    for (const part of parts) this.#socket.write(part)
    this.#socket.uncork()
    return promise
  }

  /** Closes the connection and rejects the requests without an answer. Idempotent. */
  end(why: PeerUnavailable): void {
    if (this.isEnded) return
    this.isEnded = true
    this.#idle?.cancel()
    this.#socket.destroy()
    for (const { timer, fail } of this.#questions.values()) {
      timer.cancel()
      fail(why)
    }
    this.#questions.clear()
    this.#received = []
  }

  #unavailable(what: string, cause?: unknown): PeerUnavailable {
    return new PeerUnavailable(this.broker.id, what, !this.#isConnected, { cause })
  }

  #take(chunk: Buffer): void {
    this.#received.push(chunk)
    this.#receivedBytes += chunk.length
    try {
      for (let frame = this.#frame(); frame !== null && !this.isEnded; frame = this.#frame()) this.#answer(frame)
    } catch (error) {
      this.end(this.#unavailable('sent an answer that cannot be read', error))
    }
  }

  /** Returns the next whole frame without its size; null if it has not arrived completely. */
  #frame(): Buffer | null {
    if (this.#receivedBytes < 4) return null
    if (this.#received[0]!.length < 4) this.#received = [Buffer.concat(this.#received)]
    const size = this.#received[0]!.readInt32BE(0)
    if (size < 4 || size > MAX_ANSWER_BYTES) throw new Error(`an answer of ${size} bytes was announced`)
    if (this.#receivedBytes < 4 + size) return null
    const all = this.#received.length === 1 ? this.#received[0]! : Buffer.concat(this.#received)
    this.#received = [all.subarray(4 + size)]
    this.#receivedBytes -= 4 + size
    return all.subarray(4, 4 + size)
  }

  #answer(frame: Buffer): void {
    const id = frame.readInt32BE(0)
    const question = this.#questions.get(id)
    if (question === undefined) throw new Error(`the answer ${id} belongs to no request`)
    const { api, version, timer, settle } = question
    const { bodyOffset } = readResponseHeader(frame, api, version)
    const body = decodeResponse(api, version, frame, bodyOffset)
    this.#questions.delete(id)
    timer.cancel()
    if (this.#questions.size === 0)
      this.#idle = this.#clock.timer(IDLE_MS, () => this.end(this.#unavailable('was not asked for long')))
    settle(body as never)
  }
}
