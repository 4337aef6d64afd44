// The rules of the judge: which parts of which records are judged, and what is valid. With the real formats on a store
// in memory.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../testing/eventually.ts'
import { judgedTopic, named, openJudgeWorld, type WayToName } from '../../../testing/judge-world.ts'
import { accepted } from '../../../testing/registry-world.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { codecs } from '../../protocol/compression.ts'
import { INVALID_RECORD, isRefusal, KAFKA_STORAGE_ERROR } from '../../protocol/errors.ts'
import { framed, SCHEMA_ID_HEADERS } from '../payload/framing.ts'
import { writeIndexes } from '../payload/message-indexes.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

const ORDER_V1 = { type: 'record', name: 'Order', fields: [{ name: 'name', type: 'string' }] }
const ORDER_V2 = {
  ...ORDER_V1,
  fields: [...ORDER_V1.fields, { name: 'count', type: 'int', default: 0 }],
}
/** Order of version 1 and 2. */
const V1_BODY = hex('02 61')
const V2_BODY = hex('02 61 08')

const T = judgedTopic('t')
const one = (value: Uint8Array | null, key: Uint8Array | null = null) => [{ key, value }]

test('nothing is judged until the subject has a version, and nothing once all are deleted', async t => {
  const { broken, register, registry, judge } = openJudgeWorld(t)
  const raw = one(hex('ff'))
  // The first batch has the subject loaded.
  assert.deepEqual(await broken(T, raw), [])
  await eventually('it is known that there is no subject', async () => (await broken(T, raw)) === 'free')
  const { id } = await register('t-value', ORDER_V1)
  assert.deepEqual(await broken(T, raw), ['0 value no-schema-id'])
  assert.deepEqual(await broken(T, one(framed(id, V1_BODY))), [])
  accepted(await registry.deleteSubject('t-value'))
  assert.deepEqual(await broken(T, raw), 'free')
  await register('t-key', ORDER_V1)
  assert.deepEqual(await broken(T, one(hex('ff'), hex('ff'))), ['0 key no-schema-id'])
  assert.equal(judge.judged(T).key.refused, 1)
  assert.equal(judge.judged(T).value.refused, 1)
})

test('the configs of a topic switch it on and off, and count only', async t => {
  const world = openJudgeWorld(t)
  await world.register('t-value', ORDER_V1)
  const raw = one(hex('ff'))
  const off = judgedTopic('t', { confluentValueSchemaValidation: false })
  await eventually('it is known that keys have no subject', async () => (await world.broken(off, raw)) === 'free')
  const required = judgedTopic('new', { confluentValueSchemaValidation: true })
  assert.deepEqual(await world.broken(required, raw), ['0 value no-subject'])
  assert.deepEqual(await world.broken(required, one(null)), [])
  const counting = judgedTopic('t', { schemaValidationAction: 'count' })
  assert.deepEqual(await world.broken(counting, [...raw, ...one(null), ...raw]), [])
  assert.deepEqual(await world.counts(counting), { 'no-schema-id': 2, valid: 1 })
  assert.deepEqual(world.judge.judged(counting).value, {
    ...{ action: 'count', isRequired: false, strategy: 'TopicName', subject: 't-value', refused: 2 },
  })
  const free = openJudgeWorld(t, { isOnByDefault: false, store: world.store })
  assert.equal(await free.broken(T, raw), 'free')
  assert.deepEqual(await free.broken(judgedTopic('t', { confluentValueSchemaValidation: true }), raw), [
    '0 value no-schema-id',
  ])
  assert.equal(free.judge.judged(T).value.action, 'off')
})

