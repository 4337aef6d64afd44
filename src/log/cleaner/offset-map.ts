// The newest offset of each key in a part of a log. A key is known by 128 bits of a cryptographic hash, as in Kafka's
// cleaner: two keys that a client chose must not collide, because the older record of the two would be dropped. The
// map has one buffer of a fixed size, with open addressing, so that its memory does not depend on the keys. It does
// not grow: a key that does not fit is refused, and the pass maps only up to there.
//
//   slot of 24 bytes:  offset + 1 float64, 0: free | 16 bytes of the hash
//
// Beside the buffer there is a bit for each of the first offsets of the mapped part, which is set while the offset is
// the newest of its key. So most records of that part need no second hash.

import { hash } from 'node:crypto'

const SLOT_BYTES = 24
/** The share of the slots that may be used, as Kafka's log.cleaner.io.buffer.load.factor. */
const LOAD_FACTOR = 0.9
/** The bits take at most this share of the map's bytes. With 64 MB there are bits for 33 million offsets. */
const BITS_SHARE = 1 / 16
/** SHA-256, because OpenSSL computes it at least as fast as MD5, and its collisions are unknown. */
const ALGORITHM = 'sha256'

export class OffsetMap {
  readonly #slots: number
  readonly #most: number
  readonly #offsets: Float64Array
  readonly #words: Uint32Array<ArrayBuffer>
  /** The offset of the first bit. */
  readonly #from: number
  readonly #bits: Uint8Array<ArrayBuffer>
  #size = 0
  /** The slot of the key that `#find` was called for, or the free slot where it belongs. */
  #found = 0

  /**
   * `bytes` is the memory of the map; it has at least two slots, one of which stays free and ends a search. The mapped
   * part of the log begins at `from`.
   */
  constructor(bytes: number, from: number) {
    this.#slots = Math.max(2, Math.floor(bytes / SLOT_BYTES))
    this.#most = Math.max(1, Math.floor(this.#slots * LOAD_FACTOR))
    // Pages that are never written take no memory.
    const buffer = new ArrayBuffer((this.#slots + 1) * SLOT_BYTES)
    this.#offsets = new Float64Array(buffer)
    this.#words = new Uint32Array(buffer)
    this.#from = from
    this.#bits = new Uint8Array(Math.ceil(bytes * BITS_SHARE))
  }

  /** Frees the memory at once; a garbage collection may come after the next map. The map cannot be used any more. */
  free(): void {
    this.#words.buffer.transfer(0)
    this.#bits.buffer.transfer(0)
  }

  /** The number of keys. */
  get size(): number {
    return this.#size
  }

  /** Notes an offset of a key, unless the map has a newer one. Returns false if the key is new and does not fit. */
  put(key: Uint8Array, offset: number): boolean {
    const isKnown = this.#find(key)
    if (!isKnown) {
      if (this.#size >= this.#most) return false
      this.#size++
    }
    const at = this.#found * 3
    const former = this.#offsets[at]! - 1
    if (former < offset) {
      this.#offsets[at] = offset + 1
      this.#set(offset, true)
      if (isKnown) this.#set(former, false)
    }
    if (!isKnown) for (let i = 0; i < 4; i++) this.#words[this.#found * 6 + 2 + i] = digest[i]!
    return true
  }

  /** Returns the newest offset of a key; -1 if the map does not have the key. */
  get(key: Uint8Array): number {
    return this.#find(key) ? this.#offsets[this.#found * 3]! - 1 : -1
  }

  /**
   * Returns whether the map has no newer offset of a key than the one of this record. The key lies in the bytes; it is
   * hashed only if the record has no bit.
   */
  isNewest(offset: number, bytes: Buffer, keyFrom: number, keyEnd: number): boolean {
    const bit = offset - this.#from
    if (bit >= 0 && bit < this.#bits.length * 8) return (this.#bits[Math.floor(bit / 8)]! & (1 << (bit % 8))) !== 0
    return offset >= this.get(bytes.subarray(keyFrom, keyEnd))
  }

  #set(offset: number, isNewest: boolean): void {
    const bit = offset - this.#from
    if (bit < 0 || bit >= this.#bits.length * 8) return
    const at = Math.floor(bit / 8)
    const mask = 1 << (bit % 8)
    if (isNewest) this.#bits[at]! |= mask
    else this.#bits[at]! &= ~mask
  }

  #find(key: Uint8Array): boolean {
    readDigest(key)
    // At most 2^31 bytes have fewer than 2^27 slots, so 32 bits of the hash choose the slot.
    let slot = digest[0]! % this.#slots
    for (;;) {
      if (this.#offsets[slot * 3] === 0 || this.#matches(slot)) break
      slot = slot + 1 === this.#slots ? 0 : slot + 1
    }
    this.#found = slot
    return this.#offsets[slot * 3] !== 0
  }

  #matches(slot: number): boolean {
    const at = slot * 6 + 2
    const words = this.#words
    return (
      words[at] === digest[0] &&
      words[at + 1] === digest[1] &&
      words[at + 2] === digest[2] &&
      words[at + 3] === digest[3]
    )
  }
}

/** The first 128 bits of the hash of one key, between two steps of this file. */
const digest = new Uint32Array(4)

function readDigest(key: Uint8Array): void {
  // As a string of units of two bytes, because a Buffer for each key takes four times as long.
  const text = hash(ALGORITHM, key, 'utf16le')
  for (let i = 0; i < 4; i++) digest[i] = text.charCodeAt(2 * i) | (text.charCodeAt(2 * i + 1) << 16)
}
