// The form of the dialog Produce as data: what the user typed, the record that it means, and which field a refusal is
// about. The rules are the broker's.

import type { Content, KeyOrValue, NewMessages, ShownRecord, ShownValue } from '../../src/api/messages.ts'
import type { Problem } from '../api/problem.ts'
import type { SchemaParts } from './schema-parts.ts'

type NewMessage = NewMessages['messages'][number]

/** `null` is no content at all, which is not the same as an empty text. `schema` is JSON that the broker encodes. */
export type ContentKind = 'text' | 'base64' | 'null' | 'schema'

export interface ContentDraft {
  readonly kind: ContentKind
  readonly typed: string
  /** The schema of the kind `schema`; undefined until the user or the record names one. */
  readonly schema?: SchemaDraft
}

export interface SchemaDraft {
  /** An id, a subject, or a subject with a version. */
  readonly name: string
  /** The Protobuf message; an empty text is the first one of the schema. */
  readonly message: string
}

export interface HeaderDraft {
  /** Tells rows apart that are otherwise alike. */
  readonly id: number
  readonly key: string
  readonly value: ContentDraft
  /** False for a header of the original that is left out. */
  readonly isSent: boolean
}

export interface Draft {
  readonly key: ContentDraft
  readonly value: ContentDraft
  readonly headers: readonly HeaderDraft[]
  /** Null: the key decides, or the broker. */
  readonly partition: number | null
  /** Milliseconds since 1970; null for the time at which the broker takes the record. */
  readonly timestamp: number | null
}

export const EMPTY_DRAFT: Draft = {
  key: { kind: 'null', typed: '' },
  value: { kind: 'text', typed: '' },
  headers: [],
  partition: null,
  timestamp: null,
}

/** Returns a draft without content. A value with a schema is JSON: the broker would refuse other bytes. */
export function emptyDraftOf({ value }: SchemaParts): Draft {
  if (value === null) return EMPTY_DRAFT
  return { ...EMPTY_DRAFT, value: { kind: 'schema', typed: '', schema: { name: value.subject ?? '', message: '' } } }
}

/** Returns a draft of the same record, for the partition that it was in. The record must be whole. */
export function draftOf(record: ShownRecord): Draft {
  return {
    key: partDraftOf(record.key),
    value: partDraftOf(record.value),
    headers: record.headers.map(({ key, value }, id) => ({ id, key, value: contentDraftOf(value), isSent: true })),
    partition: record.partition,
    timestamp: null,
  }
}

/** A key or value that was decoded with a schema is encoded with it again. */
function partDraftOf(value: ShownValue | null): ContentDraft {
  const id = value?.schema?.id
  if (value?.text === undefined || id === undefined) return contentDraftOf(value)
  return { kind: 'schema', typed: value.text, schema: { name: String(id), message: value.schema?.message ?? '' } }
}

function contentDraftOf(value: ShownValue | null): ContentDraft {
  if (value === null) return { kind: 'null', typed: '' }
  return value.text === undefined ? { kind: 'base64', typed: value.base64 ?? '' } : { kind: 'text', typed: value.text }
}

/** Returns the record to produce. Headers keep their order, and a name may be there twice. */
export function messageOf({ key, value, headers, partition, timestamp }: Draft): NewMessage {
  return {
    ...(partition === null ? {} : { partition }),
    key: partOf(key),
    value: partOf(value),
    headers: sentHeaders(headers).map(header => ({ key: header.key, value: contentOf(header.value) })),
    ...(timestamp === null ? {} : { timestamp }),
  }
}

function sentHeaders(headers: readonly HeaderDraft[]): readonly HeaderDraft[] {
  return headers.filter(({ isSent }) => isSent)
}

function partOf(draft: ContentDraft): KeyOrValue | null {
  if (draft.kind !== 'schema') return contentOf(draft)
  const { name = '', message = '' } = draft.schema ?? {}
  return { text: draft.typed, schema: { name: name.trim(), ...(message === '' ? {} : { message }) } }
}

function contentOf({ kind, typed }: ContentDraft): Content | null {
  switch (kind) {
    case 'null':
      return null
    case 'text':
    // A header has no schema.
    case 'schema':
      return { text: typed }
    case 'base64':
      // Tools break long base64 into lines.
      return { base64: typed.replaceAll(/\s/g, '') }
  }
}

export interface Objections {
  readonly key?: string
  readonly value?: string
  readonly keySchema?: string
  readonly valueSchema?: string
  readonly partition?: string
  readonly timestamp?: string
  /** By the id of the header. */
  readonly headers: ReadonlyMap<number, string>
  /** True if no field shows the problem. */
  readonly isElsewhere: boolean
}

type FieldName = 'key' | 'value' | 'keySchema' | 'valueSchema' | 'partition' | 'timestamp'

/** A record that its schema does not fit is refused by its part. */
function fieldOf({ code, detail }: Pick<Problem, 'code' | 'detail'>): FieldName | undefined {
  return code === 'INVALID_RECORD' && /\bvalue\b/.test(detail) ? 'value' : FIELD_OF_CODE[code]
}

/** Which field a refusal is about that names none. */
const FIELD_OF_CODE: Readonly<Record<string, FieldName>> = {
  MESSAGE_TOO_LARGE: 'value',
  PAYLOAD_TOO_LARGE: 'value',
  INVALID_TIMESTAMP: 'timestamp',
  INVALID_RECORD: 'key',
  UNKNOWN_TOPIC_OR_PARTITION: 'partition',
}

/** Returns the objections of a refusal, each at its field. */
export function objectionsOf(problem: Pick<Problem, 'code' | 'detail' | 'fields'> | null, draft: Draft): Objections {
  const headers = new Map<number, string>()
  if (problem === null) return { headers, isElsewhere: false }
  const found: { [Name in FieldName]?: string } = {}
  let isElsewhere = false
  for (const [path, objection] of Object.entries(problem.fields)) {
    const [, name, index] = /^messages\.0\.(\w+)(?:\.(\d+|schema))?/.exec(path) ?? []
    const header = name === 'headers' ? sentHeaders(draft.headers)[Number(index)] : undefined
    if (header !== undefined) headers.set(header.id, objection)
    else if ((name === 'key' || name === 'value') && index === 'schema') found[`${name}Schema`] = objection
    else if (name === 'key' || name === 'value' || name === 'partition' || name === 'timestamp') found[name] = objection
    else isElsewhere = true
  }
  if (Object.keys(problem.fields).length === 0) {
    const field = fieldOf(problem)
    if (field === undefined) isElsewhere = true
    else found[field] = problem.detail
  }
  return { ...found, headers, isElsewhere }
}
