// Decides which connections may stay on the HTTP listener. A connection is busy while a complete request on it waits
// for its answer, for example for a stream. Other connections cost their clients nothing: clients keep them alive,
// opened them in advance, or send a request byte by byte. So if there are too many connections, from one address or
// in total, those that are not busy are closed, the longest idle first. A new connection has a grace period to send
// its request. Fewer connections may be busy than open, so that requests for health always have a place.

import type { Socket } from 'node:net'
import type { Clock, Timer } from '../base/clock.ts'
import type { Descriptors } from '../telemetry/descriptors.ts'
import type { Logger } from '../telemetry/logger.ts'

export interface PlaceLimits {
  /** Beyond these, connections that are not busy are closed. */
  readonly maxConnections: number
  readonly maxConnectionsOfAddress: number
  /** Requests beyond these numbers are answered BUSY, unless they ask for health. */
  readonly maxBusy: number
  readonly maxBusyOfAddress: number
  /** The grace period in ms: for a new connection to send its request, and for a kept one to send the next. */
  readonly graceMs: number
  /**
   * The most connections in their grace period. Beyond this number and `maxConnections` new ones are closed at once.
   */
  readonly maxNew: number
}

export const PLACE_LIMITS: PlaceLimits = Object.freeze({
  maxConnections: 1_000,
  maxConnectionsOfAddress: 250,
  maxBusy: 900,
  maxBusyOfAddress: 200,
  graceMs: 100,
  maxNew: 500,
})

export interface PlaceRooms {
  readonly clock: Clock
  readonly logger: Logger
  readonly descriptors: Descriptors
}

interface Place {
  readonly socket: Socket
  readonly address: string
  readonly neighbours: Neighbours
  /** The number of complete requests that wait for their answers. */
  waiting: number
  /** The time of its last answer, or of its acceptance. */
  idleSinceMs: number
}

/** The connections of one address. */
interface Neighbours {
  count: number
  /** The connections that are not busy, the longest idle first. */
  readonly idle: Set<Place>
}

const LOG_EVERY_MS = 10_000

export class Places {
  readonly #limits: PlaceLimits
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #descriptors: Descriptors
  readonly #isExempt: (address: string) => boolean
  readonly #places = new Map<Socket, Place>()
  readonly #addresses = new Map<string, Neighbours>()
  /** The connections that are not busy, the longest idle first. */
  readonly #idle = new Set<Place>()
  /** Addresses that have, or had, too many connections. */
  readonly #crowded = new Set<string>()
  /** The TCP socket below each TLS socket that a request names. */
  readonly #wires = new WeakMap<Socket, Socket>()
  #timer: Timer | null = null
  /** With this many connections, half of the kept descriptors are left; infinite while there are plenty. */
  #most = Number.POSITIVE_INFINITY

  /** `isExempt` returns true for an address of many clients: only the limits of all connections apply to it. */
  constructor(limits: PlaceLimits, { clock, logger, descriptors }: PlaceRooms, isExempt: (address: string) => boolean) {
    this.#limits = limits
    this.#clock = clock
    this.#logger = logger.named('http')
    this.#descriptors = descriptors
    this.#isExempt = isExempt
  }

