import assert from 'node:assert/strict'
import { test } from 'node:test'
import { declined } from '../admin/declined.ts'
import { because, UNKNOWN_TOPIC_OR_PARTITION } from '../protocol/errors.ts'
import { errorAnswer, fitAnswer, refusalOf } from './answer.ts'
import { offsetOf, offsetRows } from './cursor.ts'
import type { ToolAnswer } from './tool.ts'

const rowsOf = (count: number, text: string): ToolAnswer => ({
  body: { topics: Array.from({ length: count }, (_, at) => ({ at, name: `${text}${at}` })), total: count },
  rows: offsetRows('topics', 0, count),
})
interface Page {
  readonly untrusted_data: { readonly topics: readonly { readonly at: number }[] }
  readonly left_out?: string
  readonly cursor?: string
}

const bytes = (text: string) => Buffer.byteLength(text)

test('an answer that fits is marked and otherwise unchanged', () => {
  const { structured, text, isError } = fitAnswer(rowsOf(2, 'a'), 1024)
  assert.deepEqual(structured, {
    untrusted_data: {
      topics: [
        { at: 0, name: 'a0' },
        { at: 1, name: 'a1' },
      ],
      total: 2,
    },
  })
  assert.equal(text, JSON.stringify(structured))
  assert.equal(isError, false)
})

test('rows that do not fit are left out with a count and a cursor, and the cursors lead through all of them', () => {
  const all = rowsOf(500, 'ä'.repeat(40))
  const { topics } = all.body as { topics: { at: number }[] }
  const seen: number[] = []
  for (let cursor: string | undefined; ; ) {
    const offset = offsetOf(cursor) as number
    const page = { body: { topics: topics.slice(offset), total: 500 }, rows: offsetRows('topics', offset, 500) }
    const { structured, text } = fitAnswer(page, 4096)
    assert.ok(bytes(text) <= 4096, `${bytes(text)} bytes`)
    const { untrusted_data: data, left_out, cursor: next } = structured as unknown as Page
    const kept = data.topics.map(({ at }) => at)
    seen.push(...kept)
    if (next === undefined) {
      assert.equal(left_out, undefined)
      break
    }
    assert.equal(
      left_out,
      `Rows are missing: ${kept.length} of 500 are here. Ask again with the cursor for the next ones.`,
    )
    assert.ok(bytes(text) > 3_900, 'the room is used')
    cursor = next
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 500 }, (_, at) => at),
  )
})

test('a page that has the limit of its own says that more rows follow', () => {
  const page = { body: { topics: [1, 2] }, rows: offsetRows('topics', 4, 10) }
  const { left_out, cursor } = fitAnswer(page, 1024).structured
  assert.equal(left_out, 'Rows are missing: 2 of 10 are here. Ask again with the cursor for the next ones.')
  assert.equal(offsetOf(cursor as string), 6)
})

test('a row that alone is too long has shorter texts, says how much is missing, and does not stop the reader', () => {
  const long = '😀'.repeat(5_000)
  const answer = { body: { records: [{ value: long }, { value: 'next' }] }, rows: offsetRows('records', 0, 2) }
  const { structured, text } = fitAnswer(answer, 2048)
  const { untrusted_data, left_out, cursor } = structured
  assert.ok(bytes(text) <= 2048 && bytes(text) > 1_800, `${bytes(text)} bytes`)
  const { records } = untrusted_data as { records: { value: string }[] }
  assert.equal(records.length, 1)
  const [, kept, missing] = /^(.*)… \((\d+) more characters\)$/.exec(records[0]!.value)!
  assert.equal(kept!.length + Number(missing), long.length)
  assert.ok(kept!.isWellFormed(), 'no character is cut in two')
  assert.match(left_out as string, /^Rows are missing: 1 of 2 .* Long texts are cut; /)
  assert.equal(offsetOf(cursor as string), 1)
})

