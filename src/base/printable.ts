// Makes text from outside safe for a terminal and for a log line. The result stays on one line, cannot move the cursor
// and cannot change the direction of text. The text is not shortened.

/**
 * Matches control and format characters (also those that change the direction of text), line and paragraph separators,
 * lone surrogates and the backslash.
 */
const UNPRINTABLE_OR_BACKSLASH = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\\]/gu
/** Matches texts that have nothing to escape. Most texts are like this, and this test is ten times as fast. */
const PLAIN = /^[\x20-\x5b\x5d-\x7e]*$/

/**
 * Returns the text. A character that must not be printed is written as `\n`, `\t`, `\u001b` and so on, and a backslash
 * is doubled.
 */
export function printable(text: string): string {
  if (PLAIN.test(text)) return text
  return text.replace(UNPRINTABLE_OR_BACKSLASH, found => {
    if (found === '\\') return '\\\\'
    if (found === '\n') return '\\n'
    if (found === '\r') return '\\r'
    if (found === '\t') return '\\t'
    return `\\u${found.codePointAt(0)!.toString(16).padStart(4, '0')}`
  })
}

/**
 * Returns a text for a terminal, in the lines that it has. Its backslashes stay single, so that a quotation in a
 * message and the text of a schema look as they were written.
 */
export function printableLines(text: string): string {
  const shown = (line: string) => line.split('\\').map(printable).join('\\')
  return text.split('\n').map(shown).join('\n')
}