const causes: readonly (readonly [string, string, (id: number) => Uint8Array])[] = [
  ['an empty value', 'no-schema-id', () => hex('')],
  ['another first byte', 'no-schema-id', () => hex('01 00000001 02 61')],
  ['a short prefix', 'no-schema-id', () => hex('00 000001')],
  ['an id that no schema has', 'unknown-id', () => framed(77, V1_BODY)],
  ['a negative id', 'unknown-id', () => framed(-1, V1_BODY)],
  ['an id of another subject', 'unknown-id', id => framed(id + 1, V1_BODY)],
  ['a body that ends too early', 'truncated', id => framed(id, hex('04 61'))],
  ['bytes behind the body', 'trailing-bytes', id => framed(id, V1_BODY, hex('00'))],
  ['text that is no UTF-8', 'bad-value', id => framed(id, hex('02 ff'))],
]

test('each cause refuses the batch with its rule, in each codec, in the first or the last record', async t => {
  const { broken, register } = openJudgeWorld(t)
  const { id } = await register('t-value', ORDER_V1)
  await register('other', ORDER_V2)
  const good = { value: framed(id, V1_BODY) }
  for (const [cause, reason, bytes] of causes) {
    for (const compression of codecs) {
      const bad = { value: bytes(id) }
      assert.deepEqual(await broken(T, [bad, good, good], { compression }), [`0 value ${reason}`], cause)
      assert.deepEqual(await broken(T, [good, good, bad], { compression }), [`2 value ${reason}`], cause)
    }
  }
})

test('the schema is named by a prefix, or by id or GUID in a header; the last header counts', async t => {
  const { broken, register } = openJudgeWorld(t)
  const schema = await register('t-value', ORDER_V1)
  const other = await register('other', ORDER_V2)
  for (const by of ['prefix', 'header-id', 'header-guid'] satisfies WayToName[]) {
    assert.deepEqual(await broken(T, [named(by, schema, V1_BODY)]), [], by)
    assert.deepEqual(await broken(T, [named(by, other, V1_BODY)]), ['0 value unknown-id'], by)
    assert.deepEqual(await broken(T, [named(by, schema, hex('04 61'))]), ['0 value truncated'], by)
  }
  const right = named('header-guid', schema, V1_BODY)
  const wrong = named('header-guid', other, V1_BODY)
  const both = (...records: (typeof right)[]) => ({ ...right, headers: records.flatMap(({ headers }) => headers!) })
  const others = { headers: [{ key: 'trace', value: 'x' }] }
  assert.deepEqual(await broken(T, [both(wrong, { ...right, ...others }, right), both(right, wrong)]), [
    '1 value unknown-id',
  ])
  assert.deepEqual(await broken(T, [{ value: V1_BODY, headers: [{ key: SCHEMA_ID_HEADERS.value, value: 'x' }] }]), [
    '0 value no-schema-id',
  ])
  // A null header hides those before it, so that the prefix counts.
  const hidden = [...wrong.headers!, { key: SCHEMA_ID_HEADERS.value, value: null }]
  assert.deepEqual(await broken(T, [{ value: framed(schema.id, V1_BODY), headers: hidden }]), [])
})

test('a record of an earlier version is accepted, also after that version was deleted', async t => {
  const { broken, register, registry } = openJudgeWorld(t)
  const v1 = await register('t-value', ORDER_V1)
  const v2 = await register('t-value', ORDER_V2)
  const records = [{ value: framed(v1.id, V1_BODY) }, { value: framed(v2.id, V2_BODY) }]
  assert.deepEqual(await broken(T, records), [])
  accepted(await registry.deleteVersion('t-value', '1'))
  assert.deepEqual(await broken(T, records), [])
  // The writer's own schema decodes it, not the latest.
  assert.deepEqual(await broken(T, [{ value: framed(v1.id, V2_BODY) }]), ['0 value trailing-bytes'])
})

