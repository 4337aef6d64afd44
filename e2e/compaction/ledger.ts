// Everything that the producers have written to a compacted topic, and the judgement of a reading of it: which records
// a consumer may see that reads from the beginning while the cleaner works, and which it must see.

/** A record as a reader reports it. */
export interface Read {
  readonly partition: number
  readonly offset: number
  readonly key: string
  /** The number of the write, with which the value begins; null for a tombstone. */
  readonly number: number | null
  /** The length of the value; -1 for a tombstone. */
  readonly length: number
}

/** An acknowledged write. */
export type Written = Read

/** The newest acknowledged writes at a moment, by key. */
export type Snapshot = ReadonlyMap<string, Written>

export interface Judgement {
  /** Defects of the reading, in words; empty if it is right. */
  readonly defects: readonly string[]
  /** The keys whose newest value of the beginning was written over behind the part that was read. */
  readonly overtaken: number
}

export class Ledger {
  readonly #written: Written[][]
  #newest = new Map<string, Written>()

  constructor(partitions: number) {
    this.#written = Array.from({ length: partitions }, () => [])
  }

  /** The number of acknowledged writes. */
  get size(): number {
    return this.#written.reduce((sum, { length }) => sum + length, 0)
  }

  /** Adds the acknowledged writes of a batch. Batches of a partition may come in another order than their offsets. */
  add(writes: readonly Written[]): void {
    for (const write of writes) {
      this.#written[write.partition]![write.offset] = write
      const before = this.#newest.get(write.key)
      if (before === undefined || before.offset < write.offset) this.#newest.set(write.key, write)
    }
  }

  /** Returns whether all these records are acknowledged. A consumer may see a record before its producer knows. */
  knows(reads: readonly Read[]): boolean {
    return reads.every(({ partition, offset }) => this.#written[partition]?.[offset] !== undefined)
  }

  snapshot(): Snapshot {
    return new Map(this.#newest)
  }

  /**
   * Judges one reading from the beginning, which began after `snapshot`. The ledger must know all its records.
   * `mayMissTombstones`: the reading took so long that the cleaner may have removed tombstones before it came to them.
   */
  judge(reads: readonly Read[], snapshot: Snapshot, mayMissTombstones: boolean): Judgement {
    const defects: string[] = []
    const positions = this.#written.map(() => 0)
    const last = new Map<string, Read>()
    for (const read of reads) {
      const { partition, offset, key } = read
      if (offset < positions[partition]!) defects.push(`offset ${offset} follows ${positions[partition]! - 1}`)
      positions[partition] = offset + 1
      const { key: rightKey, number, length } = this.#written[partition]![offset]!
      if (key !== rightKey || read.number !== number || read.length !== length)
        defects.push(`${textOf(read)} was written as ${textOf({ ...read, key: rightKey, number, length })}`)
      last.set(key, read)
    }
    let overtaken = 0
    for (const [key, before] of snapshot) {
      const seen = last.get(key)
      if (seen !== undefined && seen.offset >= before.offset) continue
      const newest = this.#newest.get(key)!
      const isGone = newest.number === null && (mayMissTombstones || (seen === undefined && newest === before))
      if (isGone) continue
      // The key was written again behind the end of this reading, and the cleaner has removed the older record.
      if (newest.offset >= positions[newest.partition]!) overtaken++
      else {
        const is = seen === undefined ? 'is not there' : `is ${textOf(seen)}`
        defects.push(`${key} must be at least ${textOf(before)} ${is}; its newest is ${textOf(newest)}`)
      }
    }
    return { defects, overtaken }
  }
}

function textOf({ partition, offset, key, number, length }: Read): string {
  const value = number === null ? 'a tombstone' : `write ${number} of ${length} bytes`
  return `${key} at ${partition}:${offset} (${value})`
}
