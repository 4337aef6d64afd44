// Quotes arguments for a POSIX shell (IEEE 1003.1, 2.2), so that a copied command does the same with every name.

import { hasHidden, visiblePieces } from './visible.ts'

/** The text cannot be an argument. The message is a sentence for the reader. */
export class Unquotable extends Error {}

const SAFE = /^[\w/:.,@%+-][\w/:.,@%+=-]*$/

/**
 * Returns the text as one word of the shell. Text with hidden characters becomes a `printf`, because a terminal acts on
 * pasted control characters even between quotes. Throws Unquotable if no shell can pass the text.
 */
export function quote(text: string): string {
  if (SAFE.test(text)) return text
  if (!hasHidden(text)) return `'${text.replaceAll("'", "'\\''")}'`
  if (text.includes('\0')) throw new Unquotable('The text has a NUL character, which no command can pass on.')
  if (!text.isWellFormed()) throw new Unquotable('The text is not Unicode, so no command can pass it on.')
  // The shell removes line ends from the end of an output.
  if (text.endsWith('\n')) throw new Unquotable('The text ends with a line end, which no command can pass on.')
  const format = visiblePieces(text).map(piece => (piece.isMark ? octal(piece.text) : plain(piece.text)))
  return `"$(printf -- '${format.join('')}')"`
}

/** Returns `--name=value` as one word. */
export function option(name: string, value: string | number): string {
  return `${name}=${quote(String(value))}`
}

function octal(text: string): string {
  return [...new TextEncoder().encode(text)].map(byte => `\\${byte.toString(8).padStart(3, '0')}`).join('')
}

function plain(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('%', '%%').replaceAll("'", "'\\''")
}
