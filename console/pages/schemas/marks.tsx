// The small marks of the pages of schemas: format, level, mode, the answer of the judge, and a link to a version.

import type { SchemaPartRule } from '../../../src/api/schemas.ts'
import { Badge } from '../../parts/badge.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink } from '../../shell/address.tsx'
import { count } from '../../text/format.ts'
import { ACTIONS, LEVEL_SENTENCES, type Level, MODE_SENTENCES, type Mode } from './words.ts'

/** The level in force. `isOwn`: the subject has its own level. */
export function LevelMark({ level, isOwn }: { readonly level: Level; readonly isOwn: boolean }) {
  return (
    <span title={LEVEL_SENTENCES[level]} className="whitespace-nowrap">
      {level}
      {!isOwn && <span className="text-muted"> · global</span>}
    </span>
  )
}

/** The mode in force. The usual one does not ask for attention. */
export function ModeMark({ mode, isOwn }: { readonly mode: Mode; readonly isOwn: boolean }) {
  return (
    <span title={MODE_SENTENCES[mode]} className="whitespace-nowrap">
      {mode === 'READWRITE' ? mode : <Badge tone="warn">{mode}</Badge>}
      {!isOwn && <span className="text-muted"> · global</span>}
    </span>
  )
}

export function ActionMark({ action }: Pick<SchemaPartRule, 'action'>) {
  const { tone, text, title } = ACTIONS[action]
  return (
    <Badge tone={tone} title={title}>
      {text}
    </Badge>
  )
}

/** The refused records; zero does not ask for attention. */
export function Refused({ of }: { readonly of: number }) {
  return (
    <span
      className={of === 0 ? 'text-muted' : 'font-medium text-danger'}
      title="Records that were not valid, since this broker started, on this broker."
    >
      {count(of)}
    </span>
  )
}

export function DeletedMark() {
  return (
    <Badge
      tone="neutral"
      shape="✕"
      title="Clients do not find it in lists. Records that name its id can still be read."
    >
      deleted
    </Badge>
  )
}

/** A link to a subject, or to one of its versions. */
export function SubjectLink({ subject, version }: { readonly subject: string; readonly version?: number }) {
  return (
    <PageLink
      page="subject"
      params={{ subject }}
      {...(version === undefined ? {} : { search: { version } })}
      className="text-accent wrap-anywhere underline underline-offset-2"
    >
      <VisibleText text={subject} />
      {version !== undefined && ` · version ${version}`}
    </PageLink>
  )
}
