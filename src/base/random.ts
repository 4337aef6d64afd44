// Randomness enters the broker only here, so that a simulated run can be repeated from its seed.

import { randomBytes, randomInt } from 'node:crypto'

export interface Random {
  bytes(length: number): Buffer
  /** An integer in [0, limit). */
  below(limit: number): number
  /** A version 4 UUID (RFC 9562) as 16 bytes; never all zero. */
  uuidBytes(): Buffer
}

function asUuid(bytes: Buffer): Buffer {
  bytes[6] = (bytes[6]! & 0x0f) | 0x40
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return bytes
}

export const systemRandom: Random = Object.freeze({
  bytes: (length: number) => randomBytes(length),
  below: (limit: number) => randomInt(limit),
  uuidBytes: () => asUuid(randomBytes(16)),
})

/** Returns a generator that gives the same sequence for the same seed (xorshift32). Not for secrets. */
export function seededRandom(seed: number): Random {
  let state = Math.imul(seed, 2654435761) >>> 0 || 1
  const next = () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return state
  }
  const bytes = (length: number) => Buffer.from(Array.from({ length }, () => next() & 0xff))
  return { bytes, below: limit => next() % limit, uuidBytes: () => asUuid(bytes(16)) }
}

/**
 * Returns a random UUID in Kafka's text form: 22 characters of base64url. It never begins with a dash, because Kafka's
 * tools refuse such an id.
 */
export function randomUuid(random: Random): string {
  for (;;) {
    const text = random.uuidBytes().toString('base64url')
    if (!text.startsWith('-')) return text
  }
}

/** Returns a random UUID in its usual form, with dashes (RFC 9562). */
export function uuidText(random: Random): string {
  const hex = random.uuidBytes().toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
