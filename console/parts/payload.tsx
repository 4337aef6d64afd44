// A key, a value or a header of a record, as the broker answers it: how it was decoded, and its text or bytes. Text is
// never parsed (text/reindent-json.ts). A row has payload-preview.tsx. Larger text is in large-text.tsx, which is
// loaded when it is first needed.

import { lazy, type ReactNode, Suspense, useMemo, useState } from 'react'
import type { ShownValue } from '../../src/api/messages.ts'
import { hasDense } from '../text/dense.ts'
import { bytes as bytesText, count, exactBytes } from '../text/format.ts'
import { bytesOfBase64, hexLines } from '../text/hex.ts'
import { highlight, type Token, type TokenKind } from '../text/highlight.ts'
import { reindentJson } from '../text/reindent-json.ts'
import { visiblePieces } from '../text/visible.ts'
import type { LargeTextProps } from './large-text.tsx'
import { DecodeBadge, Empty, Null, type PreviewProps } from './payload-preview.tsx'
import { copyExactly, Pieces } from './visible-text.tsx'

export const VIEWS = ['pretty', 'raw', 'hex'] as const
export type View = (typeof VIEWS)[number]

const VIEW_NAMES: Readonly<Record<View, string>> = { pretty: 'Pretty', raw: 'Raw', hex: 'Hex' }

/** Longer text is in the editor, which draws only the lines in view, and of dense lines only a part. */
const MOST_SIMPLE = 65_536
/** More coloured pieces and marks would take the browser longer than the editor takes to load. */
const MOST_PIECES = 5_000
/** A dump has five characters for each byte. */
const MOST_HEX_BYTES = 1024 * 1024

const COLORS: Readonly<Record<TokenKind, string>> = {
  key: 'text-syntax-key',
  string: 'text-syntax-string',
  number: 'text-syntax-number',
  word: 'text-syntax-word',
  punctuation: 'text-muted',
}

const Editor = lazy(async () => ({ default: (await import('./large-text.tsx')).LargeText }))

/** The editor for long text, loaded when it is first shown. Also for typing: see LargeTextProps. */
export function TextEditor(props: LargeTextProps) {
  const { className = 'h-96' } = props
  return (
    <Suspense
      fallback={<div role="status" aria-label={`Loading ${props.label}`} className={`bg-raised ${className}`} />}
    >
      <Editor {...props} className={className} />
    </Suspense>
  )
}

interface PayloadProps extends PreviewProps {
  /** The name for screen readers and buttons: `Value`, `Key`, `Header trace-id`. */
  readonly label: string
  /** The buttons of the page beside the views: copy, download. */
  readonly children?: ReactNode
}

/** One value as a whole: its badge, its size, the choice of the view, and the view. */
export function Payload({ value, label, isCompacted = false, children }: PayloadProps) {
  const [chosen, setChosen] = useState<View>('pretty')
  if (value === null || value.bytes === 0)
    return (
      <div className="flex flex-wrap items-center gap-2">
        {value === null ? <Null isCompacted={isCompacted} /> : <DecodeBadge {...value} />}
        {value !== null && <Empty />}
        {children}
      </div>
    )
  const views = viewsOf(value)
  const view = views.includes(chosen) ? chosen : views[0]!
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <DecodeBadge {...value} />
        {value.schema !== undefined && <span className="text-muted">schema {value.schema.id}</span>}
        <span className="text-muted tabular-nums" title={exactBytes(value.bytes)}>
          {bytesText(value.bytes)}
        </span>
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would need a legend on the screen */}
        <span role="group" aria-label={`View of ${label}`} className="inline-flex rounded-control border border-edge">
          {views.map(each => (
            <button
              key={each}
              type="button"
              aria-pressed={each === view}
              onClick={() => setChosen(each)}
              className={`min-h-7 px-2 text-dense max-sm:min-h-11 ${each === view ? 'bg-info-soft font-medium text-accent' : 'text-muted hover:text-text'}`}
            >
              {VIEW_NAMES[each]}
            </button>
          ))}
        </span>
        {children}
      </div>
      {value.truncated && <p className="text-muted">This is only the beginning of {exactBytes(value.bytes)}.</p>}
      {view === 'hex' ? <Hex value={value} label={label} /> : <Content value={value} label={label} view={view} />}
    </div>
  )
}

