// Text that somebody else chose, made safe for a terminal and for a line of a log: it stays on its line, moves no cursor and
// turns no direction. It does not cut.

/** Controls, format characters (among them those that turn the direction of text) and line separators; not the space. */
const UNPRINTABLE_OR_BACKSLASH = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\\]/gu
/** Mostly there is nothing to escape, and to see so takes a tenth of looking for each property of a letter. */
const PLAIN = /^[\x20-\x5b\x5d-\x7e]*$/

/** The text with what must not be printed as `\n`, `\t`, `\u001b` and so on. */
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
