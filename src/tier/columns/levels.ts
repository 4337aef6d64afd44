// Levels of a data page in the hybrid of runs and packed bits (Parquet format, "RLE/Bit-Packing Hybrid"), of one or two
// bits each. A run says its length in up to 32 bits; only as much of it is done as the page has values.
//
//   run     header varint: count << 1      | value, one byte
//   packed  header varint: groups << 1 | 1 | groups × bits bytes: eight values in each group, lowest bits first

/** Returns `count` levels of `bits` bits each. Throws an Error if the bytes end before. */
export function readLevels(bytes: Uint8Array, bits: number, count: number): Uint8Array {
  const levels = new Uint8Array(count)
  const mask = (1 << bits) - 1
  let at = 0
  let seen = 0
  const next = () => {
    if (at >= bytes.length) throw new Error(`the levels of ${count} values end after ${seen}`)
    return bytes[at++]!
  }
  const header = () => {
    let value = 0
    for (let i = 0; i < 5; i++) {
      const byte = next()
      value += (byte & 0x7f) * 2 ** (7 * i)
      if (byte < 0x80) return value
    }
    throw new Error('a run of levels has a length of more than five bytes')
  }
  while (seen < count) {
    const head = header()
    const length = Math.floor(head / 2)
    if (head % 2 === 0) {
      const end = Math.min(count, seen + length)
      levels.fill(next() & mask, seen, end)
      seen = end
      continue
    }
    for (let left = length * bits; left > 0 && seen < count; left -= bits) {
      let packed = 0
      for (let i = 0; i < bits; i++) packed |= next() << (8 * i)
      for (let i = 0; i < 8 && seen < count; i++) levels[seen++] = (packed >>> (bits * i)) & mask
    }
  }
  return levels
}
