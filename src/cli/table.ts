// Tables and values for people: columns as wide as their longest cell, and numbers to the right. No text that a client
// chose can move the cursor.

import { LATEST_DATE_MS } from '../base/clock.ts'
import { printable } from '../base/printable.ts'

export type Value = string | number | boolean | null | undefined

/** Returns the rows under their headings; each line ends in a newline. Null and undefined are a dash. */
export function table(headings: readonly string[], rows: readonly (readonly Value[])[]): string {
  const cells = rows.map(row => row.map(shown))
  const widths = headings.map((heading, at) => Math.max(heading.length, ...cells.map(row => row[at]!.length)))
  const isNumber = headings.map((_, at) => rows.length > 0 && rows.every(row => isNumeric(row[at])))
  const line = (row: readonly string[]) =>
    row
      .map((cell, at) => (isNumber[at] ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!)))
      .join('  ')
      .trimEnd()
  return [headings, ...cells].map(row => `${line(row)}\n`).join('')
}

/** Returns the names with their values, one pair in each line. */
export function list(pairs: readonly (readonly [name: string, value: Value])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length))
  return pairs.map(([name, value]) => `${name.padEnd(width)}  ${shown(value)}\n`).join('')
}

function isNumeric(value: Value): boolean {
  return typeof value === 'number' || value === null || value === undefined
}

function shown(value: Value): string {
  if (value === null || value === undefined || value === '') return '-'
  return printable(String(value))
}

/** Returns a text such as `1 partition` or `2 partitions`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

export function bytes(count: number | null): string | null {
  if (count === null) return null
  let unit = 0
  let left = count
  for (; left >= 1024 && unit < UNITS.length - 1; unit++) left /= 1024
  return `${unit === 0 ? left : left.toFixed(1)} ${UNITS[unit]}`
}

/**
 * Returns milliseconds since 1970 as ISO 8601; null for -1, which is Kafka's word for no timestamp. A producer may
 * write a timestamp beyond every date: it stays a number.
 */
export function time(atMs: number | null): string | null {
  if (atMs === null || atMs === -1) return null
  return Math.abs(atMs) > LATEST_DATE_MS ? String(atMs) : new Date(atMs).toISOString()
}
