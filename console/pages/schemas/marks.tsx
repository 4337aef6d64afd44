// The small marks of the pages of schemas: format, level, mode, the answer of the judge, and a link to a version.

import type { SchemaPartRule } from '../../../src/api/judged-topics.ts'
import { Badge } from '../../parts/badge.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink } from '../../shell/address.tsx'
import { count } from '../../text/format.ts'
import { ACTIONS, LEVEL_SENTENCES, type Level, MODE_SENTENCES, type Mode } from './words.ts'

interface InForce {
  /** False if the global one is in force: then the mark is quiet. */
  readonly isOwn: boolean
}

export function LevelMark({ level, isOwn }: InForce & { readonly level: Level }) {
  return (
    <span
      title={`${LEVEL_SENTENCES[level]} ${whose('level', isOwn)}`}
      className={`whitespace-nowrap ${isOwn ? 'font-medium' : 'text-muted'}`}
    >
      {level}
      {isOwn && <span className="sr-only"> of its own</span>}
    </span>
  )
}

export function ModeMark({ mode, isOwn }: InForce & { readonly mode: Mode }) {
  return (
    <span
      title={`${MODE_SENTENCES[mode]} ${whose('mode', isOwn)}`}
      className={`whitespace-nowrap ${isOwn ? 'font-medium' : 'text-muted'}`}
    >
      {mode === 'READWRITE' ? mode : <Badge tone="warn">{mode}</Badge>}
      {isOwn && <span className="sr-only"> of its own</span>}
    </span>
  )
}

function whose(thing: string, isOwn: boolean): string {
  return isOwn ? `The subject has a ${thing} of its own.` : `It is the global ${thing}.`
}

/** The answer to a record that is not valid. */
export function ActionMark({ action }: Pick<SchemaPartRule, 'action'>) {
  const { tone, text, title } = ACTIONS[action]
  return (
    <Badge tone={tone} title={title}>
      {text}
    </Badge>
  )
}

/** The same for a part of a topic, which may have no schema yet. */
export function RuleMark({ judged, action }: Pick<SchemaPartRule, 'judged' | 'action'>) {
  if (judged || action === 'off') return <ActionMark action={action} />
  return (
    <Badge tone="neutral" title="Records are checked once their subject has a version.">
      no schema yet
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
