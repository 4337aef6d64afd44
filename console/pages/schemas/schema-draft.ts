// The draft of a schema in the dialog that checks and registers it.

import type { NewSchema, SchemaVersion } from '../../../src/api/schemas.ts'

export interface ReferenceDraft {
  /** For React: the place in the list changes. */
  readonly id: number
  readonly name: string
  readonly subject: string
  readonly version: string
}

export interface SchemaDraft {
  readonly subject: string
  readonly type: NonNullable<NewSchema['type']>
  readonly text: string
  readonly references: readonly ReferenceDraft[]
  readonly normalize: boolean
}

/** Returns the draft that begins with a version, or an empty one. */
export function draftOf(subject: string, like: SchemaVersion | undefined): SchemaDraft {
  const references = (like?.references ?? []).map((each, id) => ({ ...each, id, version: String(each.version) }))
  return { subject, type: like?.type ?? 'AVRO', text: like?.pretty ?? '', references, normalize: false }
}

const VERSION = /^[1-9][0-9]{0,9}$/

/** Returns the request, and the objections to it: to `subject`, to `text`, and to `reference <id>`. */
export function requestOf({ subject, type, text, references, normalize }: SchemaDraft): {
  readonly body: NewSchema
  readonly objections: Readonly<Record<string, string>>
} {
  const objections: Record<string, string> = {}
  if (subject === '') objections.subject = 'Type the name of a subject, such as orders-value.'
  if (text.trim() === '') objections.text = 'Type the text of the schema.'
  for (const { id, name, subject: its, version } of references)
    if (name === '' || its === '' || !VERSION.test(version))
      objections[`reference ${id}`] = 'A reference has a name, a subject, and the number of a version.'
  const sent = references.map(each => ({ name: each.name, subject: each.subject, version: Number(each.version) }))
  return { body: { type, schema: text, references: sent, normalize }, objections }
}

/** Returns a text that is the same for drafts that ask for the same. */
export function keyOf(draft: SchemaDraft): string {
  return JSON.stringify([draft.subject, requestOf(draft).body])
}
