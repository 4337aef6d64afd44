// The lines in which an open record differs from the pinned one.

import { useMemo } from 'react'
import type { ShownRecord, ShownValue } from '../../../src/api/messages.ts'
import { useRead } from '../../api/queries.ts'
import { textOf } from '../../parts/payload.tsx'
import { Loaded } from '../../parts/states.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink } from '../../shell/address.tsx'
import { denseParts } from '../../text/dense.ts'
import { count, counted } from '../../text/format.ts'
import { type DiffLine, lineDiff } from '../../text/line-diff.ts'
import { decodingOf, type MessageSearch, type Place, placeText } from './selection.ts'

interface CompareProps {
  readonly topic: string
  readonly search: MessageSearch
  readonly record: ShownRecord
  readonly pinned: Place
}

/** Unchanged lines around a change. */
const CONTEXT = 3
/** More lines would take longer to draw than anybody reads. */
const MOST_LINES = 2_000

export function Compare({ topic, search, record, pinned }: CompareProps) {
  const read = useRead('show message', { params: { topic, ...pinned }, query: decodingOf(search) }, { everyMs: 0 })
  return (
    <>
      <p className="mb-2 text-muted">
        <span className="text-danger">−</span> the pinned record,{' '}
        <PageLink
          page="messages"
          className="text-accent underline underline-offset-2"
          params={{ topic }}
          search={{ ...search, at: placeText(pinned) }}
        >
          partition {pinned.partition} · offset {count(pinned.offset)}
        </PageLink>
        ; <span className="text-ok">+</span> this one.
      </p>
      <Loaded read={read} of="The pinned record">
        {before => <Difference before={before} after={record} />}
      </Loaded>
    </>
  )
}

function Difference({ before, after }: { readonly before: ShownRecord; readonly after: ShownRecord }) {
  const lines = useMemo(() => lineDiff(linesOf(before), linesOf(after)), [before, after])
  const changed = lines.filter(({ kind }) => kind !== 'same').length
  const shown = aroundChanges(lines)
  return (
    <>
      <p role="status" className="mb-2">
        {changed === 0 ? 'Key, headers and value are the same.' : `${counted(changed, 'line')} differ.`}
      </p>
      {changed > 0 && (
        // biome-ignore lint/a11y/useSemanticElements: a section of the page would be a landmark
        <pre
          role="group"
          aria-label="Differences"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
          tabIndex={0}
          className="overflow-x-auto rounded-control border border-line bg-surface py-2 font-mono text-dense"
        >
          {shown.slice(0, MOST_LINES).map((line, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place
            <Line key={at} line={line} />
          ))}
        </pre>
      )}
      {shown.length > MOST_LINES && (
        <p className="mt-1 text-muted">{count(shown.length - MOST_LINES)} more lines are not shown.</p>
      )}
    </>
  )
}

const LOOKS = {
  same: { sign: ' ', look: '', spoken: '' },
  removed: { sign: '−', look: 'bg-danger-soft text-danger', spoken: 'Only in the pinned record: ' },
  added: { sign: '+', look: 'bg-ok-soft text-ok', spoken: 'Only in this record: ' },
} as const

function Line({ line }: { readonly line: DiffLine | null }) {
  if (line === null) return <div className="px-2 text-muted select-none">⋯</div>
  const { sign, look, spoken } = LOOKS[line.kind]
  const end = denseParts(line.text)[0]?.from ?? line.text.length
  return (
    <div className={`px-2 wrap-anywhere whitespace-pre-wrap ${look}`}>
      <span aria-hidden className="mr-2 select-none">
        {sign}
      </span>
      <span className="sr-only">{spoken}</span>
      <VisibleText text={line.text.slice(0, end)} isMultiline />
      {end < line.text.length && (
        <span className="text-muted"> {count(line.text.length - end)} more characters are not shown.</span>
      )}
    </div>
  )
}

/** Returns the changed lines with some around them; null stands for the lines in between. */
function aroundChanges(lines: readonly DiffLine[]): readonly (DiffLine | null)[] {
  const isNear = new Uint8Array(lines.length)
  for (const [at, { kind }] of lines.entries())
    if (kind !== 'same') isNear.fill(1, Math.max(0, at - CONTEXT), at + CONTEXT + 1)
  const shown: (DiffLine | null)[] = []
  for (const [at, line] of lines.entries()) {
    if (isNear[at] === 1) shown.push(line)
    else if (shown.at(-1) !== null) shown.push(null)
  }
  return shown
}

/** Returns what two records are compared by. Text is re-indented, so that a changed member is one line. */
function linesOf({ key, headers, value }: ShownRecord): string {
  return [
    `key: ${contentOf(key)}`,
    ...headers.map(header => `header ${header.key}: ${contentOf(header.value)}`),
    'value:',
    contentOf(value),
  ].join('\n')
}

function contentOf(value: ShownValue | null): string {
  if (value === null) return 'null'
  return value.bytes === 0 ? 'empty (0 bytes)' : textOf(value, 'pretty')
}
