// Breaks JSON text into indented lines. No value is parsed, so that big numbers, `1.10`, duplicate keys and the order
// of keys stay as they were produced: only white space between the tokens changes.

/** Deeper text is not broken into lines, because the indentation would be wider than the screen. */
const MOST_DEPTH = 200
/** The most characters that the lines may add: this times the length of the text, and the second number in any case. */
const MOST_GROWTH = 4
const FREE_GROWTH = 1024 * 1024

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const COMMA = 0x2c
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const HEX = /^[0-9a-fA-F]{4}$/
const ESCAPED = new Set('"\\/bfnrt')
const WORDS = ['true', 'false', 'null']

/**
 * Returns the text with a line for each member and each element. Returns null if it is not one JSON value (RFC 8259),
 * is nested more than 200 deep, or would become more than five times as long. Takes time in proportion to the length.
 */
export function reindentJson(text: string, indent = 2): string | null {
  const most = text.length * (1 + MOST_GROWTH) + FREE_GROWTH
  const margins = Array.from({ length: MOST_DEPTH + 1 }, (_, depth) => `\n${' '.repeat(depth * indent)}`)
  const out: string[] = []
  let length = 0
  const write = (piece: string) => {
    out.push(piece)
    length += piece.length
  }
  /** The closing brackets of the open containers, innermost last. */
  const open: number[] = []
  let at = afterSpace(text, 0)
  /** Begins a line, with the key and the colon of a member. Returns false if the member has none. */
  const beginLine = (from: number): boolean => {
    write(margins[open.length]!)
    at = afterSpace(text, from)
    if (open.at(-1) === CLOSE_ARRAY) return true
    const end = stringEnd(text, at)
    const colon = end < 0 ? -1 : afterSpace(text, end)
    if (text.charCodeAt(colon) !== COLON) return false
    write(text.slice(at, end))
    write(': ')
    at = afterSpace(text, colon + 1)
    return true
  }
  /** Writes a value without children, or the beginning of a container. Returns whether the value has ended. */
  const beginValue = (): boolean | null => {
    const first = text.charCodeAt(at)
    if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) {
      const end = scalarEnd(text, at)
      if (end < 0) return null
      write(text.slice(at, end))
      at = end
      return true
    }
    const close = first === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY
    const next = afterSpace(text, at + 1)
    write(text[at]!)
    if (text.charCodeAt(next) === close) {
      write(text[next]!)
      at = next + 1
      return true
    }
    if (open.length === MOST_DEPTH) return null
    open.push(close)
    return beginLine(next) ? false : null
  }
  for (let hasEnded = beginValue(); hasEnded !== null; ) {
    if (length > most) return null
    if (!hasEnded) {
      hasEnded = beginValue()
      continue
    }
    at = afterSpace(text, at)
    const close = open.at(-1)
    if (close === undefined) return at === text.length ? out.join('') : null
    const next = text.charCodeAt(at)
    if (next === COMMA) {
      write(',')
      if (!beginLine(at + 1)) return null
      hasEnded = false
    } else if (next === close) {
      open.pop()
      write(margins[open.length]!)
      write(text[at]!)
      at++
    } else return null
  }
  return null
}

function afterSpace(text: string, at: number): number {
  let next = at
  for (; next < text.length; next++) {
    const code = text.charCodeAt(next)
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) break
  }
  return next
}

/** Returns the end of the string, number or word at this position, or -1. */
function scalarEnd(text: string, at: number): number {
  if (text.charCodeAt(at) === QUOTE) return stringEnd(text, at)
  const word = WORDS.find(each => text.startsWith(each, at))
  if (word !== undefined) return at + word.length
  NUMBER.lastIndex = at
  return NUMBER.test(text) ? NUMBER.lastIndex : -1
}

function stringEnd(text: string, at: number): number {
  if (text.charCodeAt(at) !== QUOTE) return -1
  for (let next = at + 1; next < text.length; next++) {
    const code = text.charCodeAt(next)
    if (code === QUOTE) return next + 1
    if (code < 0x20) return -1
    if (code !== BACKSLASH) continue
    next++
    if (text[next] === 'u') {
      if (!HEX.test(text.slice(next + 1, next + 5))) return -1
      next += 4
    } else if (!ESCAPED.has(text[next] ?? '')) return -1
  }
  return -1
}
