// The form of an answer of a tool, and its size. Names, records, reasons and texts of others stand only below
// `untrusted_data`. Beside it stand constant sentences, numbers and cursors, so that a model can tell them apart:
//
//   { "untrusted_data": …, "left_out"?: "…", "cursor"?: "…" }
//   { "error": "CODE", "untrusted_data": { "detail": "…", "fields"?: { … } } }
//
// An answer that is too long loses rows from its end, then the ends of its long texts, then whole members. It says so
// in `left_out`. A member is never half written.

import { largestNumber } from '../base/bisect.ts'
import type { Refused, ToolAnswer } from './tool.ts'

/** An answer as a value and as its JSON text. */
export interface FittedAnswer {
  readonly structured: Readonly<Record<string, unknown>>
  readonly text: string
  readonly isError: boolean
}

/** Beside `untrusted_data`: constant sentences and our own values. */
type Beside = Readonly<Record<string, string | number>>

/** Texts are never cut to fewer characters. */
const SHORTEST = 32

/** Returns the answer in at most this many bytes of JSON. `beside` is never cut. */
export function fitAnswer({ body, rows }: ToolAnswer, maxBytes: number, beside: Beside = {}): FittedAnswer {
  if (rows === undefined) return fitTexts(body, maxBytes, beside, {})
  const { member, cursorAfter, total } = rows
  const all = (body as Readonly<Record<string, readonly unknown[]>>)[member]!
  const withRows = (kept: number) => ({ ...body, [member]: all.slice(0, kept) })
  const notes = (kept: number): Beside => {
    const cursor = cursorAfter(kept)
    if (cursor === null && kept === all.length) return {}
    const of = total === null ? '' : ` of ${total}`
    const more = cursor === null ? '' : ' Ask again with the cursor for the next ones.'
    const left_out = `Rows are missing: ${kept}${of} are here.${more}`
    return { left_out, ...(cursor === null ? {} : { cursor }) }
  }
  const written = (kept: number) => finish({ untrusted_data: withRows(kept), ...beside, ...notes(kept) })
  // The size grows with each row. Rows are measured once, as many as can fit, and the exact size of few answers is
  // looked at: a page may have a hundred times the bytes of an answer.
  const sizes: number[] = []
  let bytes = 0
  for (const row of all) {
    const size = bytesOf(JSON.stringify(row) ?? 'null') + 1
    bytes += size
    if (bytes > maxBytes) break
    sizes.push(size)
  }
  if (sizes.length === all.length) {
    const whole = written(all.length)
    if (bytesOf(whole.text) <= maxBytes) return whole
  }
  let left = maxBytes - bytesOf(written(0).text)
  let kept = 0
  while (kept < sizes.length && sizes[kept]! <= left) left -= sizes[kept++]!
  for (; kept > 1; kept--) {
    const cut = written(kept)
    if (bytesOf(cut.text) <= maxBytes) return cut
  }
  // Not even one row fits whole. It is answered with shorter texts, or the client would never get past it.
  const one = Math.min(1, all.length)
  return fitTexts(withRows(one), maxBytes, beside, notes(one), member)
}

/** Returns the refusal as the error of a tool. */
export function errorAnswer(error: string, detail: string, fields: Refusal['fields'] = null): FittedAnswer {
  const body = { detail, ...(fields === null ? {} : { fields }) }
  return { ...fitTexts(body, MOST_BYTES_OF_ERROR, { error }, {}), isError: true }
}

const MOST_BYTES_OF_ERROR = 16 * 1024

interface Refusal {
  readonly code: string
  readonly detail: string
  readonly fields: Readonly<Record<string, string>> | null
}

/** Returns the code and the text of an expected no, whichever room it comes from. */
export function refusalOf(refused: Refused): Refusal {
  switch (refused.kind) {
    case 'declined':
      return { code: refused.code, detail: refused.detail, fields: refused.fields }
    case 'refusal':
      return { code: refused.name, detail: refused.message, fields: null }
  }
}

/**
 * Cuts long texts until the answer fits; if that is not enough, leaves out whole members, the largest first. The member
 * `rows` is the last one to go: a cursor leads past its row.
 */
function fitTexts(
  body: object,
  maxBytes: number,
  beside: Beside,
  notes: Beside,
  rows: string | null = null,
): FittedAnswer {
  const { left_out: leftOut } = notes
  const say = (sentence: string): Beside => ({
    ...notes,
    left_out: [leftOut, sentence].filter(each => each !== undefined).join(' '),
  })
  // A reader looks for the error first.
  const { error } = beside
  const head = error === undefined ? {} : { error }
  const written = (data: object, more: Beside) => finish({ ...head, untrusted_data: data, ...beside, ...more })
  // A character takes at least one byte. A record has texts of megabytes, which must not be written as a whole.
  const longestOfAll = longestText(body)
  if (longestOfAll <= maxBytes) {
    const whole = written(body, notes)
    if (bytesOf(whole.text) <= maxBytes) return whole
  }
  const shortened = say('Long texts are cut; each says how many characters are missing.')
  const cutTo = (most: number) => written(withTexts(body, most), shortened)
  const most = largestNumber(SHORTEST, Math.min(longestOfAll, maxBytes), each => bytesOf(cutTo(each).text) <= maxBytes)
  if (most !== null) return cutTo(most)
  const kept: Record<string, unknown> = { ...withTexts(body, SHORTEST) }
  const bySize = Object.keys(kept)
    .map(name => ({ name, bytes: bytesOf(JSON.stringify(kept[name]) ?? '') }))
    .sort((one, other) => Number(one.name === rows) - Number(other.name === rows) || other.bytes - one.bytes)
  let dropped = 0
  for (const { name } of bySize) {
    delete kept[name]
    dropped++
    const cut = written(kept, say(`Members that do not fit are left out: ${dropped}. A larger maxBytes shows them.`))
    if (bytesOf(cut.text) <= maxBytes) return cut
  }
  return written({}, say(`Members that do not fit are left out: ${dropped}. A larger maxBytes shows them.`))
}

function finish(structured: Readonly<Record<string, unknown>>): FittedAnswer {
  return { structured, text: JSON.stringify(structured), isError: false }
}

function bytesOf(text: string): number {
  return Buffer.byteLength(text)
}

function longestText(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce<number>((longest, each) => Math.max(longest, longestText(each)), 0)
}

/** Returns a copy in which no text is longer than this. Half of a surrogate pair is never left. */
function withTexts<T>(value: T, most: number): T {
  if (typeof value === 'string') return cutText(value, most) as T
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(each => withTexts(each, most)) as T
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withTexts(each, most)])) as T
}

function cutText(text: string, most: number): string {
  if (text.length <= most) return text
  const kept = text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '')
  return `${kept}… (${text.length - kept.length} more characters)`
}
