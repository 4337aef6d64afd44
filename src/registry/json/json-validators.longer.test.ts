// Judging in real threads: batches, schemas that take too long, payloads that take too much memory.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { parse, type Source } from '../../../testing/json-compatibility.ts'
import { systemClock } from '../../base/clock.ts'
import { patience } from '../../base/patience.ts'
import { ThreadEnded } from '../../base/threads.ts'
import type { Fault } from '../format.ts'
import { jsonSchema } from './json-schema.ts'
import { JsonValidators, type KeyedProgram, type PayloadBatch, type ValidatorOptions } from './json-validators.ts'

function validators(t: TestContext, options: Partial<ValidatorOptions> = {}): JsonValidators {
  const made = new JsonValidators({ clock: systemClock, most: 2, ...options })
  t.after(() => made.close())
  return made
}

function keyed(key: string, source: Source): KeyedProgram {
  return { key, program: jsonSchema.compile(parse(source, 'stored')) }
}

function batchOf(...payloads: readonly (string | Uint8Array)[]): PayloadBatch {
  const parts = payloads.map(payload => Buffer.from(payload as string))
  const memory = new ArrayBuffer(parts.reduce((sum, { length }) => sum + length, 0))
  new Uint8Array(memory).set(Buffer.concat(parts))
  let end = 0
  return { memory, ends: Uint32Array.from(parts, ({ length }) => (end += length)) }
}

const messages = (faults: readonly (Fault | null)[]) =>
  faults.map(fault => fault && `${fault.reason}: ${fault.message}`)

const WITH_ID = keyed('1', { type: 'object', required: ['id'] })
const SMALL = keyed('2', { maxProperties: 1 })
/** Matches in exponential time. */
const EVIL = keyed('evil', { type: 'string', pattern: '^(a+)+$' })
const SLOW_PAYLOAD = JSON.stringify(`${'a'.repeat(40)}!`)

test('each payload of a batch is judged by all schemas', async t => {
  const judge = validators(t)
  const faults = await judge.judge(
    [WITH_ID, SMALL],
    batchOf('{"id":1}', '{}', '{"id":1,"b":2}', '', '{', '"é"', Uint8Array.of(0xff)),
  )
  assert.deepEqual(messages(faults).slice(0, 4), [
    null,
    "bad-value: at the root: must have required property 'id'",
    'bad-value: at the root: must NOT have more than 1 properties',
    'truncated: the payload is empty; JSON has at least one character',
  ])
  assert.match(messages(faults)[4]!, /^bad-value: the payload is not JSON/)
  assert.equal(messages(faults)[5], 'bad-value: at the root: must be object')
  assert.equal(messages(faults)[6], 'bad-value: the payload is not UTF-8')
  assert.deepEqual(await judge.judge([WITH_ID], batchOf()), [])
})

test('a pattern that never ends costs its batch a thread, and other schemas do not wait for it', async t => {
  const judge = validators(t)
  await Promise.all([judge.judge([WITH_ID], batchOf('{"id":1}')), judge.judge([EVIL], batchOf('"a"'))])
  const evil = Array.from({ length: 2 }, () => judge.judge([EVIL], batchOf('"a"', SLOW_PAYLOAD, '"c"')))
  let isEvilOver = false
  void evil[0]!.then(() => {
    isEvilOver = true
  })
  for (let round = 0; round < 3; round++) {
    assert.deepEqual(await judge.judge([WITH_ID], batchOf('{"id":1}', '{}')).then(messages), [
      null,
      "bad-value: at the root: must have required property 'id'",
    ])
  }
  assert.equal(isEvilOver, false)
  for (const faults of await Promise.all(evil)) {
    assert.deepEqual(messages(faults), [
      null,
      'too-slow: it takes more than 200 ms of processor time to judge the payload',
      null,
    ])
  }
  assert.deepEqual(await judge.judge([EVIL], batchOf('"aa"')), [null])
})

test('a slow schema rests five times as long as a call took, and twice that beside another slow one', async t => {
  const rests: number[] = []
  const clock = {
    ...systemClock,
    timer(delayMs: number, fn: () => void) {
      // The looks at a call have shorter timers, and an idle thread has a longer one.
      if (delayMs >= 1_000 && delayMs < 10_000) rests.push(delayMs)
      return systemClock.timer(delayMs, fn)
    },
  }
  const judge = validators(t, { clock })
  const other = keyed('evil too', { type: 'string', pattern: '^(b+)+$' })
  const otherPayload = JSON.stringify(`${'b'.repeat(40)}!`)
  // The second calls wait for the rests of the first ones, and know by then that both schemas are slow.
  for (let round = 0; round < 2; round++) {
    await Promise.all([judge.judge([EVIL], batchOf(SLOW_PAYLOAD)), judge.judge([other], batchOf(otherPayload))])
  }
  const [first, second, third] = rests
  for (const rest of [first!, second!]) assert.ok(rest >= 5 * 200 && rest <= 4_000, String(rests))
  assert.ok(third! >= 2 * 5 * 200 && third! <= 2 * 4_000, String(rests))
})

