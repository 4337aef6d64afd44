// Writes the text of a schema in lines, for people. JSON is cut into lines as it is: numbers and names keep their
// spelling, which parsing would change. The text of a .proto file has lines already.

import type { SchemaTypeName } from '../../api/words.ts'

/** A text that would be longer stays as it is: thousands of short items far inside take many times their bytes. */
const MOST_CHARACTERS = 2 << 20

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Returns the text in lines. A text that is no JSON comes back as it is. */
export function pretty(type: SchemaTypeName, text: string): string {
  return type === 'PROTOBUF' ? text : (prettyJson(text) ?? text)
}

function prettyJson(text: string): string | null {
  let lines = ''
  let depth = 0
  let at = skipSpace(text, 0)
  while (at < text.length) {
    const code = text.charCodeAt(at)
    const end = endOfToken(text, at, code)
    const next = skipSpace(text, end)
    if (end > text.length) return null
    if (code === CLOSE_LIST || code === CLOSE_OBJECT) {
      if (--depth < 0) return null
      lines += lineAt(depth)
    }
    lines += text.slice(at, end)
    if (code === COLON) lines += ' '
    if (code === COMMA) lines += lineAt(depth)
    at = next
    if (code === OPEN_LIST || code === OPEN_OBJECT) {
      const closing = text.charCodeAt(next)
      if (closing === CLOSE_LIST || closing === CLOSE_OBJECT) {
        lines += text[next]
        at = skipSpace(text, next + 1)
      } else {
        lines += lineAt(++depth)
      }
    }
    if (lines.length > MOST_CHARACTERS) return null
  }
  return depth === 0 ? lines : null
}

/** The ends of lines before 0, 1, … levels. */
const LINES: readonly string[] = Array.from({ length: 100 }, (_, depth) => `\n${'  '.repeat(depth)}`)

function lineAt(depth: number): string {
  return LINES[depth] ?? LINES.at(-1)!
}

/** Returns the index behind the token; one behind the end of the text if a string has no end. */
function endOfToken(text: string, at: number, code: number): number {
  let end = at + 1
  if (code === QUOTE) {
    for (; end < text.length && text.charCodeAt(end) !== QUOTE; end++) if (text.charCodeAt(end) === BACKSLASH) end++
    return end + 1
  }
  if (isStructure(code)) return end
  for (; end < text.length; end++) {
    const next = text.charCodeAt(end)
    if (isSpace(next) || isStructure(next) || next === QUOTE) break
  }
  return end
}

function skipSpace(text: string, from: number): number {
  let at = from
  while (at < text.length && isSpace(text.charCodeAt(at))) at++
  return at
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

function isStructure(code: number): boolean {
  return (
    code === COMMA ||
    code === COLON ||
    code === OPEN_LIST ||
    code === CLOSE_LIST ||
    code === OPEN_OBJECT ||
    code === CLOSE_OBJECT
  )
}
