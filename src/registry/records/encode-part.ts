// Makes one key or value from the JSON text that decoding shows, with the schema that the caller names: the prefix with
// its id, for Protobuf the message indexes, and the body. JSON is checked by its schema in a thread, because a schema
// can keep a check busy for ever.

import type { Fault } from '../format.ts'
import type { JsonValidators } from '../json/json-validators.ts'
import type { JsonProgram } from '../json/modern.ts'
import { framed } from '../payload/framing.ts'
import { writeIndexes } from '../payload/message-indexes.ts'
import { messageAt, type ProtobufProgram, pathOf } from '../protobuf/program.ts'
import { isRefusal } from '../refusals.ts'
import { byId, byVersion } from '../verbs/look-up.ts'
import type { VerbRooms } from '../verbs/rooms.ts'
import { type BodyWork, MOST_BODY_BYTES, MOST_TEXT_BYTES } from './body-work.ts'
import type { KnownSchema, KnownSchemas } from './known-schemas.ts'

/** A schema as callers name it: a version of a subject, the latest by default, or an id. */
export type SchemaName = (
  | { readonly subject: string; readonly version?: number | undefined }
  | { readonly id: number }
) & {
  /** The full name of the Protobuf message; by default the first one. */
  readonly message?: string | undefined
}

/** Why no key or value is made: the schema cannot be used, or the text is not what it says. */
export interface PartRefusal {
  readonly kind: 'refused'
  readonly about: 'schema' | 'text'
  /** One sentence, with the path in the text. */
  readonly message: string
}

/** A schema that keys or values can be made with. */
export interface Encoder {
  readonly kind: 'encoder'
  readonly id: number
  /** Resolves with the bytes. */
  encode(text: string): Promise<Buffer | PartRefusal>
}

interface EncodingRooms extends VerbRooms {
  readonly schemas: KnownSchemas
  readonly bodies: BodyWork
  readonly validators: () => JsonValidators
}

/** Resolves with the encoder of a schema, for many texts. Throws what the store throws. */
export async function encoderOf(rooms: EncodingRooms, name: SchemaName): Promise<Encoder | PartRefusal> {
  const found =
    'id' in name ? await byId(rooms, name.id) : await byVersion(rooms, name.subject, name.version ?? 'latest')
  if (isRefusal(found)) return refused('schema', found.message)
  const { id, guid } = found
  const schema = await rooms.schemas.get(guid)
  if (schema.kind === 'unusable') return refused('schema', `The schema ${id} cannot be used: ${schema.why}.`)
  const message = messageOf(schema, id, name.message)
  if ('kind' in message) return message
  const { number, indexes } = message
  return {
    kind: 'encoder',
    id,
    async encode(text) {
      const bytes = Buffer.byteLength(text)
      if (bytes > MOST_TEXT_BYTES)
        return refused('text', `The text has ${bytes} bytes; the most are ${MOST_TEXT_BYTES}.`)
      const { type, program } = schema
      const body = await rooms.bodies.encode({ type, program, message: number }, text)
      const fault = 'reason' in body ? body : await faultIn(rooms, schema, body)
      if (fault !== null) return refused('text', `It is not what the schema ${id} says: ${fault.message}.`)
      const whole = framed(id, indexes, body as Uint8Array)
      if (whole.length <= MOST_BODY_BYTES) return whole
      return refused('text', `It makes ${whole.length} bytes; the most are ${MOST_BODY_BYTES}.`)
    },
  }
}

const NO_INDEXES = Buffer.alloc(0)

/** Returns the message of a Protobuf schema: its number in the program, and its indexes as bytes. */
function messageOf(
  { type, program, recordNames }: KnownSchema,
  id: number,
  name: string | undefined,
): { readonly number: number; readonly indexes: Buffer } | PartRefusal {
  if (type !== 'PROTOBUF') {
    if (name === undefined) return { number: 0, indexes: NO_INDEXES }
    return refused('schema', `The schema ${id} is of type ${type}: it has no message ${name}.`)
  }
  const path = name === undefined ? [0] : pathOf(program as ProtobufProgram, name)
  const number = path === null ? -1 : messageAt(program as ProtobufProgram, path)
  if (path !== null && number >= 0) return { number, indexes: writeIndexes(path) }
  const which = name === undefined ? '' : ` ${name}`
  if (recordNames.length === 0)
    return refused('schema', `The schema ${id} has no message${which}: it defines no messages.`)
  const some = recordNames.slice(0, MOST_NAMED)
  const more = recordNames.length > some.length ? ', …' : ''
  return refused('schema', `The schema ${id} has no message${which}; it has ${some.join(', ')}${more}.`)
}

const MOST_NAMED = 8

/** Checks JSON by its schema. The bodies of other types are as their schemas say because they could be made. */
async function faultIn(rooms: EncodingRooms, schema: KnownSchema, body: Uint8Array): Promise<Fault | null> {
  if (schema.type !== 'JSON') return null
  const keyed = { key: schema.guid, program: schema.program as JsonProgram }
  // The validators take the memory over.
  const memory = Uint8Array.from(body).buffer
  const [fault] = await rooms.validators().judge([keyed], { memory, ends: Uint32Array.of(body.length) })
  return fault ?? null
}

function refused(about: PartRefusal['about'], message: string): PartRefusal {
  return { kind: 'refused', about, message: /[.!?]$/.test(message) ? message : `${message}.` }
}
