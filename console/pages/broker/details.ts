// The details of a health component as lines: the tree of values that the broker sends, in its order.

import { bytes, count, duration, UNKNOWN } from '../../text/format.ts'

export interface Line {
  /** The name of the value; with the number of its list item, if the list has several. */
  readonly label: string
  readonly text: string
}

/** Returns a line for each value. A member that is empty has no line. */
export function linesOf(details: Readonly<Record<string, unknown>> | undefined): readonly Line[] {
  return Object.entries(details ?? {}).flatMap(([name, value]) => linesAt('', name, value))
}

function linesAt(start: string, name: string, value: unknown): readonly Line[] {
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value
    if (items.some(item => typeof item === 'object' && item !== null))
      return items.flatMap((item, at) =>
        linesAt(items.length === 1 ? start : `${start}${singular(wordsOf(name))} ${at + 1}: `, name, item),
      )
    return items.length === 0
      ? []
      : [{ label: start + wordsOf(name), text: items.map(item => textOf(name, item)).join(', ') }]
  }
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([each, inner]) => linesAt(start, each, inner))
  return [{ label: start + wordsOf(name), text: textOf(name, value) }]
}

/** The API has the unit at the end of a member's name. */
function textOf(name: string, value: unknown): string {
  if (value === null) return UNKNOWN
  if (typeof value !== 'number') return String(value)
  if (/bytes$/i.test(name)) return bytes(value)
  return /ms$/i.test(name) ? duration(value) : count(value)
}

/** Returns `free` for `freeBytes`: the unit stands beside the value. */
function wordsOf(name: string): string {
  return name.replace(/(?<=[a-z])(Bytes|Ms)$/, '').replaceAll(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)
}

function singular(words: string): string {
  return words.replace(/s$/, '')
}
