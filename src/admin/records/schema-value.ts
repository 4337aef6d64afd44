// Shows keys and values with the schemas that they name. A record is kept until it is shown, because the schema may
// have to be read from the store, and a reader that looks into a batch must not wait for that.

import type { ShownValue } from '../../api/messages.ts'
import type { Topic } from '../../log/catalogue.ts'
import { Framing, type Header, type Part, SCHEMA_ID_HEADERS } from '../../registry/payload/framing.ts'
import { MOST_BODY_BYTES } from '../../registry/records/body-work.ts'
import type { DecodedPart, NamedSchema } from '../../registry/records/decode-part.ts'
import type { Registry } from '../../registry/registry.ts'
import { asBase64, wholeCharacters } from './shown-value.ts'

export interface SchemaRooms {
  /** Null if it is switched off. */
  readonly registry: Pick<Registry, 'records'> | null
}

/** A copy of a key or value, with what the registry needs to decode it. */
export interface UndecodedPart {
  readonly part: Part
  /** Of a value that is too large to be decoded, only what is shown of it. */
  readonly bytes: Buffer
  readonly length: number
  readonly headers: readonly Header[]
  readonly previewBytes: number
}

/** Why a record with a schema is neither read nor made. */
export const SWITCHED_OFF = 'The schema registry is switched off here (svc.schema-registry.enabled).'

/** The bytes of a prefix: enough to see whether a value names a schema. */
const PREFIX_BYTES = 5
/** The longest header that names a schema: its GUID, and the indexes of 64 levels. */
const HEADER_BYTES = 1024

/** Copies a key or value. */
export function undecoded(
  part: Part,
  value: Buffer,
  headers: readonly { readonly key: string; readonly value: Buffer | null }[],
  previewBytes: number,
): UndecodedPart {
  const most = value.length > MOST_BODY_BYTES ? Math.max(previewBytes, PREFIX_BYTES) : value.length
  const named = headers.findLast(({ key }) => key === SCHEMA_ID_HEADERS[part])
  const copied = named?.value == null ? null : Buffer.from(named.value.subarray(0, HEADER_BYTES))
  return {
    part,
    bytes: Buffer.from(value.subarray(0, most)),
    length: value.length,
    headers: named === undefined ? [] : [{ key: named.key, value: copied }],
    previewBytes,
  }
}

/** Resolves with the key or value as text, or as base64 with the reason. Throws what the store throws. */
export async function showUndecoded({ registry }: SchemaRooms, topic: Topic, part: UndecodedPart): Promise<ShownValue> {
  const { confluentKeySubjectNameStrategy, confluentValueSubjectNameStrategy } = topic.resolved
  const strategy = part.part === 'key' ? confluentKeySubjectNameStrategy : confluentValueSubjectNameStrategy
  const decoded =
    registry === null
      ? withoutRegistry(part)
      : await registry.records.decodePart({ ...part, topic: topic.name, strategy })
  const schema = schemaOf(decoded)
  if (decoded.kind === 'decoded') return { status: 'decoded', ...beginningOf(decoded.text, part), ...schema }
  const { bytes, length, previewBytes } = part
  return { ...asBase64(bytes, decoded.kind, previewBytes, decoded.reason, length), ...schema }
}

function withoutRegistry({ bytes, headers, part }: UndecodedPart): DecodedPart {
  const framing = new Framing().read(bytes, headers, part)
  if (framing.kind !== 'id' && framing.kind !== 'guid') return { kind: 'raw', reason: 'It names no schema.' }
  const named: NamedSchema = framing.kind === 'id' ? { id: framing.id } : { guid: framing.guid() }
  return { kind: 'schema-not-found', reason: SWITCHED_OFF, ...named }
}

function schemaOf(decoded: DecodedPart): Pick<ShownValue, 'schema'> {
  if (decoded.kind === 'raw') return {}
  const { id, guid, type, subject, version, message } = decoded
  const known = Object.entries({ id, guid, subject, version, type, message }).filter(([, each]) => each !== undefined)
  return { schema: Object.fromEntries(known) }
}

/** Returns at most previewBytes of the text. `bytes` is the length of the value as it was produced. */
function beginningOf(text: string, { length, previewBytes }: UndecodedPart) {
  if (Buffer.byteLength(text) <= previewBytes) return { text, bytes: length, truncated: false }
  const bytes = Buffer.from(text.slice(0, previewBytes + 1))
  return { text: bytes.toString('utf8', 0, wholeCharacters(bytes, previewBytes)), bytes: length, truncated: true }
}