test('where the level asks for it, the latest version must be able to read the record', async t => {
  const { broken, judged, register, registry } = openJudgeWorld(t)
  const v1 = await register('t-value', ORDER_V1)
  await registry.putConfig('t-value', { compatibility: 'NONE' })
  const v2 = await register('t-value', { ...ORDER_V1, fields: [{ name: 'count', type: 'int' }] })
  const old = [{ value: framed(v1.id, V1_BODY) }]
  for (const compatibility of ['NONE', 'FORWARD', 'FORWARD_TRANSITIVE']) {
    accepted(await registry.putConfig('t-value', { compatibility }))
    assert.deepEqual(await broken(T, old), [], compatibility)
  }
  for (const compatibility of ['BACKWARD', 'BACKWARD_TRANSITIVE', 'FULL', 'FULL_TRANSITIVE']) {
    accepted(await registry.putConfig('t-value', { compatibility }))
    assert.deepEqual(await broken(T, [...old, { value: framed(v2.id, hex('02')) }]), ['0 value not-readable'])
  }
  const refusal = await judged(T, old)
  assert.match(
    isRefusal(refusal) ? refusal.message : '',
    /schema id 1 of the subject "t-value" cannot be read by the latest version 2, which the level FULL_TRANSITIVE asks for: at \/fields\/\d: .*count/,
  )
})

const PROTO = `syntax = "proto3"; package p; message A { int32 n = 1; message B { string s = 1; } } message C { int32 n = 1; }`

test('Protobuf messages are found by their indexes; without them the only top-level message is meant', async t => {
  const { broken, register } = openJudgeWorld(t)
  const two = await register('t-value', PROTO, 'PROTOBUF')
  const value = (path: readonly number[], body: string) => ({ value: framed(two.id, writeIndexes(path), hex(body)) })
  assert.deepEqual(
    await broken(T, [value([0], '08 01'), value([0, 0], '0a 01 61'), value([1], '08 01'), value([0], '')]),
    [],
  )
  assert.deepEqual(
    await broken(T, [
      value([2], '08 01'),
      value([0, 1], ''),
      { value: framed(two.id, hex('08 07')) },
      value([0], '08'),
    ]),
    ['0 value no-message', '1 value no-message', '2 value no-message', '3 value truncated'],
  )
  // The indexes stand in the header, behind the GUID.
  const inHeader = named('header-guid', two, hex('0a 01 61'))
  const header = Buffer.concat([inHeader.headers![0]!.value as Uint8Array, writeIndexes([0, 0])])
  assert.deepEqual(await broken(T, [{ ...inHeader, headers: [{ key: SCHEMA_ID_HEADERS.value, value: header }] }]), [])
  const single = await register('s-value', 'syntax = "proto3"; message A { int32 n = 1; }', 'PROTOBUF')
  const S = judgedTopic('s')
  assert.deepEqual(await broken(S, [{ value: framed(single.id, hex('08 07')) }]), [])
  assert.deepEqual(await broken(S, [{ value: framed(single.id, hex('0a 07')) }]), ['0 value bad-value'])
})

test('RecordName and TopicRecordName find the subject by the record, and leave records without one alone', async t => {
  const { broken, register } = openJudgeWorld(t)
  const order = await register('Order', ORDER_V1)
  const other = await register('elsewhere', { ...ORDER_V1, name: 'Other' })
  const proto = await register('p.A.B', PROTO, 'PROTOBUF')
  for (const [topic, strategy] of [
    ['t', 'RecordName'],
    ['u', 'TopicRecordName'],
  ] as const) {
    if (strategy === 'TopicRecordName') await register('u-Order', ORDER_V1)
    const lax = judgedTopic(topic, { confluentValueSubjectNameStrategy: strategy })
    const strict = judgedTopic(`${topic}`, {
      confluentValueSubjectNameStrategy: strategy,
      confluentValueSchemaValidation: true,
    })
    const values = [framed(order.id, V1_BODY), framed(other.id, hex('ff')), hex('ff'), framed(99, V1_BODY), hex('')]
    const records = [...values, null].map(value => ({ value }))
    assert.deepEqual(await broken(lax, records), ['3 value unknown-id'], topic)
    assert.deepEqual(await broken(strict, records), [
      ...['1 value no-subject', '2 value no-schema-id', '3 value unknown-id', '4 value no-schema-id'],
    ])
    assert.deepEqual(await broken(lax, [{ value: framed(order.id, hex('ff')) }]), ['0 value truncated'])
  }
  const lax = judgedTopic('t', { confluentValueSubjectNameStrategy: 'RecordName' })
  const value = (path: readonly number[], body: string) => ({ value: framed(proto.id, writeIndexes(path), hex(body)) })
  assert.deepEqual(await broken(lax, [value([0, 0], '0a 01'), value([0], '08'), value([5], '')]), [
    '0 value truncated',
    '2 value no-message',
  ])
})

