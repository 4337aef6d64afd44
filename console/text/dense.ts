// Finds the parts of a long line that are no text for a reader and would hold up the browser: thousands of hidden
// characters, each of which is drawn as a mark (visible.ts), or of combining characters on one letter.

import { EACH_MARK } from './visible.ts'

/** The length of the parts that are looked at, in UTF-16 units. */
export const BLOCK = 500
/** The text of terminals and of languages that use joiners has fewer hidden characters in a block. */
const MOST_MARKS = 40
/** No language has 50 combining characters in a row. A block is tried at each multiple of this. */
const STEP = 50
const STACK = /\p{M}{50}/uy

interface Part {
  readonly from: number
  to: number
}

/**
 * Returns the dense parts of a line, in order and apart from each other. The first dense block is not among them, so
 * that a reader sees which characters they are.
 */
export function denseParts(line: string): readonly Part[] {
  const parts: Part[] = []
  let isFirst = true
  for (let from = 0, to = 0; from < line.length; from = to) {
    to = Math.min(from + BLOCK, line.length)
    // Both halves of a character are in one block.
    if (line.codePointAt(to - 1)! > 0xffff) to++
    if (!isDense(line.slice(from, to))) continue
    const last = parts.at(-1)
    if (isFirst) isFirst = false
    else if (last?.to === from) last.to = to
    else parts.push({ from, to })
  }
  return parts
}

/** Returns whether a line of the text has a dense part. */
export function hasDense(text: string): boolean {
  return text.split('\n').some(line => line.length > BLOCK && denseParts(line).length > 0)
}

function isDense(block: string): boolean {
  return (block.match(EACH_MARK)?.length ?? 0) > MOST_MARKS || isStacked(block)
}

function isStacked(block: string): boolean {
  for (let at = 0; at < block.length; at += STEP) {
    STACK.lastIndex = at
    if (STACK.test(block)) return true
  }
  return false
}
