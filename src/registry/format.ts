// The port to a format of schemas: Avro, JSON Schema or Protobuf. Each format is a folder beside this file. Everything
// here is pure and synchronous, so that it can run in a thread with limits (work/), and in a test. A format knows no
// subjects, no ids and no levels.

/** Confluent's names, as clients send them. */
export type SchemaType = 'AVRO' | 'JSON' | 'PROTOBUF'

export const SCHEMA_TYPES: readonly SchemaType[] = Object.freeze(['AVRO', 'JSON', 'PROTOBUF'])

/**
 * A schema that another one names. `name` is the full name of an Avro type, the URI of a JSON `$ref`, or the path of a
 * Protobuf import.
 */
export interface Dependency {
  readonly name: string
  readonly text: string
}

/** A schema with all that it refers to, directly or not. A dependency stands before those that need it, and once. */
export interface SchemaText {
  readonly text: string
  readonly dependencies: readonly Dependency[]
}

/**
 * `new`: all rules, for a schema that is registered or checked. `stored`: what can be understood is accepted, so that
 * an old mistake does not block its subject (a wrong default, a bad name).
 */
export type Strictness = 'new' | 'stored'

/** The text is no schema of this format. The message names the place and what is expected there. */
export class InvalidSchema extends Error {
  override readonly name = 'InvalidSchema'
}

/**
 * One reason why a reader cannot read everything that a writer writes. Its place is as Confluent writes it,
 * because clients see it:
 *
 *   Avro          /fields/1/type       a JSON pointer; `/` for the whole schema
 *   JSON Schema   #/properties/x       the pointer as a fragment; `#` for the whole schema
 *   Protobuf      #/Message/1          names of messages, enums and oneofs, then the number; `#/` for the whole file
 *
 * Operators, and producers whose records are refused, see one form (placeOf).
 */
export interface Difference {
  /** Confluent's word, for example READER_FIELD_MISSING_DEFAULT_VALUE. */
  readonly type: string
  readonly path: string
  /** A sentence for people, which names both sides and not the place. */
  readonly description: string
}

/** Returns the place in one form for all formats: `/fields/1/type`, `/properties/x`, `/Message/1`, and `/` for all. */
export function placeOf({ path }: Pick<Difference, 'path'>): string {
  return `/${path.replace(/^#?\/?/, '')}`
}

/** LENIENT accepts more changes of JSON Schema objects. Avro and Protobuf have one policy. */
export type Policy = 'STRICT' | 'LENIENT'

/** The schema as it goes back to clients. */
export interface Printed {
  /** The text that is stored and returned, and that decides whether two schemas are the same. */
  readonly canonical: string
  /** The canonical text after `normalize`. */
  readonly normalized: string
}

/** A format. Only the format knows what its parsed schemas and its programs hold. */
export interface Format<Schema, Program> {
  readonly type: SchemaType
  /** Throws InvalidSchema. */
  parse(source: SchemaText, strictness: Strictness): Schema
  print(schema: Schema): Printed
  /**
   * The canonical text with every named dependency written out at its first use. Clients look schemas up by it. For
   * formats without such a form: the canonical text.
   */
  inlined(schema: Schema): string
  /**
   * The names that records of this schema may have in a subject: the full name of an Avro record, of each
   * Protobuf message in the order of message indexes (depth first), the title of a JSON schema. Empty if it has none.
   */
  recordNames(schema: Schema): readonly string[]
  /** Returns why `reader` cannot read what `writer` writes; empty if it can. Stops after 100 reasons. */
  compare(reader: Schema, writer: Schema, policy: Policy): readonly Difference[]
  /** Returns what judges and decodes payloads. It can be sent between threads, and its size is close to the text's. */
  compile(schema: Schema): Program
}

/** Why a payload is not valid: a short phrase for people, with the place in the payload and the field. */
export interface Fault {
  /** For metrics. */
  readonly reason: 'truncated' | 'trailing-bytes' | 'bad-value' | 'too-deep' | 'too-many-elements' | 'too-slow'
  /**
   * `at <place>: <mistake>`. The place is the byte behind the schema id, and the field if it is known. JSON is judged
   * as a value, so its place is a pointer.
   *
   *   Avro          at byte 17, field "order.amount": a union of 2 branches has no branch 99
   *   Protobuf      at byte 17, field "amount" of shop.Order: the string is not UTF-8
   *   JSON Schema   at /order/amount: must be number
   */
  readonly message: string
}

/** A decoder stops at this depth, and at this number of elements that take no bytes. */
export const MOST_LEVELS = 512
export const MOST_EMPTY_ELEMENTS = 10_000

/** The bounds of a schema. A larger one is refused with 42209, a deeper one with 42201. */
export const MOST_SCHEMA_BYTES = 512 * 1024
export const MOST_SCHEMA_BYTES_WITH_REFERENCES = 4 * 1024 * 1024
export const MOST_SCHEMA_LEVELS = 64
export const MOST_REFERENCES = 100

/**
 * Walks payloads without building values. It is made for one program and used for many payloads, one after the other.
 * A walk can pause after any number of steps, so that a large payload does not hold the event loop.
 */
export interface Walker {
  /** Begins at `from`; the payload must end exactly at `to`. */
  begin(bytes: Uint8Array, from: number, to: number): void
  /** Goes on for about `steps` values. Returns `more` if the payload has not ended, null if it is valid. */
  run(steps: number): 'more' | Fault | null
}
