// MurmurHash2 of 32 bits with the seed of Kafka's clients, so that Ketch puts a key into the same partition as they do
// (org.apache.kafka.common.utils.Utils#murmur2).

const SEED = 0x9747b28c
const M = 0x5bd1e995

/** Returns the hash as a signed 32-bit number. */
export function murmur2(bytes: Uint8Array): number {
  const { length } = bytes
  const word = (at: number) => bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
  let hash = SEED ^ length
  const whole = length & ~3
  for (let at = 0; at < whole; at += 4) {
    let k = Math.imul(word(at), M)
    k ^= k >>> 24
    hash = Math.imul(hash, M) ^ Math.imul(k, M)
  }
  const rest = length & 3
  if (rest === 3) hash ^= bytes[whole + 2]! << 16
  if (rest >= 2) hash ^= bytes[whole + 1]! << 8
  if (rest >= 1) hash = Math.imul(hash ^ bytes[whole]!, M)
  hash ^= hash >>> 13
  hash = Math.imul(hash, M)
  return (hash ^ (hash >>> 15)) | 0
}
