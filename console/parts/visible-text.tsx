// Text from outside, such as a name of a topic, a group or a header: each character that cannot be seen, or that would
// reorder the rest, is a small box with its name. Copying a selection gives the text itself (copyExactly).

import type { ClipboardEvent } from 'react'
import { type Piece, visiblePieces } from '../text/visible.ts'

interface VisibleTextProps {
  readonly text: string
  /** True for a block that keeps its lines and tabs. */
  readonly isMultiline?: boolean
}

export function VisibleText({ text, isMultiline = false }: VisibleTextProps) {
  const pieces = visiblePieces(text, isMultiline)
  if (pieces.every(piece => !piece.isMark)) return <bdi>{text}</bdi>
  return (
    <bdi onCopy={copyExactly}>
      <Pieces pieces={pieces} />
    </bdi>
  )
}

/** The pieces alone. The element around them needs `onCopy={copyExactly}`. */
export function Pieces({ pieces }: { readonly pieces: readonly Piece[] }) {
  return pieces.map(({ text, isMark, label, name }, at) =>
    isMark ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: a piece is its place in the text
      <span key={at} role="img" aria-label={name} title={name} data-label={label} className="hidden-mark">
        <span>{text}</span>
      </span>
    ) : (
      text
    ),
  )
}

/**
 * Copies the characters of the selection as they are in the page, without what a browser changes in them. The text of
 * the marks is the characters themselves.
 */
export function copyExactly(event: ClipboardEvent): void {
  const selection = getSelection()
  if (selection === null || selection.rangeCount === 0) return
  const range = selection.getRangeAt(0)
  // A selection that goes beyond the element has the other parts of the page too: the browser copies it.
  if (!event.currentTarget.contains(range.commonAncestorContainer)) return
  event.clipboardData.setData('text/plain', range.toString())
  event.preventDefault()
}