test('a batch that takes long because it has many payloads is judged to its end', async t => {
  const judge = validators(t, { recordCpuMs: 100 })
  // Each takes some milliseconds, all of them more than a record may take.
  const schema = keyed('unique', { items: { type: 'array', uniqueItems: true } })
  const items = Array.from({ length: 600 }, (_, at) => ({ at }))
  const payload = JSON.stringify([items])
  const faults = await judge.judge([schema], batchOf(...Array.from({ length: 150 }, () => payload), '[[1,1]]'))
  assert.equal(faults.length, 151)
  assert.deepEqual(
    faults.slice(0, 150).filter(fault => fault !== null),
    [],
  )
  assert.match(faults[150]!.message, /must NOT have duplicate items/)
})

test('a payload whose value takes more memory than a thread has is refused before it is parsed', async t => {
  const judge = validators(t, { recordCpuMs: 10_000 })
  const tooMany = 'too-many-elements: the payload has more elements than fit into 96 MiB of memory'
  for (const item of ['[]', '{}', '0', '{"a":{}}']) {
    const huge = `[${`${item},`.repeat(4_000_000)}0]`
    assert.deepEqual(messages(await judge.judge([SMALL], batchOf('{}', huge, '{}'))), [null, tooMany, null])
    // As many as are allowed fit into the memory of a thread.
    const most = `[${`${item},`.repeat(250_000)}0]`
    assert.deepEqual(messages(await judge.judge([SMALL], batchOf(most, most))), [null, null])
  }
})

test('a schema that cannot be compiled in time is a fault of each payload, and is not compiled again at once', async t => {
  const judge = validators(t)
  // In the form in which it is cut into pieces it would be fast.
  const properties = Object.fromEntries(
    Array.from({ length: 1_500 }, (_, at) => [
      `p${at}`,
      { anyOf: [{ type: 'string', minLength: at }, { type: 'null' }] },
    ]),
  )
  const large: KeyedProgram = { key: 'large', program: { text: JSON.stringify({ properties }) } }
  const faults = await judge.judge([large], batchOf('{}', '{}'))
  assert.equal(messages(faults)[0], 'too-slow: it takes more than 1000 ms of processor time to compile the schema')
  assert.deepEqual(faults[1], faults[0])
  const threads = judge.size
  assert.deepEqual(await judge.judge([large], batchOf('{}')), [faults[0]])
  assert.equal(judge.size, Math.max(1, threads))
})

test('a thread forgets programs when it has too many bytes of them, and compiles them again when asked', async t => {
  const judge = validators(t, { cacheBytes: 200 })
  for (let round = 0; round < 2; round++) {
    for (let at = 0; at < 20; at++) {
      const program = keyed(`k${at}`, { type: 'object', required: [`name-${at}`] })
      const [valid, not] = await judge.judge([program], batchOf(`{"name-${at}":1}`, '{}'))
      assert.equal(valid, null)
      assert.match(not!.message, new RegExp(`name-${at}'`))
    }
  }
})

test('a stored schema that leads to itself without an end refuses its payloads', async t => {
  const judge = validators(t)
  const endless = keyed('endless', {
    definitions: { a: { allOf: [{ $ref: '#/definitions/a' }] } },
    $ref: '#/definitions/a',
  })
  assert.match(messages(await judge.judge([endless], batchOf('1')))[0]!, /^too-deep: /)
})

test('closed validators reject', async () => {
  const judge = new JsonValidators({ clock: systemClock, most: 2 })
  await judge.judge([WITH_ID], batchOf('{}'))
  await judge.close()
  await assert.rejects(judge.judge([WITH_ID], batchOf('{}')), ThreadEnded)
})

test('a batch whose patience ends before all of it was judged has no result', async t => {
  const judge = validators(t)
  const within = (ms: number) => patience(systemClock, systemClock.monotonic() + ms)
  assert.equal(await judge.judge([SMALL], batchOf('{}'), within(0)), null)
  // The second one waits for the first, longer than it may.
  const first = judge.judge([EVIL], batchOf(SLOW_PAYLOAD))
  const waiting = [judge.judge([EVIL], batchOf('"b"'), within(50)), judge.judge([EVIL], batchOf('"b"'), within(60))]
  assert.deepEqual(await Promise.all(waiting), [null, null])
  assert.match(messages(await first)[0]!, /^too-slow: /)
})
