// Which message of a Protobuf schema a body is: a count, then for each level the position of the message
// among its siblings, all as zigzag varints. [0], the first message, may be the single byte 0.

/** More levels than a schema has. */
export const MOST_MESSAGE_LEVELS = 64

/** More messages than 512 KiB of text can define. */
const MOST_MESSAGES = 100_000

/** Holds what was read last. One object serves many records. */
export class MessageIndexes {
  /** The path; only the first `length` count. */
  readonly path = new Int32Array(MOST_MESSAGE_LEVELS)
  length = 0
  /** Where the body begins if the indexes stand before it. */
  end = 0

  /** Returns whether there are indexes at `from`. */
  read(bytes: Uint8Array, from: number, to: number): boolean {
    this.end = from
    const count = this.#number(bytes, to)
    if (count === 0) {
      this.path[0] = 0
      this.length = 1
      return true
    }
    this.length = 0
    if (count < 0 || count > MOST_MESSAGE_LEVELS) return false
    for (let i = 0; i < count; i++) {
      const index = this.#number(bytes, to)
      if (index < 0 || index >= MOST_MESSAGES) return false
      this.path[i] = index
    }
    this.length = count
    return true
  }

  #number(bytes: Uint8Array, to: number): number {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      if (this.end >= to) return -1
      const byte = bytes[this.end++]!
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return (value >>> 1) ^ -(value & 1)
    }
    return -1
  }
}

/**
 * Reads the indexes, and accepts a body without them, because some clients write none: if there are
 * no indexes, or they lead to no message, and the schema has one top-level message, the body is that message and begins
 * at `from`. `exists` says whether the schema has a message at the path.
 */
export function readIndexes(
  indexes: MessageIndexes,
  bytes: Uint8Array,
  from: number,
  to: number,
  topLevelMessages: number,
  exists: (indexes: MessageIndexes) => boolean,
): 'read' | 'missing' | 'wrong' {
  if (indexes.read(bytes, from, to) && exists(indexes)) return 'read'
  if (topLevelMessages !== 1) return 'wrong'
  indexes.path[0] = 0
  indexes.length = 1
  indexes.end = from
  return 'missing'
}

/** The bytes of the path; the short form for [0]. */
export function writeIndexes(path: readonly number[]): Buffer {
  if (path.length === 1 && path[0] === 0) return Buffer.from([0])
  return Buffer.from([path.length, ...path].flatMap(zigzag))
}

function zigzag(value: number): number[] {
  const bytes: number[] = []
  let left = value * 2
  for (; left > 0x7f; left = Math.floor(left / 128)) bytes.push((left & 0x7f) | 0x80)
  return [...bytes, left]
}
