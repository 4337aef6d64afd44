// A text as a whole, such as the value of a record or a schema: with colours if it is JSON, and in the editor for long
// text if it is large (large-text.tsx, which is loaded when it is first needed). Text is never parsed.

import { lazy, type ReactNode, Suspense, useMemo } from 'react'
import { hasDense } from '../text/dense.ts'
import { highlight, type Token, type TokenKind } from '../text/highlight.ts'
import { visiblePieces } from '../text/visible.ts'
import type { LargeTextProps } from './large-text.tsx'
import { copyExactly, Pieces } from './visible-text.tsx'

/** Longer text is in the editor, which draws only the lines in view, and of dense lines only a part. */
export const MOST_SIMPLE = 65_536
/** More coloured pieces and marks would take the browser longer than the editor takes to load. */
const MOST_PIECES = 5_000

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

interface TextBlockProps {
  readonly text: string
  /** The name for screen readers. */
  readonly label: string
  /** True colours the text as JSON, if it is an object or a list. */
  readonly mayBeJson: boolean
}

export function TextBlock({ text, label, mayBeJson }: TextBlockProps) {
  const tokens = useMemo(() => tokensOf(text, mayBeJson), [text, mayBeJson])
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

/** Null if there are too many, or if the text is too long. */
function tokensOf(text: string, mayBeJson: boolean): readonly Token[] | null {
  if (text.length > MOST_SIMPLE || hasDense(text)) return null
  const tokens = mayBeJson && isJson(text) ? highlight(text) : [{ text, kind: null }]
  const pieces = tokens.length + visiblePieces(text, true).length
  return pieces > MOST_PIECES ? null : tokens
}

/** Only objects and lists have colours: a number or a word alone is more often plain text. */
function isJson(text: string): boolean {
  return /^\s*[{[]/.test(text)
}

function Colored({ text, kind }: Token) {
  const shown = <Pieces pieces={visiblePieces(text, true)} />
  return kind === null ? shown : <span className={COLORS[kind]}>{shown}</span>
}

interface BlockProps {
  readonly label: string
  /** True if the columns must stay below each other. */
  readonly isTable?: boolean
  readonly children: ReactNode
}

/** A region that scrolls, in the font of code. */
export function Block({ label, isTable = false, children }: BlockProps) {
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