/**
 * Returns the text that a view shows, which is also the text to copy. A record that was not decoded is base64 in the
 * raw view.
 */
export function textOf(value: ShownValue, view: View): string {
  if (view === 'hex') return hexLines(bytesOf(value)).join('\n')
  const text = value.text ?? value.base64 ?? ''
  return view === 'pretty' && value.text !== undefined ? (reindentJson(text) ?? text) : text
}

function viewsOf(value: ShownValue): readonly View[] {
  if (value.text === undefined) return ['raw', 'hex']
  // A schema makes text of other bytes, and these are not in the answer.
  return value.schema === undefined ? VIEWS : ['pretty', 'raw']
}

function bytesOf(value: ShownValue): Uint8Array {
  return value.text === undefined ? bytesOfBase64(value.base64 ?? '') : new TextEncoder().encode(value.text)
}

interface ViewProps {
  readonly value: ShownValue
  readonly label: string
}

function Content({ value, label, view }: ViewProps & { readonly view: View }) {
  const { text, tokens } = useMemo(() => contentOf(value, view), [value, view])
  if (tokens === null)
    return (
      <>
        <TextEditor text={text} label={label} isJson={isJson(text)} />
        <p className="text-badge text-muted">Ctrl+F or ⌘F in the text searches all of it.</p>
      </>
    )
  return (
    <Block label={label}>
      {tokens.map(({ text, kind }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a token is its place in the text
        <Colored key={at} text={text} kind={kind} />
      ))}
    </Block>
  )
}

/** The tokens are null if there are too many, or if the text is too long. */
function contentOf(value: ShownValue, view: View): { text: string; tokens: readonly Token[] | null } {
  const text = textOf(value, view)
  if (text.length > MOST_SIMPLE || hasDense(text)) return { text, tokens: null }
  const tokens = value.text !== undefined && isJson(text) ? highlight(text) : [{ text, kind: null }]
  const pieces = tokens.length + visiblePieces(text, true).length
  return { text, tokens: pieces > MOST_PIECES ? null : tokens }
}

/** Only objects and lists have colours: a number or a word alone is more often plain text. */
function isJson(text: string): boolean {
  return /^\s*[{[]/.test(text)
}

function Colored({ text, kind }: Token) {
  const shown = <Pieces pieces={visiblePieces(text, true)} />
  return kind === null ? shown : <span className={COLORS[kind]}>{shown}</span>
}

function Hex({ value, label }: ViewProps) {
  const { text, missing } = useMemo(() => {
    const bytes = bytesOf(value)
    const shown = bytes.subarray(0, MOST_HEX_BYTES)
    return { text: hexLines(shown).join('\n'), missing: bytes.length - shown.length }
  }, [value])
  return (
    <>
      {missing > 0 && (
        <p className="text-muted">
          The first {exactBytes(MOST_HEX_BYTES)}. {count(missing)} more are in the download.
        </p>
      )}
      {text.length > 5 * MOST_SIMPLE ? (
        <TextEditor text={text} label={`${label} in hex`} />
      ) : (
        <Block label={`${label} in hex`} isTable>
          {text}
        </Block>
      )}
    </>
  )
}

interface BlockProps {
  readonly label: string
  /** True if the columns must stay below each other. */
  readonly isTable?: boolean
  readonly children: ReactNode
}

function Block({ label, isTable = false, children }: BlockProps) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a section of the page would be a landmark for each header
    <pre
      role="group"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
      tabIndex={0}
      onCopy={copyExactly}
      className={`max-h-96 overflow-auto rounded-control border border-line bg-surface p-2 font-mono text-dense ${isTable ? 'whitespace-pre' : 'wrap-anywhere whitespace-pre-wrap'}`}
    >
      {children}
    </pre>
  )
}
