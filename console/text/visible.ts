// Finds the characters of a text that a reader cannot see, or that change how the rest is shown: control characters,
// bidirectional and zero-width characters, line and paragraph separators, lone surrogates. It does not change the text:
// all pieces together are the text, and a component draws a mark for some of them (parts/visible-text.tsx).

export interface Piece {
  /** The characters themselves. */
  readonly text: string
  readonly isMark: boolean
  /** The short name in the box of a mark: `NUL`, `RLO`, `U+2066`. Empty for ordinary text. */
  readonly label: string
  /** The name for a title and for a screen reader: `U+202E right-to-left override`. Empty for ordinary text. */
  readonly name: string
}

/**
 * Matches what cannot be seen. The exceptions are signs of Arabic and Syriac that are seen although Unicode calls them
 * format characters, and the characters that make one emoji out of several.
 */
const HIDDEN =
  /(?<!\p{Extended_Pictographic})[\uFE0E\uFE0F]|(?<!(?:\p{Extended_Pictographic}\uFE0F?|\p{Emoji_Modifier}))\u200D|\u200D(?!\p{Extended_Pictographic})|[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]--[\u200D\uFE0E\uFE0F\u0600-\u0605\u06DD\u070F\u0890\u0891\u08E2]]/v

/** The same, for all of them one by one. */
const EACH_HIDDEN = new RegExp(HIDDEN, 'gv')
/** The same without tabs, which the editor shows as they are. */
export const EACH_MARK = new RegExp(`(?!\\t)(?:${HIDDEN.source})`, 'gv')

/** Texts with none of them are like this, and this test is much faster. */
const PLAIN = /^[\x20-\x7e\xa0-\xac\xae-\u02ff]*$/
const PLAIN_LINES = /^[\x20-\x7e\t\r\n\xa0-\xac\xae-\u02ff]*$/

/** The abbreviations and names of ISO 6429 and Unicode. */
const NAMES: Readonly<Record<number, readonly [label: string, name: string]>> = {
  0: ['NUL', 'null'],
  1: ['SOH', 'start of heading'],
  2: ['STX', 'start of text'],
  3: ['ETX', 'end of text'],
  4: ['EOT', 'end of transmission'],
  5: ['ENQ', 'enquiry'],
  6: ['ACK', 'acknowledge'],
  7: ['BEL', 'bell'],
  8: ['BS', 'backspace'],
  9: ['TAB', 'tab'],
  10: ['LF', 'line feed'],
  11: ['VT', 'vertical tab'],
  12: ['FF', 'form feed'],
  13: ['CR', 'carriage return'],
  27: ['ESC', 'escape'],
  127: ['DEL', 'delete'],
  133: ['NEL', 'next line'],
  173: ['SHY', 'soft hyphen'],
  1564: ['ALM', 'Arabic letter mark'],
  8203: ['ZWSP', 'zero width space'],
  8204: ['ZWNJ', 'zero width non-joiner'],
  8205: ['ZWJ', 'zero width joiner'],
  8206: ['LRM', 'left-to-right mark'],
  8207: ['RLM', 'right-to-left mark'],
  8232: ['LSEP', 'line separator'],
  8233: ['PSEP', 'paragraph separator'],
  8234: ['LRE', 'left-to-right embedding'],
  8235: ['RLE', 'right-to-left embedding'],
  8236: ['PDF', 'pop directional formatting'],
  8237: ['LRO', 'left-to-right override'],
  8238: ['RLO', 'right-to-left override'],
  8288: ['WJ', 'word joiner'],
  8294: ['LRI', 'left-to-right isolate'],
  8295: ['RLI', 'right-to-left isolate'],
  8296: ['FSI', 'first strong isolate'],
  8297: ['PDI', 'pop directional isolate'],
  65279: ['BOM', 'byte order mark'],
}

const FIRST_SURROGATE = 0xd800
const LAST_SURROGATE = 0xdfff

/**
 * Returns the pieces, at least none for an empty text. With `isMultiline`, line ends (LF, and CR before it) and tabs
 * are ordinary text: a block shows them as they are.
 */
export function visiblePieces(text: string, isMultiline = false): readonly Piece[] {
  if (text === '') return []
  if ((isMultiline ? PLAIN_LINES : PLAIN).test(text) && !(isMultiline && text.includes('\r'))) return [ordinary(text)]
  const pieces: Piece[] = []
  let shown = 0
  for (const { 0: found, index } of text.matchAll(EACH_HIDDEN)) {
    if (isMultiline && (found === '\n' || found === '\t' || (found === '\r' && text[index + 1] === '\n'))) continue
    if (index > shown) pieces.push(ordinary(text.slice(shown, index)))
    pieces.push(mark(found))
    shown = index + found.length
  }
  if (shown < text.length) pieces.push(ordinary(text.slice(shown)))
  return pieces
}

/** Returns whether the text, on one line, has a character that a reader cannot see. */
export function hasHidden(text: string): boolean {
  return !PLAIN.test(text) && HIDDEN.test(text)
}

/** Returns the text with the number of each hidden character in its place, such as `U+200B`: so it can be typed. */
export function spelled(text: string): string {
  return visiblePieces(text)
    .map(({ text: own, isMark, name }) => (isMark ? name.split(' ', 1)[0] : own))
    .join('')
}

/** Returns whether somebody typed the name as it is, or as it is spelled. */
export function isTyped(typed: string, name: string): boolean {
  return typed === name || typed === spelled(name)
}

function ordinary(text: string): Piece {
  return { text, isMark: false, label: '', name: '' }
}

/** Returns the mark of one hidden character. */
export function mark(text: string): Piece {
  const code = text.codePointAt(0)!
  const number = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
  const [label, name] = NAMES[code] ?? [number, isSurrogate(code) ? 'half of a character' : 'invisible character']
  return { text, isMark: true, label, name: `${number} ${name}` }
}

function isSurrogate(code: number): boolean {
  return code >= FIRST_SURROGATE && code <= LAST_SURROGATE
}
