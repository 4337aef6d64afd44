// The payloads of a batch as values: bytes to text to JSON.parse, with as little work per payload as possible. And the
// bound on their depth, which JSON.parse does not have.

import { isAscii, isUtf8 } from 'node:buffer'
import { type Fault, MOST_LEVELS } from '../format.ts'

/** A record of fewer bytes cannot be too deep: each level has two brackets. */
const DEEP_BYTES = 2 * (MOST_LEVELS + 1)

/**
 * The most memory in bytes that the value of a payload may take, as far as its text tells. A limit of the thread is not
 * enough: JSON.parse does not stop at it, and the whole process would end.
 */
const MOST_WEIGHT = 96 * 1024 * 1024
/** Members and items take this much besides their texts, and objects that much more. */
const ITEM_WEIGHT = 32
const OBJECT_WEIGHT = 128
/** Payloads of fewer bytes are never too heavy: an object and its comma are three bytes. */
const HEAVY_BYTES = 1024 * 1024

const TOO_HEAVY: Fault = {
  reason: 'too-many-elements',
  message: `the payload has more elements than fit into ${MOST_WEIGHT / 1024 / 1024} MiB of memory`,
}
const NOT_UTF8: Fault = { reason: 'bad-value', message: 'the payload is not UTF-8' }
const EMPTY: Fault = { reason: 'truncated', message: 'the payload is empty; JSON has at least one character' }
const TOO_DEEP: Fault = { reason: 'too-deep', message: `the payload has more than ${MOST_LEVELS} levels` }

/** Payloads are read in groups of about this many bytes: each group is one text. */
const GROUP_BYTES = 256 * 1024

/** The payloads that stand one after the other in these bytes; each ends where `ends` says. */
export class Payloads {
  readonly #bytes: Buffer
  readonly #ends: Uint32Array
  #group: PayloadGroup | null = null
  #first = 0
  #after = 0

  constructor(memory: ArrayBuffer, ends: Uint32Array) {
    this.#bytes = Buffer.from(memory)
    this.#ends = ends
  }

  get length(): number {
    return this.#ends.length
  }

  /** Parses one payload. They are read in their order. */
  read(index: number): { readonly value: unknown } | { readonly fault: Fault } {
    if (this.#group === null || index >= this.#after) this.#group = this.#groupFrom(index)
    return this.#group.read(index - this.#first)
  }

  #groupFrom(index: number): PayloadGroup {
    const from = index === 0 ? 0 : this.#ends[index - 1]!
    let after = index + 1
    while (after < this.#ends.length && this.#ends[after]! - from <= GROUP_BYTES) after++
    this.#first = index
    this.#after = after
    const ends = this.#ends.subarray(index, after)
    return new PayloadGroup(
      this.#bytes.subarray(from, ends.at(-1)!),
      Array.from(ends, end => end - from),
    )
  }
}

/** Payloads that are one text if they are ASCII. */
export class PayloadGroup {
  readonly #bytes: Buffer
  readonly #ends: readonly number[]
  /** All payloads in one text, if they are ASCII: a part of it costs no copy. */
  readonly #ascii: string | null
  readonly #isUtf8: boolean
  readonly #mayBeDeep: boolean

  /** `ends` holds for each payload where it ends; it begins where the one before ends. */
  constructor(bytes: Buffer, ends: readonly number[]) {
    this.#bytes = bytes
    this.#ends = ends
    this.#ascii = isAscii(bytes) ? bytes.toString('latin1') : null
    this.#isUtf8 = this.#ascii !== null || isUtf8(bytes)
    this.#mayBeDeep = bytes.length >= DEEP_BYTES && countOpenings(bytes) > MOST_LEVELS
  }

  read(index: number): { readonly value: unknown } | { readonly fault: Fault } {
    const from = index === 0 ? 0 : this.#ends[index - 1]!
    const to = this.#ends[index]!
    if (from === to) return { fault: EMPTY }
    if (!this.#isUtf8 && !isUtf8(this.#bytes.subarray(from, to))) return { fault: NOT_UTF8 }
    if (this.#mayBeDeep && isTooDeep(this.#bytes, from, to)) return { fault: TOO_DEEP }
    if (to - from >= HEAVY_BYTES && weightOf(this.#bytes, from, to) > MOST_WEIGHT) return { fault: TOO_HEAVY }
    try {
      return { value: JSON.parse(this.#ascii?.substring(from, to) ?? this.#bytes.toString('utf8', from, to)) }
    } catch (error) {
      return { fault: { reason: 'bad-value', message: `the payload is not JSON: ${(error as Error).message}` } }
    }
  }
}

function isTooDeep(bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from < DEEP_BYTES) return false
  let openings = 0
  // `[` and `{` differ in one bit.
  for (let at = from; at < to; at++) if ((bytes[at]! | 0x20) === 0x7b) openings++
  return openings > MOST_LEVELS && depthOf(bytes, from, to) > MOST_LEVELS
}

function weightOf(bytes: Uint8Array, from: number, to: number): number {
  let weight = to - from
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!
    if (byte === 0x2c || byte === 0x5b) weight += ITEM_WEIGHT
    else if (byte === 0x7b) weight += OBJECT_WEIGHT
  }
  return weight
}

/** The most levels that are open at one time. Brackets in strings do not count. */
function depthOf(bytes: Uint8Array, from: number, to: number): number {
  let most = 0
  let depth = 0
  let isInString = false
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!
    if (isInString) {
      if (byte === 0x5c) at++
      else if (byte === 0x22) isInString = false
    } else if (byte === 0x22) isInString = true
    else if ((byte | 0x20) === 0x7b) most = Math.max(most, ++depth)
    else if ((byte | 0x20) === 0x7d) depth--
  }
  return most
}

/** Counts `[` and `{` up to one more than matters. indexOf is fast where there are few. */
function countOpenings(bytes: Buffer): number {
  let count = 0
  for (const bracket of [0x5b, 0x7b]) {
    for (let at = bytes.indexOf(bracket); at >= 0 && count <= MOST_LEVELS; at = bytes.indexOf(bracket, at + 1)) count++
  }
  return count
}
