// Knows how far each client has read the partitions that this broker leads. A client is identified by its id and
// address, because a fetch contains no more; the coordinator knows its group (deliveries.ts). The positions are only
// in memory, and the memory is limited: the clients that have not fetched for the longest time are forgotten first.

import type { Clock } from '../base/clock.ts'

/** The position of a client in a partition. */
export interface ReadPosition {
  /** The offset after the last record that was delivered to it. */
  readonly nextOffset: number
  /** When the fetch came that was answered last, on Clock.monotonic(). */
  readonly atMs: number
}

/** One client. Look it up for each fetch and do not keep it. */
export interface Reader {
  /** Records that the client got an answer up to this offset. The offset may be lower than an earlier one. */
  delivered(topicId: string, partition: number, nextOffset: number): void
}

export interface ReadPositions {
  /** Returns the client with this id and address. The call counts as a fetch, so this client is forgotten last. */
  reader(clientId: string, address: string): Reader
  /** Returns null if this client is not known to have read the partition. */
  of(clientId: string, address: string, topicId: string, partition: number): ReadPosition | null
}

/** The most memory of the readers of all partitions together, in bytes: some 250,000 positions. */
const MAX_BYTES = 32 * 1024 * 1024

// Measured on Node 24, rounded up.
const READER_BYTES = 600
const TOPIC_BYTES = 300
const POSITION_BYTES = 120

type Positions = Map<string, Map<number, { nextOffset: number; atMs: number }>>

export function openReadPositions(clock: Pick<Clock, 'monotonic'>, maxBytes = MAX_BYTES): ReadPositions {
  const clients = new Map<string, Map<string, KnownReader>>()
  /** The reader that has not fetched for longest is first. */
  const byUse = new Set<KnownReader>()
  let heldBytes = 0

  class KnownReader implements Reader {
    readonly positions: Positions = new Map()
    readonly clientId: string
    readonly address: string
    bytes = 0
    /** When its fetch looked it up, on Clock.monotonic(). */
    atMs = 0

    constructor(clientId: string, address: string) {
      this.clientId = clientId
      this.address = address
      this.#hold(READER_BYTES + 2 * (clientId.length + address.length))
    }

    delivered(topicId: string, partition: number, nextOffset: number): void {
      const atMs = this.atMs
      const known = this.positions.get(topicId)?.get(partition)
      if (known === undefined) this.#add(topicId, partition, { nextOffset, atMs })
      else {
        known.nextOffset = nextOffset
        known.atMs = atMs
      }
    }

    #add(topicId: string, partition: number, position: { nextOffset: number; atMs: number }): void {
      if (!byUse.has(this)) return
      const partitions = this.positions.get(topicId) ?? new Map()
      if (partitions.size === 0) {
        this.positions.set(topicId, partitions)
        this.#hold(TOPIC_BYTES)
      }
      partitions.set(partition, position)
      this.#hold(POSITION_BYTES)
      makeRoom()
    }

    #hold(bytes: number): void {
      this.bytes += bytes
      heldBytes += bytes
    }
  }

  function makeRoom(): void {
    for (const oldest of byUse) {
      if (heldBytes <= maxBytes) return
      byUse.delete(oldest)
      heldBytes -= oldest.bytes
      const addresses = clients.get(oldest.clientId)!
      addresses.delete(oldest.address)
      if (addresses.size === 0) clients.delete(oldest.clientId)
    }
  }

  function make(clientId: string, address: string): KnownReader {
    const made = new KnownReader(clientId, address)
    const addresses = clients.get(clientId) ?? new Map<string, KnownReader>()
    clients.set(clientId, addresses.set(address, made))
    return made
  }

  return {
    reader(clientId, address) {
      const known = clients.get(clientId)?.get(address)
      if (known !== undefined) byUse.delete(known)
      const reader = known ?? make(clientId, address)
      byUse.add(reader)
      reader.atMs = clock.monotonic()
      if (known === undefined) makeRoom()
      return reader
    },

    of: (clientId, address, topicId, partition) =>
      clients.get(clientId)?.get(address)?.positions.get(topicId)?.get(partition) ?? null,
  }
}