test('members that cannot be cut are left out whole, and counted', () => {
  const numbers = Array.from({ length: 2_000 }, (_, at) => at)
  const { structured, text } = fitAnswer({ body: { small: 1, numbers } }, 1024)
  assert.deepEqual(structured, {
    untrusted_data: { small: 1 },
    left_out: 'Members that do not fit are left out: 1. A larger maxBytes shows them.',
  })
  assert.ok(bytes(text) <= 1024)
})

test('a row is left out last, because the cursor leads past it', () => {
  const row = Array.from({ length: 100 }, (_, at) => at)
  const head = { one: row.slice(0, 60), other: row.slice(0, 50) }
  const answer = { body: { ...head, rows: [row, row] }, rows: offsetRows('rows', 0, 2) }
  const { structured, text } = fitAnswer(answer, 600)
  assert.deepEqual(structured.untrusted_data, { rows: [row] })
  assert.match(structured.left_out as string, /^Rows are missing: 1 of 2 .* Members that do not fit are left out: 2\. /)
  assert.ok(bytes(text) <= 600)
})

test('an error has its code beside the marked member, and its texts inside, cut to a size', () => {
  const { structured, isError } = errorAnswer('NOT_FOUND', 'There is no such thing.', { topic: 'is unknown' })
  assert.deepEqual(structured, {
    error: 'NOT_FOUND',
    untrusted_data: { detail: 'There is no such thing.', fields: { topic: 'is unknown' } },
  })
  assert.equal(isError, true)
  assert.equal(Object.keys(structured)[0], 'error')
  assert.ok(bytes(errorAnswer('NOT_FOUND', 'x'.repeat(1e6)).text) <= 16 * 1024)
})

test('each kind of refusal has a code and a sentence', () => {
  assert.deepEqual(refusalOf(because(UNKNOWN_TOPIC_OR_PARTITION, 'There is no topic a.')), {
    ...{ code: 'UNKNOWN_TOPIC_OR_PARTITION', detail: 'There is no topic a.', fields: null },
  })
  assert.deepEqual(refusalOf(declined('CONFLICT', 'It has changed.', { offset: 'is old' })), {
    ...{ code: 'CONFLICT', detail: 'It has changed.', fields: { offset: 'is old' } },
  })
})

test('a text that is no cursor of the list is refused', () => {
  for (const cursor of [
    '',
    'x',
    Buffer.from('{"offset":-1}').toString('base64url'),
    Buffer.from('[]').toString('base64url'),
  ])
    assert.equal((offsetOf(cursor) as { code: string }).code, 'INVALID_CURSOR', cursor)
  assert.equal(offsetOf(undefined), 0)
})

/** Throws if it is written. A copy with shorter texts is a plain object. */
class Unwritten {
  toJSON(): never {
    throw new Error('more is written than can fit')
  }
}

test('a body whose texts are far longer than the answer is never written as a whole', () => {
  const body = { value: 'x'.repeat(5_000), rest: new Unwritten() }
  const { structured, text } = fitAnswer({ body }, 1024)
  assert.ok(bytes(text) <= 1024 && bytes(text) > 1000, `${bytes(text)} bytes`)
  const { untrusted_data: data } = structured as { untrusted_data: { value: string; rest: object } }
  assert.deepEqual(data.rest, {})
  assert.match(data.value, /^x+… \(\d+ more characters\)$/)
})

test('rows behind those that can fit are not written', () => {
  const rows = Array.from({ length: 1_000 }, (_, at) => (at < 100 ? { at, name: 'x'.repeat(40) } : new Unwritten()))
  const { structured, text } = fitAnswer({ body: { topics: rows }, rows: offsetRows('topics', 0, rows.length) }, 1024)
  assert.ok(bytes(text) <= 1024 && bytes(text) > 900, `${bytes(text)} bytes`)
  assert.match((structured as unknown as Page).left_out!, /^Rows are missing: \d\d of 1000 are here\./)
})
