// Splits JSON text into coloured pieces. It takes any text, because a preview may end in the middle of a value: then
// the rest is a piece without a kind. It checks no grammar (reindent-json.ts does).

export type TokenKind = 'key' | 'string' | 'number' | 'word' | 'punctuation'

export interface Token {
  readonly text: string
  /** Null for white space, and for text that is no token of JSON. */
  readonly kind: TokenKind | null
}

const SPACE = /[ \t\r\n]+/y
const NUMBER = /-?[0-9][0-9.eE+-]*/y
const WORD = /true|false|null/y
const PUNCTUATION = /[{}[\],:]/y
const PLAIN: readonly (readonly [RegExp, TokenKind | null])[] = [
  [SPACE, null],
  [PUNCTUATION, 'punctuation'],
  [NUMBER, 'number'],
  [WORD, 'word'],
]
const COLON_NEXT = /[ \t\r\n]*:/y

/** Returns the pieces. Together they are the text. Takes time in proportion to its length. */
export function highlight(text: string): readonly Token[] {
  const tokens: Token[] = []
  const add = (end: number, kind: TokenKind | null) => {
    tokens.push({ text: text.slice(at, end), kind })
    at = end
  }
  let at = 0
  while (at < text.length) {
    if (text[at] === '"') {
      const end = stringEnd(text, at)
      add(end, matchEnd(COLON_NEXT, text, end) > 0 ? 'key' : 'string')
      continue
    }
    const [end, kind] = plainToken(text, at)
    if (end < 0) {
      // Everything up to the next place where a token may begin again.
      const next = text.slice(at + 1).search(/["{}[\],:]/)
      add(next < 0 ? text.length : at + 1 + next, null)
    } else add(end, kind)
  }
  return tokens
}

function plainToken(text: string, at: number): readonly [number, TokenKind | null] {
  for (const [pattern, kind] of PLAIN) {
    const end = matchEnd(pattern, text, at)
    if (end > 0) return [end, kind]
  }
  return [-1, null]
}

/** Returns the end of the match at this position, or -1. */
function matchEnd(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : -1
}

/** Returns the end of the string that begins at this position; the end of the text if it is cut off. */
function stringEnd(text: string, at: number): number {
  for (let next = at + 1; next < text.length; next++) {
    if (text[next] === '\\') next++
    else if (text[next] === '"') return next + 1
  }
  return text.length
}
