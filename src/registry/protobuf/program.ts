// The data that judges and decodes payloads of one schema. It is plain data, which can be sent between threads.
// Messages and enums have numbers, and refer to each other by them.
//
// The walker looks a tag up in a table. A tag is the number of a field times 8, plus the wire type. Small tags of a
// message stand in a part of the table of its own (`starts`, `lengths`); all others are searched in `sparseTags`.

/** The walker's steps behind a tag. */
export const ACTION = {
  /** No field has the number: the value is skipped. */
  skip: 0,
  varint: 1,
  bool: 2,
  /** An enum of proto2, whose numbers must be declared; `details` is its number. */
  closedEnum: 3,
  fixed32: 4,
  fixed64: 5,
  /** With a check of UTF-8. */
  string: 6,
  bytes: 7,
  /** `details` is the number of the message. */
  message: 8,
  group: 9,
  /** The field has another wire type. */
  wrong: 10,
  packedVarint: 11,
  packedBool: 12,
  packedClosedEnum: 13,
  packedFixed32: 14,
  packedFixed64: 15,
} as const

export type FieldType =
  | 'double'
  | 'float'
  | 'int32'
  | 'int64'
  | 'uint32'
  | 'uint64'
  | 'sint32'
  | 'sint64'
  | 'fixed32'
  | 'fixed64'
  | 'sfixed32'
  | 'sfixed64'
  | 'bool'
  | 'string'
  | 'bytes'
  | 'enum'
  | 'message'
  | 'group'
  /** Of a stored schema whose import is missing: any value is accepted, and none is shown. */
  | 'open'

export interface ProgramField {
  /** `[full.name]` of an extension. */
  readonly name: string
  readonly jsonName: string
  readonly number: number
  readonly type: FieldType
  /** The number of the message or the enum; -1 for scalars. */
  readonly of: number
  readonly isRepeated: boolean
  readonly isMap: boolean
  readonly isRequired: boolean
  /** Writers put the elements into one value. */
  readonly isPacked: boolean
  /** False where writers leave the default out. */
  readonly hasPresence: boolean
  /** The number of its oneof in the message; -1 outside. */
  readonly oneof: number
}

export interface ProgramMessage {
  readonly fullName: string
  /** In the order of their numbers. */
  readonly fields: readonly ProgramField[]
  /** The messages declared in it, in the order of the text: steps of message indexes. */
  readonly nested: readonly number[]
}

export interface ProgramEnum {
  readonly fullName: string
  /** The first name of each number. */
  readonly names: ReadonlyMap<number, string>
  readonly numbers: ReadonlyMap<string, number>
  readonly isClosed: boolean
}

export interface ProtobufProgram {
  readonly messages: readonly ProgramMessage[]
  readonly enums: readonly ProgramEnum[]
  /** The messages at the top of the file, in the order of the text. */
  readonly topLevel: readonly number[]
  /** Of each message: where its small tags begin in `actions`, `details` and `required`, and how many they are. */
  readonly starts: Int32Array
  readonly lengths: Int32Array
  readonly actions: Uint8Array
  /** By number: one entry for eight tags, as in `required`. */
  readonly details: Int32Array
  /** The bit of a required field, counted from 1; 0 for all others. */
  readonly required: Uint16Array
  /** Of each message: how many required fields it has. */
  readonly requiredCounts: Int32Array
  /** Of each message, `sparseStarts[message]` to `sparseStarts[message + 1]`: its large tags, in their order. */
  readonly sparseStarts: Int32Array
  readonly sparseTags: Uint32Array
  readonly sparseActions: Uint8Array
  readonly sparseDetails: Int32Array
  readonly sparseRequired: Uint16Array
}

/** The number of the message at a path of message indexes, for example [1, 0]; -1 if the path leads to none. */
export function messageAt(program: ProtobufProgram, path: readonly number[]): number {
  let messages = program.topLevel
  let found = -1
  for (const step of path) {
    found = messages[step] ?? -1
    if (found < 0) return -1
    messages = program.messages[found]?.nested ?? []
  }
  return found
}

/** The path of message indexes of the message with this full name; null if the file declares none. */
export function pathOf(program: ProtobufProgram, fullName: string): number[] | null {
  return pathAmong(program, program.topLevel, fullName)
}

function pathAmong(program: ProtobufProgram, messages: readonly number[], fullName: string): number[] | null {
  for (const [step, number] of messages.entries()) {
    const message = program.messages[number]
    if (message === undefined) continue
    if (message.fullName === fullName) return [step]
    if (!fullName.startsWith(`${message.fullName}.`)) continue
    const rest = pathAmong(program, message.nested, fullName)
    if (rest !== null) return [step, ...rest]
  }
  return null
}

/** Where a large tag of a message stands in the sparse tables; -1 if no field has it. */
export function sparseIndex(program: ProtobufProgram, message: number, tag: number): number {
  const { sparseTags, sparseStarts } = program
  let low = sparseStarts[message] as number
  let high = (sparseStarts[message + 1] as number) - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const found = sparseTags[middle] as number
    if (found === tag) return middle
    if (found < tag) low = middle + 1
    else high = middle - 1
  }
  return -1
}
