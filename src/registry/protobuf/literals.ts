// Strings of .proto texts: their escapes, and the bytes that they stand for. A string of a .proto text holds bytes,
// which need not be UTF-8. Here it is a JavaScript string in which a byte that is no part of valid UTF-8 is the
// character U+DC00 + the byte, as Python's "surrogateescape" writes it, so that all bytes come back.

const ESCAPED: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
  '\\': 92,
  "'": 39,
  '"': 34,
  '?': 63,
}

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Undoes the escapes of a literal, which is given without its quotes. Returns null if an escape is not legal. */
export function unescapeText(source: string): string | null {
  if (!source.includes('\\')) return source
  const parts: Uint8Array[] = []
  let at = 0
  for (;;) {
    const slash = source.indexOf('\\', at)
    if (slash < 0) break
    parts.push(bytesOf(source.slice(at, slash)))
    const read = readEscape(source, slash + 1)
    if (read === null) return null
    parts.push(Uint8Array.from(read.bytes))
    at = read.end
  }
  parts.push(bytesOf(source.slice(at)))
  return textOf(Buffer.concat(parts))
}

function readEscape(source: string, at: number): { bytes: Iterable<number>; end: number } | null {
  const rest = source.slice(at, at + 9)
  const octal = /^[0-7]{1,3}/.exec(rest)
  if (octal !== null) {
    const byte = Number.parseInt(octal[0], 8)
    return byte > 255 ? null : { bytes: [byte], end: at + octal[0].length }
  }
  const hex = /^[xX]([0-9a-fA-F]{1,2})/.exec(rest)
  if (hex !== null) return { bytes: [Number.parseInt(hex[1] ?? '', 16)], end: at + hex[0].length }
  const unicode = /^(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))/.exec(rest)
  if (unicode !== null) {
    const point = Number.parseInt(unicode[1] ?? unicode[2] ?? '', 16)
    if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return null
    return { bytes: encoder.encode(String.fromCodePoint(point)), end: at + unicode[0].length }
  }
  const byte = ESCAPED[rest.charAt(0)]
  return byte === undefined ? null : { bytes: [byte], end: at + 1 }
}

/** The bytes that a string of this form stands for. */
export function bytesOf(text: string): Uint8Array {
  if (text.isWellFormed()) return encoder.encode(text)
  const parts: number[] = []
  for (const character of text) {
    const code = character.charCodeAt(0)
    if (character.length === 1 && code >= 0xdc80 && code <= 0xdcff) parts.push(code - 0xdc00)
    else parts.push(...encoder.encode(character))
  }
  return Uint8Array.from(parts)
}

/** The string that stands for these bytes. */
export function textOf(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    // Not UTF-8 as a whole: the valid sequences are kept, and each byte beside them becomes a character of its own.
    return textOfParts(bytes)
  }
}

function textOfParts(bytes: Uint8Array): string {
  let text = ''
  let at = 0
  while (at < bytes.length) {
    const first = bytes[at] ?? 0
    const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
    const sequence = bytes.subarray(at, at + length)
    const character = validCharacter(sequence)
    text += character ?? String.fromCharCode(0xdc00 + first)
    at += character === null ? 1 : length
  }
  return text
}

function validCharacter(sequence: Uint8Array): string | null {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(sequence)
  const again = encoder.encode(text)
  return again.length === sequence.length && again.every((byte, index) => byte === sequence[index]) ? text : null
}

const SHORT: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  "'": "\\'",
  '"': '\\"',
}

/** As a literal in double quotes. Confluent escapes single quotes too. */
export function quote(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are escaped here.
  return `"${text.replace(/[\x00-\x1f\x7f\\'"\udc80-\udcff]/gu, escapeCharacter)}"`
}

function escapeCharacter(character: string): string {
  return SHORT[character] ?? octal(character.charCodeAt(0) & 0xff)
}

/** The default of a `bytes` field as descriptors hold it: protoc's CEscape. */
export function escapeBytes(text: string): string {
  let escaped = ''
  for (const byte of bytesOf(text)) {
    const character = String.fromCharCode(byte)
    if (byte < 0x20 || byte >= 0x7f) escaped += '\n\r\t'.includes(character) ? SHORT[character] : octal(byte)
    else escaped += '\\\'"'.includes(character) ? `\\${character}` : character
  }
  return escaped
}

function octal(byte: number): string {
  return `\\${byte.toString(8).padStart(3, '0')}`
}
