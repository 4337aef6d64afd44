// The keys and values of records to produce as bytes. Those that name a schema are made of JSON by the registry. All of
// them are made before any record is written.

import type { Content, KeyOrValue, RecordToProduce, SchemaName } from '../../api/messages.ts'
import { SCHEMA_ID_HEADERS } from '../../registry/payload/framing.ts'
import type { Encoder, SchemaName as EncoderName, PartRefusal } from '../../registry/records/encode-part.ts'
import { type Declined, declined } from '../declined.ts'
import { type SchemaRooms, SWITCHED_OFF } from './schema-value.ts'

/** The bytes of a record. */
export interface MadeParts {
  readonly key: Buffer | null
  readonly value: Buffer | null
  /** Readers believe a header that names a schema more than the bytes, so a part that was made here must have none. */
  readonly headersLeftOut: readonly string[]
}

/** A request that gets every line wrong must not get an endless answer. */
const MOST_OBJECTIONS = 100

const NO_REGISTRY: PartRefusal = Object.freeze({ kind: 'refused', about: 'schema', message: SWITCHED_OFF })

/**
 * Resolves with the bytes of each record, in order. If keys or values cannot be made, the reasons are in `fields`, by
 * their paths in the request: `messages.0.value.schema`. Throws what the store throws.
 */
export async function makeParts(
  rooms: SchemaRooms,
  records: readonly RecordToProduce[],
): Promise<readonly MadeParts[] | Declined> {
  /** By the name of the schema: most requests have one or two. */
  const encoders = new Map<string, Encoder | PartRefusal>()
  const encoderOf = async (name: SchemaName): Promise<Encoder | PartRefusal> => {
    const key = JSON.stringify(name)
    const known = encoders.get(key)
    if (known !== undefined) return known
    const found = rooms.registry === null ? NO_REGISTRY : await rooms.registry.records.encoderOf(readName(name))
    encoders.set(key, found)
    return found
  }
  const fields: Record<string, string> = {}
  const partOf = async (content: KeyOrValue | null | undefined, field: string): Promise<Buffer | null> => {
    if (!hasSchema(content)) return bytesOf(content)
    const encoder = await encoderOf(content.schema)
    const made = encoder.kind === 'refused' ? encoder : await encoder.encode(content.text)
    if (Buffer.isBuffer(made)) return made
    fields[`${field}.${made.about}`] = made.message
    return null
  }
  const made: MadeParts[] = []
  for (const [at, { key, value }] of records.entries()) {
    made.push({
      key: await partOf(key, `messages.${at}.key`),
      value: await partOf(value, `messages.${at}.value`),
      headersLeftOut: [
        ...(hasSchema(key) ? [SCHEMA_ID_HEADERS.key] : []),
        ...(hasSchema(value) ? [SCHEMA_ID_HEADERS.value] : []),
      ],
    })
    if (Object.keys(fields).length >= MOST_OBJECTIONS) break
  }
  const [first] = Object.entries(fields)
  if (first === undefined) return made
  const [field, objection] = first
  return declined('INVALID_REQUEST', `${field}: ${objection}`, fields)
}

function readName(given: SchemaName): EncoderName {
  if (!('name' in given)) return given
  const { name, message } = given
  if (/^\d{1,10}$/.test(name)) return { id: Number(name), message }
  const [, subject, version] = /^(.+):(\d{1,10}|latest)$/.exec(name) ?? []
  if (subject === undefined) return { subject: name, message }
  return { subject, version: version === 'latest' ? undefined : Number(version), message }
}

type WithSchema = KeyOrValue & { readonly text: string; readonly schema: SchemaName }

function hasSchema(content: KeyOrValue | null | undefined): content is WithSchema {
  return content !== null && content !== undefined && 'schema' in content && content.schema !== undefined
}

/** Returns the bytes of a content without a schema. */
export function bytesOf(content: Content | null | undefined): Buffer | null {
  if (content === null || content === undefined) return null
  return 'text' in content ? Buffer.from(content.text) : Buffer.from(content.base64, 'base64')
}