test('a batch names the first 100 bad records, each with key or value and the rule', async t => {
  const { judged, register, counts } = openJudgeWorld(t)
  const { id } = await register('t-value', ORDER_V1)
  await register('t-key', ORDER_V1)
  const records = Array.from({ length: 300 }, (_, i) => ({
    key: i % 2 === 0 ? hex('ff') : null,
    value: i === 7 ? hex('ff') : framed(id, V1_BODY),
  }))
  const refusal = await judged(T, records)
  assert.ok(isRefusal(refusal))
  assert.equal(refusal.code, INVALID_RECORD.code)
  assert.equal(refusal.recordErrors!.length, 100)
  assert.deepEqual(refusal.recordErrors![0], {
    batchIndex: 0,
    batchIndexErrorMessage: 'The key breaks the rule no-schema-id: it does not begin with the byte 0 and a schema id.',
  })
  assert.match(refusal.recordErrors!.find(({ batchIndex }) => batchIndex === 7)!.batchIndexErrorMessage!, /^The value /)
  assert.match(refusal.message, /^At least 100 of 300 records are not valid. The first one is record 0 of the batch: /)
  const { valid, ...rest } = await counts(T)
  assert.deepEqual(rest, { 'no-schema-id': 100 })
  assert.ok(valid! > 0)
  const alone = await judged(T, records.slice(7, 8))
  assert.ok(isRefusal(alone))
  assert.match(alone.message, /^The record is not valid\. The value breaks the rule no-schema-id: /)
})

test('another broker that has just registered a version is believed at once', async t => {
  const mine = openJudgeWorld(t)
  const v1 = await mine.register('t-value', ORDER_V1)
  assert.deepEqual(await mine.broken(T, [{ value: framed(v1.id, V1_BODY) }]), [])
  const theirs = openJudgeWorld(t, { store: mine.store.beside() })
  const v2 = await theirs.register('t-value', ORDER_V2)
  assert.deepEqual(await mine.broken(T, [{ value: framed(v2.id, V2_BODY) }]), [])
})

test('while the store is away nothing passes unseen: the answer is retriable', async t => {
  const { store, broken, judged, register } = openJudgeWorld(t)
  const { id } = await register('t-value', ORDER_V1)
  store.faults.failNext('load', 'unavailable', 3)
  store.faults.failNext('version', 'unavailable', 3)
  const refusal = await judged(judgedTopic('never-seen'), one(hex('ff')))
  assert.ok(isRefusal(refusal) && refusal.code === KAFKA_STORAGE_ERROR.code && refusal.retriable, String(refusal))
  const unknown = await judged(T, [{ value: framed(id + 7, V1_BODY) }])
  assert.ok(isRefusal(unknown) && unknown.retriable, JSON.stringify(unknown))
  assert.deepEqual(await broken(T, [{ value: framed(id, V1_BODY) }]), [])
})

test('a batch waits 20 s for its schemas; then it is refused for now, or passes unchecked where bad ones are counted', async t => {
  const clock = new SimulatedClock()
  const { store, judged, counts } = openJudgeWorld(t, { clock })
  store.faults.hold('all')
  t.after(() => store.faults.release())
  const counting = judgedTopic('counted', { schemaValidationAction: 'count' })
  const verdicts = [judged(T, one(hex('ff'))), judged(counting, one(hex('ff')))]
  const decided = Promise.all(verdicts)
  await clock.advance(19_900)
  assert.equal(await Promise.race([decided, Promise.resolve('waits')]), 'waits')
  await clock.advance(200)
  const [refusal, passed] = await decided
  assert.ok(isRefusal(refusal) && refusal.code === KAFKA_STORAGE_ERROR.code && refusal.retriable, String(refusal))
  assert.equal(passed, null)
  assert.deepEqual(await counts(counting), { 'not-checked': 1 })
})

