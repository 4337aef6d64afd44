// A body with a program of its schema as JSON text, and back. Pure and synchronous: it runs in this thread for small
// bodies, and in one with limits for all others (body-work.ts).

import { decodeAvro } from '../avro/decode.ts'
import { encodeAvro } from '../avro/encode.ts'
import type { AvroProgram } from '../avro/program.ts'
import type { Fault, SchemaType } from '../format.ts'
import { decodeJson, encodeJson } from '../json/payload-text.ts'
import { decode as decodeProtobuf } from '../protobuf/decode.ts'
import { encode as encodeProtobuf } from '../protobuf/encode.ts'
import type { ProtobufProgram } from '../protobuf/program.ts'

/** The program of a schema, and of Protobuf the number of the message in it. */
export interface BodyType {
  readonly type: SchemaType
  readonly program: unknown
  readonly message: number
}

/** Returns the text of the body `bytes[from, to)`, or why it has none. */
export function textOf(
  { type, program, message }: BodyType,
  bytes: Uint8Array,
  from: number,
  to: number,
  mostTextBytes: number,
): string | Fault {
  switch (type) {
    case 'AVRO':
      return decodeAvro(program as AvroProgram, bytes, from, to, mostTextBytes)
    case 'PROTOBUF':
      return decodeProtobuf(program as ProtobufProgram, message, bytes, from, to, mostTextBytes)
    case 'JSON':
      return decodeJson(bytes, from, to, mostTextBytes)
  }
}

/** Returns the body that `textOf` shows as this text, or why it makes no body. JSON is not checked by its schema. */
export function bodyOf({ type, program, message }: BodyType, text: string, mostBytes: number): Uint8Array | Fault {
  switch (type) {
    case 'AVRO':
      return encodeAvro(program as AvroProgram, text, mostBytes)
    case 'PROTOBUF':
      return encodeProtobuf(program as ProtobufProgram, message, text, mostBytes)
    case 'JSON':
      return encodeJson(text, mostBytes)
  }
}
