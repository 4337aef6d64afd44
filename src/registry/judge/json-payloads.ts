// The JSON payloads of a batch on their way to the validators' threads. The records are in memory only during a look,
// so the payloads are copied, a piece of a large batch at a time. All copies of a broker together have a limit.

import type { KeyedProgram, PayloadBatch } from '../json/json-validators.ts'
import type { Part } from '../payload/framing.ts'
import { type BrokenRule, broken } from './broken-rule.ts'

/** The payloads of one piece, unless one of them is larger. */
const PIECE_BYTES = 4 << 20
/** The largest payload. Its value takes a multiple of it in a thread. */
export const MOST_PAYLOAD_BYTES = 16 << 20

/** The payloads that are judged by the same schemas. */
export interface JsonGroup {
  readonly programs: readonly KeyedProgram[]
  /** For messages: the schema and its subject. */
  readonly named: string
  readonly part: Part
  /** The records, in order. */
  readonly indexes: number[]
  /** Where each payload begins and ends. */
  readonly from: number[]
  readonly to: number[]
}

export class JsonPayloads {
  #groups: JsonGroup[] = []
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  clear(): void {
    this.#groups = []
    this.#bytes = 0
  }

  /** Notes a payload. Returns `full` if it has to wait for the next piece. */
  add(
    programs: readonly KeyedProgram[],
    named: string,
    part: Part,
    index: number,
    from: number,
    to: number,
  ): BrokenRule | 'full' | null {
    const bytes = to - from
    if (bytes > MOST_PAYLOAD_BYTES)
      return broken('too-large', `it has ${bytes} bytes; a JSON value has at most ${MOST_PAYLOAD_BYTES}`)
    if (this.#bytes > 0 && this.#bytes + bytes > PIECE_BYTES) return 'full'
    const last = this.#groups.at(-1)
    const isSame = (each: JsonGroup) =>
      each.part === part && each.named === named && each.programs.at(-1) === programs.at(-1)
    let group = last !== undefined && isSame(last) ? last : this.#groups.find(isSame)
    if (group === undefined) {
      group = { programs, named, part, indexes: [], from: [], to: [] }
      this.#groups.push(group)
    }
    group.indexes.push(index)
    group.from.push(from)
    group.to.push(to)
    // An empty payload counts too: it takes room in the lists.
    this.#bytes += Math.max(bytes, 16)
    return null
  }

  /** Returns copies of the payloads. They must still be in memory. */
  copy(records: Buffer): { readonly group: JsonGroup; readonly batch: PayloadBatch }[] {
    return this.#groups.map(group => ({ group, batch: copyOf(group, records) }))
  }
}

function copyOf({ from, to }: JsonGroup, records: Buffer): PayloadBatch {
  const ends = new Uint32Array(from.length)
  let size = 0
  for (let i = 0; i < ends.length; i++) ends[i] = size += to[i]! - from[i]!
  // All of it is written.
  const memory = Buffer.allocUnsafeSlow(size)
  for (let i = 0, at = 0; i < ends.length; at = ends[i++]!) records.copy(memory, at, from[i]!, to[i]!)
  return { memory: memory.buffer as ArrayBuffer, ends }
}
