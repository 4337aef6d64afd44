// Decodes one key or value with the schema that it names: as JSON text, with the subject and version of the schema.
// Bytes that cannot be decoded are no error, but another kind of answer. Nothing here judges whether the topic may
// have the record.

import { UnreadableDocument } from '../../store/store.ts'
import type { SchemaType } from '../format.ts'
import { Framing, type Header, type Part, UNFRAMED } from '../payload/framing.ts'
import { MessageIndexes, readIndexes } from '../payload/message-indexes.ts'
import type { SubjectStrategy } from '../payload/subjects.ts'
import { messageAt, type ProtobufProgram } from '../protobuf/program.ts'
import type { RegistryState } from '../state/state.ts'
import { type BodyWork, MOST_BODY_BYTES } from './body-work.ts'
import type { KnownSchema, KnownSchemas } from './known-schemas.ts'
import type { VersionsOfRecords } from './versions-of-records.ts'

export interface PartToDecode {
  readonly topic: string
  readonly part: Part
  /** Of the topic; TopicName by default. It says which subject is named if several have the schema. */
  readonly strategy?: SubjectStrategy
  readonly bytes: Uint8Array
  /** The length of the key or value if `bytes` has only its beginning, at least the first five bytes. */
  readonly length?: number
  /** Of the record; those that name no schema may be left out. */
  readonly headers: readonly Header[]
}

/** The schema of a part, as far as it is known. */
export interface NamedSchema {
  /** Absent if the part names its schema by a GUID that does not exist. */
  readonly id?: number
  readonly guid?: string
  readonly type?: SchemaType
  /** Null: no subject has the schema any more. */
  readonly subject?: string | null
  readonly version?: number | null
  /** The full name of the Protobuf message. */
  readonly message?: string
}

export type DecodedPart =
  | ({ readonly kind: 'decoded'; readonly text: string } & NamedSchema & {
        readonly id: number
        readonly type: SchemaType
        readonly subject: string | null
        readonly version: number | null
      })
  /** The bytes name no schema. */
  | { readonly kind: 'raw'; readonly reason: string }
  | ({ readonly kind: 'schema-not-found'; readonly reason: string } & NamedSchema)
  | ({ readonly kind: 'decode-error'; readonly reason: string } & NamedSchema)

interface DecodingRooms {
  readonly state: RegistryState
  readonly schemas: KnownSchemas
  readonly versions: VersionsOfRecords
  readonly work: BodyWork
}

/** Resolves with the part as text, or with the reason why it has none. Throws what the store throws. */
export async function decodePart(rooms: DecodingRooms, request: PartToDecode): Promise<DecodedPart> {
  const { bytes, length = bytes.length, headers, part } = request
  const framing = new Framing().read(bytes, headers, part)
  if (framing.kind === 'unframed' || framing.kind === 'null')
    return { kind: 'raw', reason: `It names no schema, because ${UNFRAMED[framing.why]}.` }
  const named: NamedSchema = framing.kind === 'id' ? { id: framing.id } : { guid: framing.guid() }
  try {
    return await decodeNamed(rooms, request, framing, named, length)
  } catch (error) {
    if (!(error instanceof UnreadableDocument)) throw error
    return { kind: 'decode-error', reason: `The schema cannot be read: ${error.message}`, ...named }
  }
}

async function decodeNamed(
  { state, schemas, versions, work }: DecodingRooms,
  { topic, part, strategy = 'TopicName' }: PartToDecode,
  framing: Framing,
  named: NamedSchema,
  length: number,
): Promise<DecodedPart> {
  const found = await identityOf(state, named)
  if (found === null) {
    const which = named.guid === undefined ? `id ${named.id}` : `GUID ${named.guid}`
    return { kind: 'schema-not-found', reason: `The schema registry has no schema with the ${which}.`, ...named }
  }
  const { id, guid } = found
  const error = (reason: string, more: NamedSchema): DecodedPart => ({ kind: 'decode-error', reason, ...more })
  const schema = await schemas.get(guid)
  const { type } = schema
  const placed = async (recordName: string | null): Promise<Placed> => {
    const place = await versions.find({ topic, part, strategy, recordName, id })
    return { id, type, subject: place?.subject ?? null, version: place?.version ?? null }
  }
  if (schema.kind === 'unusable') {
    return error(`The schema ${id} cannot be used: ${schema.why}.`, await placed(null))
  }
  const body = bodyOf(schema, framing)
  const recordName = body.message ?? schema.recordNames[0] ?? null
  const place = { ...(await placed(recordName)), ...(body.message === undefined ? {} : { message: body.message }) }
  if (length > MOST_BODY_BYTES)
    return error(`It has ${length} bytes. The most that are decoded with a schema are ${MOST_BODY_BYTES}.`, place)
  if (body.fault !== undefined) return error(body.fault, place)
  const { program } = schema
  const text = await work.decode({ type, program, message: body.index }, framing.bytes, body.from, framing.to)
  if (typeof text === 'string') return { kind: 'decoded', text, ...place }
  return error(`It is not what the schema ${id} says: ${text.message}.`, place)
}

type Placed = Required<Pick<NamedSchema, 'id' | 'type' | 'subject' | 'version'>>

async function identityOf(
  state: RegistryState,
  { id, guid }: NamedSchema,
): Promise<{ readonly id: number; readonly guid: string } | null> {
  if (guid !== undefined) {
    const content = await state.contents.get(guid)
    return content === null ? null : { id: content.id, guid }
  }
  // No schema has an id below 1, and bytes that are no schema id often begin with zeros.
  if (id === undefined || id < 1) return null
  const owner = await state.ids.get(id)
  return owner === null ? null : { id, guid: owner }
}

interface Body {
  /** Where the body begins in the bytes of the framing. */
  readonly from: number
  /** Of Protobuf: the number of the message in the program, and its full name. */
  readonly index: number
  readonly message?: string
  /** Why there is no body. */
  readonly fault?: string
}

/** Finds the message of a Protobuf body, which is named behind the id or GUID. */
function bodyOf({ type, program }: KnownSchema, framing: Framing): Body {
  if (type !== 'PROTOBUF') return { from: framing.from, index: 0 }
  const { topLevel, messages } = program as ProtobufProgram
  const indexes = new MessageIndexes()
  const pathOf = (read: MessageIndexes) => [...read.path.subarray(0, read.length)]
  const { indexBytes, indexFrom, indexTo, by } = framing
  const read = readIndexes(
    indexes,
    indexBytes,
    indexFrom,
    indexTo,
    topLevel.length,
    at => messageAt(program as ProtobufProgram, pathOf(at)) >= 0,
  )
  const from = by === 'prefix' ? indexes.end : framing.from
  if (read === 'wrong') {
    const fault =
      indexes.length === 0
        ? 'No message indexes follow the schema id, and the schema has several messages.'
        : `The message indexes ${pathOf(indexes).join(', ')} lead to no message of the schema.`
    return { from, index: -1, fault }
  }
  const index = messageAt(program as ProtobufProgram, pathOf(indexes))
  const message = messages[index]?.fullName
  return message === undefined ? { from, index, fault: 'The schema has no message.' } : { from, index, message }
}
