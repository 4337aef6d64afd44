// Trains a zstd dictionary from samples, as zstd's FastCOVER does (Liao, Petri, Moffat, Wirth: Effective construction
// of relative Lempel-Ziv dictionaries; zstd's lib/dictBuilder/fastcover.c). It selects the segments whose short strings
// occur most often in the samples, and counts each string once. The best segment is the last one, because references to
// the end of a dictionary are the cheapest. The result is the content alone, without entropy tables. Training is pure
// and slow: it takes a second or more for 16 MiB, so it runs in a thread of its own (dictionary-worker.ts).

import { zstdCompressSync } from 'node:zlib'

export interface TrainingInput {
  /**
   * The samples, one after another: the records of batches as they would be compressed. `ends` has the end of each
   * sample. Two buffers are quick to transfer to another thread.
   */
  readonly text: Uint8Array
  readonly ends: Uint32Array
  readonly sizeBytes: number
  /** The dictionary in use. */
  readonly current: Uint8Array | null
}

export interface TrainingResult {
  /** Null if the dictionary in use, or no dictionary, does nearly as well. */
  readonly content: Uint8Array | null
  /**
   * The bytes of some samples: uncompressed, compressed with the dictionary in use, and compressed with the new one.
   */
  readonly plainBytes: number
  readonly beforeBytes: number
  readonly afterBytes: number
}

/** The lengths of segments that are tried, in bytes. */
const SEGMENTS = [64, 256, 1024]
/** A dictionary replaces another one if it needs less than this share of the other's bytes. */
const WORTHWHILE = 0.95
/** If there are fewer samples than this, they are cut into pieces. */
const FEW = 100
const PIECE_BYTES = 2048
/** One sample of this many is kept to judge dictionaries, but at most about JUDGES samples. */
const HOLD_OUT = 10
const JUDGES = 200

/** Returns the best dictionary of at most sizeBytes for these samples. */
export function trainDictionary({ text: all, ends, sizeBytes, current }: TrainingInput): TrainingResult {
  const samples = Array.from(ends, (end, i) => all.subarray(ends[i - 1] ?? 0, end))
  const pieces = samples.length >= FEW ? samples : samples.flatMap(cut)
  // The samples that judge are not used for training, or noise would seem to repeat.
  const step = Math.max(HOLD_OUT, Math.floor(pieces.length / JUDGES))
  const judges = pieces.filter((_, i) => i % step === 0)
  const text = Buffer.concat(pieces.filter((_, i) => i % step !== 0))
  const hashes = hashStrings(text)
  const plainBytes = judges.reduce((sum, { length }) => sum + length, 0)
  const beforeBytes = judge(judges, current)
  let content: Uint8Array | null = null
  let afterBytes = Number.POSITIVE_INFINITY
  for (const segmentBytes of SEGMENTS) {
    const candidate = select(text, hashes, Math.min(sizeBytes, text.length), segmentBytes)
    const bytes = judge(judges, candidate)
    if (bytes < afterBytes) {
      afterBytes = bytes
      content = candidate
    }
  }
  const isWorthIt = afterBytes < beforeBytes * (current === null ? 1 : WORTHWHILE)
  return { content: isWorthIt ? content : null, plainBytes, beforeBytes, afterBytes }
}

function cut(sample: Uint8Array): Uint8Array[] {
  const pieces: Uint8Array[] = []
  for (let at = 0; at < sample.length; at += PIECE_BYTES) pieces.push(sample.subarray(at, at + PIECE_BYTES))
  return pieces
}

function judge(judges: readonly Uint8Array[], dictionary: Uint8Array | null): number {
  const options = dictionary === null ? {} : { dictionary }
  return judges.reduce((sum, sample) => sum + zstdCompressSync(sample, options).length, 0)
}

/** The length of the strings that are counted. */
const STRING_BYTES = 8
const HASH_BITS = 20

/** Returns, for each position of the text, the hash of the string that begins there. */
function hashStrings(text: Buffer): Uint32Array {
  const hashes = new Uint32Array(Math.max(0, text.length - STRING_BYTES + 1))
  let low = 0
  let high = 0
  for (let i = 0; i < text.length; i++) {
    low = (low >>> 8) | ((high & 0xff) << 24)
    high = (high >>> 8) | (text[i]! << 24)
    if (i < STRING_BYTES - 1) continue
    const mixed = Math.imul(low, 0x9e3779b1) ^ Math.imul(high, 0x85ebca77)
    hashes[i - STRING_BYTES + 1] = Math.imul(mixed ^ (mixed >>> 15), 0xc2b2ae3d) >>> (32 - HASH_BITS)
  }
  return hashes
}

/**
 * Returns segments of the text, the best one last. It goes through the text in parts, several times if necessary. From
 * each part it takes the segment whose distinct strings are the most frequent. Strings of earlier segments do not
 * count.
 */
function select(text: Buffer, hashes: Uint32Array, sizeBytes: number, segmentBytes: number): Buffer {
  const counts = new Uint32Array(1 << HASH_BITS)
  for (const hash of hashes) counts[hash]!++
  const inWindow = new Uint16Array(1 << HASH_BITS)
  const window = Math.max(1, segmentBytes - STRING_BYTES + 1)
  const parts = Math.max(1, Math.floor(sizeBytes / segmentBytes / 4))
  const partLength = Math.max(window, Math.floor(hashes.length / parts))
  const content = Buffer.alloc(sizeBytes)
  let free = sizeBytes
  let barren = 0
  for (let from = 0; free > 0 && barren < parts; from = from + partLength < hashes.length ? from + partLength : 0) {
    const best = bestSegment(hashes, counts, inWindow, from, Math.min(hashes.length, from + partLength), window)
    if (best === null) {
      barren++
      continue
    }
    barren = 0
    for (let i = best.from; i < best.to; i++) counts[hashes[i]!] = 0
    const length = Math.min(free, best.to - best.from + STRING_BYTES - 1)
    free -= length
    text.copy(content, free, best.from, best.from + length)
  }
  return content.subarray(free)
}

/** Returns the positions [from, to) of the window with the highest sum; null if no string in this part occurs twice. */
function bestSegment(
  hashes: Uint32Array,
  counts: Uint32Array,
  inWindow: Uint16Array,
  from: number,
  end: number,
  window: number,
): { readonly from: number; readonly to: number } | null {
  let score = 0
  let best = 0
  let bestAt = -1
  for (let i = from; i < end; i++) {
    const entering = hashes[i]!
    if (inWindow[entering]!++ === 0) score += worth(counts[entering]!)
    if (i - window >= from) {
      const leaving = hashes[i - window]!
      if (--inWindow[leaving]! === 0) score -= worth(counts[leaving]!)
    }
    if (score > best) {
      best = score
      bestAt = i
    }
  }
  for (let i = Math.max(from, end - window); i < end; i++) inWindow[hashes[i]!] = 0
  if (bestAt === -1) return null
  // Strings without value at either end are left to other segments.
  let first = Math.max(from, bestAt - window + 1)
  let last = bestAt
  while (counts[hashes[first]!]! <= 1) first++
  while (counts[hashes[last]!]! <= 1) last--
  return { from: first, to: last + 1 }
}

/** Returns the value of a string. A string that occurs once helps no record. */
function worth(count: number): number {
  return count > 1 ? count : 0
}
