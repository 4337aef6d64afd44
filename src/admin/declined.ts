// An expected no of a verb that has no code in the Kafka protocol: the request is not understood, the thing is not
// there, or its state does not allow the change. Refusals of the rooms below (protocol/errors.ts) keep Kafka's codes.
// Every face has its own form for it: http/problems.ts gives each code its status.

/** The codes, each with the sentence that is said if there is nothing more to say. */
export const DECLINED = {
  INVALID_REQUEST: 'The request is not understood.',
  INVALID_SCHEMA: 'The schema cannot be taken.',
  NOT_FOUND: 'There is no such thing.',
  REMOTE_TIER_OFF: 'The remote tier is switched off here.',
  SCHEMA_REGISTRY_OFF: 'The schema registry is switched off here.',
  CONFLICT: 'The present state does not allow it.',
  INCOMPATIBLE_SCHEMA: 'The schema does not fit the versions of its subject.',
  REFERENCED: 'Other schemas refer to it.',
  UNREADABLE: 'Another program stored this in a form that is not read here.',
  PREVIEW_REQUIRED: 'Ask with dryRun first, and send the token that it answers.',
  PREVIEW_OUTDATED:
    'The preview no longer shows the present state, or this request asks for something else: ask for a new one.',
  BUSY: 'The broker has too much to do.',
} as const

export type DeclinedCode = keyof typeof DECLINED

/** Agent tools have some codes of their own. */
export interface Declined<Code extends string = DeclinedCode> {
  readonly kind: 'declined'
  readonly code: Code
  /** One sentence for people. */
  readonly detail: string
  /** The objection to each field, by its name, as in a problem of the HTTP side; null if no field is to blame. */
  readonly fields: Readonly<Record<string, string>> | null
}

type Fields = Declined['fields']

export function declined(code: DeclinedCode, detail?: string, fields?: Fields): Declined
export function declined<Code extends string>(code: Code, detail: string, fields?: Fields): Declined<Code>
export function declined(
  code: string,
  detail: string = DECLINED[code as DeclinedCode],
  fields: Fields = null,
): Declined<string> {
  return { kind: 'declined', code, detail, fields }
}

export function isDeclined(value: unknown): value is Declined {
  return typeof value === 'object' && value !== null && (value as { kind?: unknown }).kind === 'declined'
}

/** Declines a request because of one field. `why` continues a sentence that begins with the field's name. */
export function misplaced(field: string, why: string): Declined {
  return declined('INVALID_REQUEST', `${field} ${why}.`, { [field]: why })
}