test('100,000 invented ids cost few look-ups, by topic name and by record name', async t => {
  const { store, broken, judged, register, registry } = openJudgeWorld(t)
  const { id } = await register('t-value', ORDER_V1)
  await register('Order', ORDER_V1)
  accepted(await registry.putMode('imported', 'IMPORT'))
  accepted(await registry.register('imported', { schema: JSON.stringify(ORDER_V2), id: 500_000, version: 1 }))
  const invented = Array.from({ length: 100_000 }, (_, i) => ({ value: framed(600_000 + i, V1_BODY) }))
  const good = { value: framed(id, V1_BODY) }
  const asked = () => store.calls.load + store.calls.version
  const before = asked()
  const refusal = await judged(T, [good, ...invented], { compression: 'zstd' })
  assert.ok(isRefusal(refusal) && refusal.code === INVALID_RECORD.code)
  const byRecord = judgedTopic('t', { confluentValueSubjectNameStrategy: 'RecordName' })
  const found = await broken(byRecord, [...invented, good])
  assert.ok(found.length >= 1 && (found as string[]).every(each => each.endsWith('unknown-id')), String(found))
  assert.ok(asked() - before < 100, `${asked() - before} calls`)
  // Ids that may exist are looked up, but not without an end; those that were seen before still count.
  assert.deepEqual(await broken(byRecord, [good]), [])
  for (let i = 0; i < 200; i++) await judged(byRecord, [{ value: framed(1_000 + i, V1_BODY) }])
  const late = await judged(byRecord, [{ value: framed(400_000, V1_BODY) }])
  assert.ok(isRefusal(late) && late.code === KAFKA_STORAGE_ERROR.code, JSON.stringify(late))
  assert.ok(asked() - before < 300, `${asked() - before} calls`)
  assert.deepEqual(await broken(byRecord, [good]), [])
})

test('a batch names at most 256 schemas and 256 subjects', async t => {
  const { broken, register, registry } = openJudgeWorld(t)
  const order = (at: number) => ({ ...ORDER_V1, doc: String(at) })
  const ids = []
  for (let at = 0; at < 260; at++) ids.push((await register('t-value', order(at))).id)
  const records = ids.map(id => ({ value: framed(id, V1_BODY) }))
  const late = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, at) => `${from + at} value too-many-schemas`)
  assert.deepEqual(await broken(T, records.slice(0, 256)), [])
  assert.deepEqual(await broken(T, [...records, ...records]), [...late(256, 260), ...late(260 + 256, 520)])
  const messages = Array.from({ length: 300 }, (_, at) => `message M${at} {}`)
  const { id } = accepted(await registry.register('m', { schema: messages.join('\n'), type: 'PROTOBUF' }))
  const byMessage = messages.map((_, at) => ({ value: framed(id, writeIndexes([at])) }))
  const byRecord = judgedTopic('t', { confluentValueSubjectNameStrategy: 'RecordName' })
  assert.deepEqual(await broken(byRecord, byMessage), late(256, 300))
})

test('2^31 items without bytes, and records with many headers, are refused in little time', async t => {
  const { broken, register } = openJudgeWorld(t)
  const { id } = await register('t-value', { type: 'array', items: 'null' })
  assert.deepEqual(await broken(T, one(framed(id, hex('feffffff0f 00')))), ['0 value too-many-elements'])
  assert.deepEqual(await broken(T, one(framed(id, hex('feffffffffffffffff01 00')))), ['0 value too-many-elements'])
  const headers = Array.from({ length: 50_000 }, () => ({ key: 'h', value: '' }))
  assert.deepEqual(await broken(T, [{ value: framed(id, hex('00')), headers }], { compression: 'zstd' }), [])
})