  /** Notes a connection that was accepted. */
  enter(socket: Socket): void {
    const address = socket.remoteAddress ?? 'unknown'
    const neighbours = this.#addresses.get(address) ?? { count: 0, idle: new Set() }
    this.#addresses.set(address, neighbours)
    neighbours.count++
    const place: Place = { socket, address, neighbours, waiting: 0, idleSinceMs: 0 }
    this.#places.set(socket, place)
    this.#rest(place)
    if (neighbours.count > this.#limits.maxConnectionsOfAddress && !this.#isExempt(address)) this.#crowded.add(address)
    this.#trim()
    this.#spare(place)
  }

  /** Notes that TLS was set up on an accepted connection. Its requests will name the `secure` socket. */
  secured(secure: Socket, wire: Socket): void {
    this.#wires.set(secure, wire)
  }

  /** Returns the accepted socket for the socket that a request names. */
  wireOf(socket: Socket): Socket {
    return this.#wires.get(socket) ?? socket
  }

  /** Removes a connection that is gone. Idempotent. */
  leave(socket: Socket): void {
    const place = this.#places.get(socket)
    if (place === undefined) return
    const { address, neighbours } = place
    this.#places.delete(socket)
    this.#idle.delete(place)
    neighbours.idle.delete(place)
    neighbours.count--
    if (neighbours.count === 0) this.#addresses.delete(address)
    if (this.#places.size * 2 <= this.#most) this.#most = Number.POSITIVE_INFINITY
  }

  /** Notes that a complete request has arrived. The caller must call `answered` later. */
  asked(socket: Socket): void {
    const place = this.#places.get(this.wireOf(socket))
    if (place === undefined) return
    place.waiting++
    this.#idle.delete(place)
    place.neighbours.idle.delete(place)
  }

  answered(socket: Socket): void {
    const place = this.#places.get(this.wireOf(socket))
    if (place === undefined) return
    place.waiting--
    if (place.waiting === 0) this.#rest(place)
  }

  /** Returns whether a request of this connection is one too many, and logs it. */
  isBeyond(socket: Socket): boolean {
    const place = this.#places.get(this.wireOf(socket))
    if (place === undefined) return false
    const { address, neighbours } = place
    const { maxBusy, maxBusyOfAddress } = this.#limits
    const busyOfAddress = neighbours.count - neighbours.idle.size
    if (busyOfAddress > maxBusyOfAddress && !this.#isExempt(address)) {
      this.#tell(`an HTTP request was refused: ${maxBusyOfAddress} others of its address wait for answers`, address)
      return true
    }
    if (this.#places.size - this.#idle.size <= maxBusy) return false
    this.#tell(`an HTTP request was refused: ${maxBusy} others wait for answers`, address)
    return true
  }

  /** Logs that a connection was not accepted, because no place is left at all. */
  dropped(address: string | undefined): void {
    this.#tell('an HTTP connection was closed as it came: there are too many', address ?? 'unknown')
  }

  close(): void {
    this.#timer?.cancel()
  }

  #rest(place: Place): void {
    place.idleSinceMs = this.#clock.monotonic()
    this.#idle.add(place)
    place.neighbours.idle.add(place)
  }

  /** Closes connections beyond the limits. Those in their grace period are closed when it is over. */
  #trim(): void {
    const { maxConnections, maxConnectionsOfAddress } = this.#limits
    let isDone = this.#cut(this.#idle, () => this.#places.size - maxConnections, `there are ${maxConnections}`)
    for (const address of this.#crowded) {
      const neighbours = this.#addresses.get(address)
      const why = `its address has ${maxConnectionsOfAddress}`
      const surplus = () => neighbours!.count - maxConnectionsOfAddress
      if (neighbours === undefined || this.#cut(neighbours.idle, surplus, why)) this.#crowded.delete(address)
      else isDone = false
    }
    if (isDone || this.#timer !== null) return
    this.#timer = this.#clock.timer(this.#limits.graceMs, () => {
      this.#timer = null
      this.#trim()
    })
  }

  /**
   * Closes connections if too few descriptors are left. Connections over HTTP get half of the descriptors that are
   * kept, and three quarters during their grace period. The number of a new descriptor tells how many are in use only
   * if no lower number is free. So the count continues from the last such number. Otherwise each connection that
   * closes would hide how few are left.
   */
  #spare({ socket }: Place): void {
    const { kept, limit } = this.#descriptors
    const left = this.#descriptors.leftAfter(socket)
    if (left < kept / 2) this.#most = Math.max(1, Math.min(this.#most, this.#places.size + left - Math.floor(kept / 2)))
    const why = `of ${limit} descriptors the last ${Math.floor(kept / 2)} are kept for files (ulimit -n)`
    if (this.#cut(this.#idle, () => this.#places.size - this.#most, why)) return
    // The newest connection comes last: it may ask about health. In a flood each connection stays until the others
    // have had their turn.
    this.#cut(this.#idle, () => this.#places.size - this.#most - Math.floor(kept / 4), why, 0)
  }

  /** Closes idle connections. Returns false if there are still too many. */
  #cut(idle: ReadonlySet<Place>, surplus: () => number, why: string, graceMs = this.#limits.graceMs): boolean {
    const latestMs = this.#clock.monotonic() - graceMs
    for (const { socket, address, idleSinceMs } of idle) {
      if (surplus() <= 0 || idleSinceMs > latestMs) break
      this.leave(socket)
      socket.destroy()
      this.#tell(`an HTTP connection on which no request was complete was closed: ${why}`, address)
    }
    return surplus() <= 0
  }

  #tell(message: string, address: string): void {
    this.#logger.limited('places', LOG_EVERY_MS).warn(message, { address })
  }
}
