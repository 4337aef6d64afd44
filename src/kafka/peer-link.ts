// One connection to another broker: it connects as the record of that broker says, over TLS and with an
// authentication or without, and then sends requests and matches the answers. It retries nothing (peers.ts).
//
//   connecting ──> securing ──────────> authenticating ──────────────> ready
//                  only with TLS        only with SASL: the mechanism
//                  (peer-tls.ts)        of auth/sasl/broker-mechanism.ts
//
// Requests wait until the connection is ready. So if it fails earlier, they were certainly not sent.

import { connect, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { BROKER_MECHANISM, BrokerNotProven, EXPORTER_LABEL, greetBroker } from '../auth/sasl/broker-mechanism.ts'
import type { Clock, Timer } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { BrokerInfo, Endpoint } from '../cluster/broker-record.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { PeerUnavailable } from '../cluster/peers.ts'
import { decodeResponse, encodeRequest } from '../protocol/codec.ts'
import { errorOf, NONE } from '../protocol/errors.ts'
import { readResponseHeader, requestHeader } from '../protocol/header.ts'
import { saslAuthenticate } from '../protocol/messages/sasl-authenticate.ts'
import { saslHandshake } from '../protocol/messages/sasl-handshake.ts'
import type { Api, RequestInput, ResponseOf } from '../protocol/schema.ts'
import { usesSasl, usesTls } from '../settings/endpoints.ts'
import type { Store } from '../store/store.ts'
import type { ServerCertificate } from '../tls/server-certificate.ts'

/** The longest time of each step of an authentication. The requests that wait for it have their own, shorter limit. */
const STEP_MS = 5_000
const IDLE_MS = 30_000
/** The largest answer in bytes during an authentication. */
const MAX_STEP_BYTES = 64 * 1024
/** The largest answer in bytes. It is far above every answer that a broker sends to another. */
const MAX_ANSWER_BYTES = 100 * 1024 * 1024
const MAX_CORRELATION_ID = 2 ** 31 - 1

export interface LinkRooms {
  readonly cluster: Pick<Cluster, 'brokerId' | 'incarnation'>
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  /** The certificate of this broker's listeners; null if they do not use TLS. */
  readonly certificate: ServerCertificate | null
}

/** The two brokers could not agree who the other one is. No request was sent. */
export class PeerNotTrusted extends PeerUnavailable {
  constructor(brokerId: number, what: string, options?: ErrorOptions) {
    super(brokerId, what, true, options)
  }
}

interface Question {
  readonly api: Api
  readonly version: number
  readonly timer: Timer
  settle(answer: never): void
  fail(error: PeerUnavailable): void
}

/** It is not used again after it has ended. */
export class Link {
  readonly broker: BrokerInfo
  readonly #endpoint: Endpoint
  readonly #rooms: LinkRooms
  readonly #clientId: string
  #socket: Socket | null = null
  #isBegun = false
  #state: 'connecting' | 'securing' | 'authenticating' | 'ready' = 'connecting'
  readonly #questions = new Map<number, Question>()
  /** The frames of requests that wait until the connection is ready. */
  #waiting: Uint8Array[] = []
  #lastId = 0
  #received: Buffer[] = []
  #receivedBytes = 0
  #idle: Timer | null = null
  isEnded = false

  constructor(broker: BrokerInfo, endpoint: Endpoint, rooms: LinkRooms) {
    this.broker = broker
    this.#endpoint = endpoint
    this.#rooms = rooms
    this.#clientId = `ketch-broker-${rooms.cluster.brokerId}`
  }

  /**
   * Sends the request, and connects first if this is the first one. Throws PeerUnavailable; PeerNotTrusted if the
   * connection could not be secured.
   */
  ask<A extends Api>(api: A, version: number, body: RequestInput<A>, timeoutMs: number): Promise<ResponseOf<A>> {
    const { answer, frame } = this.#question(api, version, body, timeoutMs)
    if (this.#state === 'ready') this.#write(frame)
    else this.#waiting.push(...frame)
    if (!this.#isBegun) void this.#connect()
    return answer
  }

  /** Closes the connection and rejects the requests without an answer. Idempotent. */
  end(why: PeerUnavailable): void {
    if (this.isEnded) return
    this.isEnded = true
    this.#idle?.cancel()
    this.#socket?.destroy()
    for (const { timer, fail } of this.#questions.values()) {
      timer.cancel()
      fail(why)
    }
    this.#questions.clear()
    this.#waiting = []
    this.#received = []
  }

  async #connect(): Promise<void> {
    this.#isBegun = true
    const { host, port, security } = this.#endpoint
    const { id, certificates } = this.broker
    const isTls = usesTls(security)
    // Node's TLS is loaded only if a broker needs it.
    const tls = isTls ? await import('./peer-tls.ts') : null
    if (this.isEnded) return
    let socket: Socket
    try {
      socket = tls
        ? tls.connectPinned(this.#endpoint, certificates, this.#rooms.certificate)
        : connect({ host, port, noDelay: true })
    } catch (cause) {
      this.end(new PeerNotTrusted(id, 'has no readable certificate in its record in the store', { cause }))
      return
    }
    this.#socket = socket
      .on('data', chunk => this.#take(chunk))
      .once('connect', () => {
        if (isTls) this.#state = 'securing'
        else this.#secured()
      })
      .once('secureConnect', () => this.#secured())
      .on('error', error =>
        this.end(
          tls && this.#state === 'securing'
            ? new PeerNotTrusted(id, tls.phraseOf(error), { cause: error })
            : this.#unavailable(`cannot be reached at ${host}:${port}`, error),
        ),
      )
      .on('close', () => this.end(this.#unavailable('has closed the connection')))
  }

  #secured(): void {
    if (!usesSasl(this.#endpoint.security)) {
      this.#begin()
      return
    }
    this.#state = 'authenticating'
    this.#authenticate().then(
      () => this.#begin(),
      error => this.end(this.#refused(error)),
    )
  }

  #begin(): void {
    if (this.isEnded) return
    this.#state = 'ready'
    this.#write(this.#waiting)
    this.#waiting = []
  }

  async #authenticate(): Promise<void> {
    const { cluster } = this.#rooms
    const bound = isTlsSocket(this.#socket!)
      ? this.#socket.exportKeyingMaterial(32, EXPORTER_LABEL, Buffer.alloc(0))
      : null
    const self = { id: cluster.brokerId, incarnation: cluster.incarnation }
    const greeting = await greetBroker(this.#rooms, { self, other: this.broker, bound })
    if (this.isEnded) return
    const { errorCode } = await this.#step(saslHandshake, 1, { mechanism: BROKER_MECHANISM })
    if (errorCode !== NONE)
      throw new BrokerNotProven(`does not take the authentication of brokers (${textOf(errorCode)})`)
    const challenge = await this.#exchange(greeting.hello)
    greeting.confirm(await this.#exchange(greeting.prove(challenge)))
  }

  /** Resolves with the next token of the other broker. */
  async #exchange(token: Uint8Array): Promise<Uint8Array> {
    const { errorCode, errorMessage, authBytes } = await this.#step(saslAuthenticate, 2, { authBytes: token })
    if (errorCode !== NONE)
      throw new BrokerNotProven(`refused the authentication of this broker (${textOf(errorCode)}: ${errorMessage})`)
    return authBytes
  }

  #step<A extends Api>(api: A, version: number, body: RequestInput<A>): Promise<ResponseOf<A>> {
    const { answer, frame } = this.#question(api, version, body, STEP_MS)
    this.#write(frame)
    return answer
  }

  #refused(error: Error): PeerUnavailable {
    if (error instanceof PeerUnavailable) return error
    if (error instanceof BrokerNotProven) return new PeerNotTrusted(this.broker.id, error.message, { cause: error })
    return this.#unavailable('could not be asked, because the store did not give the key of the cluster', error)
  }

  #unavailable(what: string, cause?: unknown): PeerUnavailable {
    return new PeerUnavailable(this.broker.id, what, this.#state !== 'ready', { cause })
  }

  #question<A extends Api>(api: A, version: number, body: RequestInput<A>, timeoutMs: number) {
    const { promise: answer, resolve, reject } = Promise.withResolvers<ResponseOf<A>>()
    const id = this.#lastId === MAX_CORRELATION_ID ? 1 : this.#lastId + 1
    this.#lastId = id
    const parts = [requestHeader(api, version, id, this.#clientId), ...encodeRequest(api, version, body)]
    const size = Buffer.alloc(4)
    size.writeInt32BE(parts.reduce((sum, part) => sum + part.length, 0))
    this.#idle?.cancel()
    // Answers come in the order of the requests. If one request gets no answer, the later ones get none either.
    const late = () => this.end(this.#unavailable(`has not answered within ${Math.round(timeoutMs)} ms`))
    const timer = this.#rooms.clock.timer(timeoutMs, late)
    this.#questions.set(id, { api, version, timer, settle: resolve, fail: reject })
    return { answer, frame: [size, ...parts] }
  }

  #write(parts: readonly Uint8Array[]): void {
    if (this.#socket === null || this.isEnded) return
    this.#socket.cork()
    for (const part of parts) this.#socket.write(part)
    this.#socket.uncork()
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
    const mostBytes = this.#state === 'ready' ? MAX_ANSWER_BYTES : MAX_STEP_BYTES
    if (size < 4 || size > mostBytes) throw new Error(`an answer of ${size} bytes was announced`)
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
      this.#idle = this.#rooms.clock.timer(IDLE_MS, () => this.end(this.#unavailable('was not asked for long')))
    settle(body as never)
  }
}

function isTlsSocket(socket: Socket): socket is TLSSocket {
  return 'exportKeyingMaterial' in socket
}

function textOf(errorCode: number): string {
  return errorOf(errorCode)?.name ?? `error ${errorCode}`
}
