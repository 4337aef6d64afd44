// A schema as payloads are judged by it: its walkers, and the names of its records.

import type { AvroProgram } from '../avro/program.ts'
import { AvroWalker } from '../avro/walker.ts'
import type { SchemaType, Walker } from '../format.ts'
import type { KeyedProgram } from '../json/json-validators.ts'
import type { JsonProgram } from '../json/modern.ts'
import type { SchemaProgram } from '../judged-subjects.ts'
import type { MessageIndexes } from '../payload/message-indexes.ts'
import type { ProtobufProgram } from '../protobuf/program.ts'
import { walkerOf } from '../protobuf/walker.ts'

/** A walker has the state of one walk, so each batch that is being judged has its own. This many wait for the next. */
const MOST_IDLE = 4
/** About what a walker takes. */
const WALKER_BYTES = 8 * 1024

export class JudgedSchema {
  readonly guid: string
  readonly type: SchemaType
  readonly bytes: number
  /** For the validators; null if the schema is no JSON schema. */
  readonly json: KeyedProgram | null
  readonly #program: unknown
  readonly #recordNames: readonly string[]
  readonly #idle: { readonly walker: Walker; readonly message: number }[] = []

  constructor(guid: string, { type, program, recordNames, bytes }: SchemaProgram) {
    this.guid = guid
    this.type = type
    this.bytes = bytes + MOST_IDLE * WALKER_BYTES
    this.json = type === 'JSON' ? { key: guid, program: program as JsonProgram } : null
    this.#program = program
    this.#recordNames = recordNames
  }

  /** Of Protobuf: how many messages stand at the top of the file. */
  get topLevelMessages(): number {
    return (this.#program as ProtobufProgram).topLevel.length
  }

  /** Of Protobuf: the number of the message at these indexes; -1 if the schema has none there. */
  messageAt({ path, length }: MessageIndexes): number {
    const { messages, topLevel } = this.#program as ProtobufProgram
    let found = -1
    for (let level = 0; level < length; level++) {
      const among: readonly number[] = level === 0 ? topLevel : messages[found]!.nested
      const next = among[path[level]!]
      if (next === undefined) return -1
      found = next
    }
    return found
  }

  /** The name by which RecordName finds a subject; null if the schema has none. */
  recordName(message: number): string | null {
    if (this.type !== 'PROTOBUF') return this.#recordNames[0] ?? null
    return (this.#program as ProtobufProgram).messages[message]?.fullName ?? null
  }

  /** Of Avro and Protobuf: returns a walker that no other caller has. `message` is 0 for Avro. */
  take(message: number): Walker {
    const at = this.#idle.findLastIndex(each => each.message === message)
    if (at >= 0) return this.#idle.splice(at, 1)[0]!.walker
    if (this.type === 'AVRO') return new AvroWalker(this.#program as AvroProgram)
    return walkerOf(this.#program as ProtobufProgram, message)
  }

  /** Takes a walker back. */
  give(walker: Walker, message: number): void {
    // The walker must not keep the records of its last batch in memory.
    walker.begin(NOTHING, 0, 0)
    if (this.#idle.length === MOST_IDLE) this.#idle.shift()
    this.#idle.push({ walker, message })
  }
}

const NOTHING = new Uint8Array(0)
