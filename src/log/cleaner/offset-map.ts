// The newest offset of each key in a part of a log. A key is known by 128 bits of a cryptographic hash, as in Kafka's
// cleaner: two keys that a client chose must not collide, because the older record of the two would be dropped. The
// map has one buffer of a fixed size, with open addressing, so that its memory does not depend on the keys. It does
// not grow: a key that does not fit is refused, and the pass maps only up to there.
//
//   slot of 24 bytes:  offset + 1 float64, 0: free | 16 bytes of the hash
// Keys wait until there are some hundred of them, and then go into the map together: the map is far larger than the
// caches of a processor, and so the processor waits for many of its slots at the same time.
//
// Beside the buffer there is a bit for each of the first offsets of the mapped part, which is set while the offset is
// the newest of its key. So most records of that part need no second hash.

import { type BinaryToTextEncoding, hash } from 'node:crypto'

const SLOT_BYTES = 24
/** The share of the slots that may be used, as Kafka's log.cleaner.io.buffer.load.factor. */
const LOAD_FACTOR = 0.9
/** The bits take at most this share of the map's bytes. With 64 MB there are bits for 33 million offsets. */
const BITS_SHARE = 1 / 16
/** The most keys that wait. */
const MOST_WAITING = 512
/** SHA-256, because OpenSSL computes it at least as fast as MD5, and its collisions are unknown. */
const ALGORITHM = 'sha256'
/**
 * The fastest form of a hash: a Buffer for each key takes four times as long. Node takes every encoding, but its types
 * name only some.
 */
const UNITS_OF_16_BITS = 'utf16le' as BinaryToTextEncoding

/** Returns the hash of a key, of which the map keeps the first eight units of 16 bits. */
export function digestOf(key: Uint8Array): string {
  return hash(ALGORITHM, key, UNITS_OF_16_BITS)
}

export class OffsetMap {
  readonly #slots: number
  /** 32 bits of a hash by this are a slot. */
  readonly #scale: number
  readonly #most: number
  readonly #offsets: Float64Array
  readonly #words: Uint32Array<ArrayBuffer>
  /** The offset of the first bit. */
  readonly #from: number
  readonly #bits: Uint8Array<ArrayBuffer>
  #size = 0
  /** The slot of the key that `#find` was called for, or the free slot where it belongs. */
  #found = 0
  // biome-ignore lint/correctness/noUnusedPrivateClassMembers: without a use, the compiler may leave the loads out
  #touched = 0
  /** The hashes of the keys that wait, and of one that does not. */
  readonly #digests = new Uint32Array(4 * (MOST_WAITING + 1))
  readonly #waitingOffsets = new Float64Array(MOST_WAITING)
  #waiting = 0
  #fullAt: number | null = null

  /**
   * `bytes` is the memory of the map; it has at least two slots, one of which stays free and ends a search. The mapped
   * part of the log begins at `from`.
   */
  constructor(bytes: number, from: number) {
    this.#slots = Math.max(2, Math.floor(bytes / SLOT_BYTES))
    this.#scale = this.#slots / 2 ** 32
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

  /** Notes an offset of a key, unless the map has a newer one. It counts after settle(). */
  put(key: Uint8Array, offset: number): void {
    if (this.#waiting === MOST_WAITING) this.settle()
    this.#hash(key, this.#waiting)
    this.#waitingOffsets[this.#waiting++] = offset
  }

  /** Returns the first offset that was put and whose key is new and does not fit, or null. No later one counts. */
  settle(): number | null {
    this.#touch()
    for (let i = 0; i < this.#waiting && this.#fullAt === null; i++) {
      const offset = this.#waitingOffsets[i]!
      if (!this.#put(i, offset)) this.#fullAt = offset
    }
    this.#waiting = 0
    return this.#fullAt
  }

  /** Returns the newest offset of a key; -1 if the map does not have the key. */
  get(key: Uint8Array): number {
    this.#hash(key, MOST_WAITING)
    return this.#find(MOST_WAITING) ? this.#offsets[this.#found * 3]! - 1 : -1
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

  /** Brings the slots of the waiting keys into the caches. None of these loads waits for another. */
  #touch(): void {
    for (let i = 0; i < this.#waiting; i++) this.#touched ^= this.#words[this.#firstSlot(i) * 6]!
  }

  /** Puts a waiting key. Returns false if it is new and does not fit. */
  #put(waiting: number, offset: number): boolean {
    const isKnown = this.#find(waiting)
    const slot = this.#found
    if (!isKnown) {
      if (this.#size >= this.#most) return false
      this.#size++
      for (let i = 0; i < 4; i++) this.#words[slot * 6 + 2 + i] = this.#digests[4 * waiting + i]!
    }
    const former = this.#offsets[slot * 3]! - 1
    if (former >= offset) return true
    this.#offsets[slot * 3] = offset + 1
    this.#set(offset, true)
    if (isKnown) this.#set(former, false)
    return true
  }

  #find(waiting: number): boolean {
    let slot = this.#firstSlot(waiting)
    for (;;) {
      if (this.#offsets[slot * 3] === 0 || this.#matches(slot, waiting)) break
      slot = slot + 1 === this.#slots ? 0 : slot + 1
    }
    this.#found = slot
    return this.#offsets[slot * 3] !== 0
  }

  /** At most 2^31 bytes have fewer than 2^27 slots, so 32 bits of the hash choose the slot. A division is slower. */
  #firstSlot(waiting: number): number {
    return Math.floor(this.#digests[4 * waiting]! * this.#scale)
  }

  #matches(slot: number, waiting: number): boolean {
    const words = this.#words
    const digests = this.#digests
    const one = slot * 6 + 2
    const other = 4 * waiting
    return (
      words[one] === digests[other] &&
      words[one + 1] === digests[other + 1] &&
      words[one + 2] === digests[other + 2] &&
      words[one + 3] === digests[other + 3]
    )
  }

  #hash(key: Uint8Array, waiting: number): void {
    const text = digestOf(key)
    for (let i = 0; i < 4; i++)
      this.#digests[4 * waiting + i] = text.charCodeAt(2 * i) | (text.charCodeAt(2 * i + 1) << 16)
  }

  #set(offset: number, isNewest: boolean): void {
    const bit = offset - this.#from
    if (bit < 0 || bit >= this.#bits.length * 8) return
    const at = Math.floor(bit / 8)
    const mask = 1 << (bit % 8)
    if (isNewest) this.#bits[at]! |= mask
    else this.#bits[at]! &= ~mask
  }
}
