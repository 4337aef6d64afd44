// Globs over topic names: `*` is any run of characters, `?` is one character, `[a-z]` is one of a class, `[!a-z]` is
// one outside of it. A glob covers the whole name. There are no braces, no escapes and no regular expressions, so
// that any glob is matched in at most (length of glob) x (length of name) steps.

type Piece =
  | { readonly kind: 'run' }
  | { readonly kind: 'any' }
  | { readonly kind: 'one'; readonly character: string }
  | { readonly kind: 'class'; readonly negated: boolean; readonly ranges: readonly (readonly [string, string])[] }

export interface Glob {
  readonly text: string
  matches(name: string): boolean
}

const LONGEST_GLOB = 1024
const LITERAL = /^[A-Za-z0-9._-]$/

/**
 * Returns the glob; null if the text is not one: it is empty, a class is open, or no topic name can have a character
 * of it.
 */
export function parseGlob(text: string): Glob | null {
  const pieces = split(text)
  return pieces && Object.freeze({ text, matches: (name: string) => matches(pieces, name) })
}

function split(text: string): readonly Piece[] | null {
  if (text.length === 0 || text.length > LONGEST_GLOB) return null
  const pieces: Piece[] = []
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!
    if (character === '*') {
      if (pieces.at(-1)?.kind !== 'run') pieces.push({ kind: 'run' })
    } else if (character === '?') {
      pieces.push({ kind: 'any' })
    } else if (character === '[') {
      const end = text.indexOf(']', at + 1)
      const piece = end < 0 ? null : readClass(text.slice(at + 1, end))
      if (!piece) return null
      pieces.push(piece)
      at = end
    } else if (LITERAL.test(character)) {
      pieces.push({ kind: 'one', character })
    } else {
      return null
    }
  }
  return pieces
}

function readClass(inside: string): Piece | null {
  const negated = inside.startsWith('!') || inside.startsWith('^')
  const members = negated ? inside.slice(1) : inside
  const ranges: [string, string][] = []
  for (let at = 0; at < members.length; at++) {
    const first = members[at]!
    if (!LITERAL.test(first)) return null
    if (members[at + 1] === '-' && at + 2 < members.length) {
      const last = members[at + 2]!
      if (!LITERAL.test(last) || last < first) return null
      ranges.push([first, last])
      at += 2
    } else {
      ranges.push([first, first])
    }
  }
  return ranges.length === 0 ? null : { kind: 'class', negated, ranges }
}

function fits(piece: Piece, character: string): boolean {
  if (piece.kind === 'one') return piece.character === character
  if (piece.kind === 'class') {
    return piece.ranges.some(([first, last]) => character >= first && character <= last) !== piece.negated
  }
  return true
}

/**
 * Returns whether the pieces match the name. Only the latest `*` is ever widened: an earlier one has already found
 * the shortest run that lets the rest match.
 */
function matches(pieces: readonly Piece[], name: string): boolean {
  let piece = 0
  let at = 0
  let run = -1
  let runEnd = 0
  while (at < name.length) {
    const current = pieces[piece]
    if (current?.kind === 'run') {
      run = piece++
      runEnd = at
    } else if (current && fits(current, name[at]!)) {
      piece++
      at++
    } else if (run >= 0) {
      piece = run + 1
      at = ++runEnd
    } else {
      return false
    }
  }
  while (pieces[piece]?.kind === 'run') piece++
  return piece === pieces.length
}
