// The lines in which two texts differ, with a few unchanged lines around each change: for two records, and for two
// versions of a schema.

import { useMemo } from 'react'
import { denseParts } from '../text/dense.ts'
import { count, counted } from '../text/format.ts'
import { type DiffLine, lineDiff } from '../text/line-diff.ts'
import { VisibleText } from './visible-text.tsx'

interface DifferenceProps {
  readonly before: string
  readonly after: string
  /** The names of the two texts within a sentence: `the pinned record`, `this record`. */
  readonly names: readonly [before: string, after: string]
  /** The sentence for two texts that are the same. */
  readonly same: string
}

/** Unchanged lines around a change. */
const CONTEXT = 3
/** More lines would take longer to draw than anybody reads. */
const MOST_LINES = 2_000

export function Difference({ before, after, names, same }: DifferenceProps) {
  const lines = useMemo(() => lineDiff(before, after), [before, after])
  const changed = lines.filter(({ kind }) => kind !== 'same').length
  const shown = aroundChanges(lines)
  return (
    <>
      <p role="status" className="mb-2">
        {changed === 0 ? same : `${counted(changed, 'line differs', 'lines differ')}.`}
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
            <Line key={at} line={line} names={names} />
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
  same: { sign: ' ', look: '' },
  removed: { sign: '−', look: 'bg-danger-soft text-danger' },
  added: { sign: '+', look: 'bg-ok-soft text-ok' },
} as const

function Line({ line, names }: { readonly line: DiffLine | null; readonly names: DifferenceProps['names'] }) {
  if (line === null) return <div className="px-2 text-muted select-none">⋯</div>
  const { sign, look } = LOOKS[line.kind]
  const end = denseParts(line.text)[0]?.from ?? line.text.length
  return (
    <div className={`px-2 wrap-anywhere whitespace-pre-wrap ${look}`}>
      <span aria-hidden className="mr-2 select-none">
        {sign}
      </span>
      {line.kind !== 'same' && <span className="sr-only">Only in {names[line.kind === 'removed' ? 0 : 1]}: </span>}
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
