// Work on schemas in threads: its limits, and what is kept.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { toy } from '../../../testing/toy-format.ts'
import { systemClock } from '../../base/clock.ts'
import { SchemaWork, type SchemaWorkOptions } from './schema-work.ts'
import { isUnusable } from './unusable.ts'

const SCRIPT = new URL('../../../testing/toy-schema-worker.ts', import.meta.url)

function open(t: TestContext, options: Partial<SchemaWorkOptions> = {}) {
  const work = new SchemaWork({ clock: systemClock, script: SCRIPT, ...options })
  t.after(() => work.close())
  return work
}

const source = (text: string) => ({ text, dependencies: [] })

test('a schema is examined, compared, compiled and serialized in a thread', async t => {
  const work = open(t)
  const dependencies = [{ name: 'Money', text: toy('Money') }]
  const order = { text: toy('Order', { a: 'int' }, { uses: ['Money'] }), dependencies }
  const examined = await work.examine('AVRO', order, 'new')
  assert.deepEqual(examined, {
    canonical: order.text,
    normalized: '{"fields":{"a":"int"},"name":"Order","uses":["Money"]}',
    inlined: '{"name":"Order","fields":{"a":"int"},"inlined":[{"name":"Money","fields":{}}]}',
    recordNames: ['Order'],
  })
  const compared = await work.compare('AVRO', order, source(toy('Order')), 'STRICT')
  assert.deepEqual(
    (compared as unknown as { type: string }[]).map(({ type }) => type),
    ['READER_FIELD_MISSING_DEFAULT_VALUE'],
  )
  assert.deepEqual(await work.compare('AVRO', order, source(toy('Order')), 'LENIENT'), [])
  const compiled = await work.compile('JSON', source(toy('R')))
  assert.deepEqual(isUnusable(compiled) ? compiled : [compiled.program, compiled.recordNames], [
    { toy: { name: 'R', fields: {} } },
    ['R'],
  ])
  assert.equal(await work.serialize('PROTOBUF', source(toy('R'))), Buffer.from(toy('R')).toString('base64'))
  assert.equal(await work.serialize('AVRO', source(toy('R'))), null)
})

test('a text that is no schema is named, and strictness reaches the format', async t => {
  const work = open(t)
  assert.deepEqual(await work.examine('AVRO', source('{}'), 'new'), {
    kind: 'invalid',
    why: 'at /name: a text was expected',
  })
  const old = source(toy('R', { A: 'int' }))
  assert.equal(isUnusable(await work.examine('AVRO', old, 'new')), true)
  assert.equal(isUnusable(await work.examine('AVRO', old, 'stored')), false)
})

test('a schema that takes too long or too much memory is refused, and its thread ends alone', async t => {
  const work = open(t, { cpuMs: 300, memoryMiB: 32 })
  const spinning = await work.examine('AVRO', source(toy('R', {}, { spin: true })), 'new')
  assert.deepEqual(spinning, { kind: 'costly', why: 'it takes more than 300 ms of processor time to check' })
  const patient = open(t, { cpuMs: 30_000, memoryMiB: 32 })
  const bloated = await patient.examine('AVRO', source(toy('R', {}, { bloat: true })), 'new')
  assert.deepEqual(bloated, { kind: 'costly', why: 'it takes more than 32 MiB of memory to check' })
  await assert.rejects(patient.examine('AVRO', source(toy('R', {}, { crash: true })), 'new'), /ended with status 7/)
  for (const each of [work, patient])
    assert.equal(isUnusable(await each.examine('AVRO', source(toy('R')), 'new')), false)
})

test('each call of a thread is observed with its outcome, and what is kept is counted in bytes', async t => {
  const seen: string[] = []
  const observe = (verb: string, result: string, ms: number) => void seen.push(`${verb} ${result} ${ms >= 0}`)
  const work = open(t, { cpuMs: 300, observe })
  await work.examine('AVRO', source(toy('R')), 'new')
  await work.examine('AVRO', source(toy('R')), 'new')
  await work.examine('AVRO', source('{}'), 'new')
  await work.examine('AVRO', source(toy('R', {}, { spin: true })), 'new')
  await assert.rejects(work.compile('AVRO', source(toy('R', {}, { crash: true }))))
  assert.deepEqual(seen, ['examine done true', 'examine invalid true', 'examine costly true', 'compile failed true'])
  assert.ok(work.bytes > 0 && work.bytes < 5_000, `${work.bytes} bytes`)
})

test('a stored schema does not wait behind submitted ones', async t => {
  const work = open(t, { most: 1, cpuMs: 1_000 })
  // The threads start before the clock of the spinning one runs: on a busy machine a start takes as long.
  await work.compile('AVRO', source(toy('Early')))
  await work.compareStored('AVRO', source(toy('Early')), source(toy('Later')), 'STRICT')
  const spinning = work.examine('AVRO', source(toy('R', {}, { spin: true })), 'new')
  let isSpinning = true
  void spinning.then(() => {
    isSpinning = false
  })
  assert.equal(isUnusable(await work.compile('AVRO', source(toy('R')))), false)
  const one = source(toy('R'))
  const other = source(toy('S'))
  let isCompared = false
  const compared = work.compare('AVRO', one, other, 'STRICT').then(() => {
    isCompared = true
  })
  // Nor do produce requests wait for the same comparison of a registration, which waits for its thread.
  assert.deepEqual(await work.compareStored('AVRO', one, other, 'STRICT'), [])
  assert.equal(isCompared, false)
  assert.equal(isSpinning, true)
  // A form that clients ask for waits, and leaves the thread for stored schemas to produce requests.
  assert.equal(await work.serialize('AVRO', source(toy('R'))), null)
  assert.equal(isSpinning, false)
  assert.equal(isUnusable(await spinning), true)
  await compared
})

test('many slow checks of one caller delay neither registrations nor the checks of another caller', async t => {
  const work = open(t, { cpuMs: 400 })
  const slow = (name: string) =>
    work.examine('AVRO', source(toy(name, {}, { spin: true })), 'new', { caller: 'a', line: 'checks' })
  let ended = 0
  const checks = Array.from({ length: 12 }, (_, i) => slow(`S${i}`).finally(() => ended++))
  const settled = Promise.allSettled(checks)
  const quick = (name: string, line: 'checks' | 'registrations') =>
    work.examine('AVRO', source(toy(name)), 'new', { caller: 'b', line })
  assert.equal(isUnusable(await quick('R', 'registrations')), false)
  // Checks go on meanwhile, and a thread takes its time to start.
  assert.ok(ended <= 2, `${ended} checks ended first`)
  assert.equal(isUnusable(await quick('C', 'checks')), false)
  assert.ok(ended <= 4, `${ended} checks ended first`)
  // The same text as the last of those that wait: it does not wait with it.
  const own = work.examine('AVRO', source(toy('S11', {}, { spin: true })), 'new', {
    caller: 'b',
    line: 'registrations',
  })
  assert.equal(isUnusable(await own), true)
  assert.ok(ended <= 7, `${ended} checks ended first`)
  await work.close()
  await settled
})

test('a caller that asks for too much at once is told to try again, and its other work goes on', async t => {
  const work = open(t, { cpuMs: 300, mostWaitingOfCaller: 2 })
  const examine = (name: string, caller: string, more = {}) =>
    work.examine('AVRO', source(toy(name, {}, more)), 'new', { caller, line: 'checks' })
  const slow = ['A', 'B', 'C'].map(name => examine(name, 'a', { spin: true }))
  const busy = {
    kind: 'busy',
    why: 'The registry has no time for more checks: too many of this caller wait already. Try again later.',
  }
  assert.deepEqual(await examine('D', 'a'), busy)
  // It is not kept, and not for other callers.
  assert.equal(isUnusable(await examine('D', 'b')), false)
  for (const each of await Promise.all(slow)) assert.equal(isUnusable(each) && each.kind, 'costly')
})

test('a schema beyond the bounds goes to no thread', async t => {
  const work = open(t, { script: new URL('data:text/javascript,process.exit(3)') })
  const whyOf = async (text: string, dependencies: readonly { name: string; text: string }[]) => {
    const examined = await work.examine('AVRO', { text, dependencies }, 'new')
    return isUnusable(examined) ? `${examined.kind}: ${examined.why}` : 'no refusal'
  }
  assert.match(await whyOf('ä'.repeat(262_145), []), /^large: it has 524290 bytes; the most are 524288$/)
  const many = Array.from({ length: 101 }, (_, i) => ({ name: `N${i}`, text: '{}' }))
  assert.match(await whyOf('{}', many), /^large: it refers to 101 schemas, directly or not; the most are 100$/)
  const large = Array.from({ length: 9 }, (_, i) => ({ name: `N${i}`, text: 'x'.repeat(500_000) }))
  assert.match(await whyOf('{}', large), /^large: it has 4500002 bytes with its references; the most are 4194304$/)
})

test('results are kept: known text needs no thread, and callers at once share the work', async t => {
  const work = open(t)
  const [one, other] = await Promise.all([
    work.examine('AVRO', source(toy('R')), 'new'),
    work.examine('AVRO', source(toy('R')), 'new'),
  ])
  assert.equal(one, other)
  await work.compare('AVRO', source(toy('R')), source(toy('S')), 'STRICT')
  await work.compile('AVRO', source(toy('R')))
  const invalid = await work.examine('AVRO', source('{}'), 'new')
  await work.close()
  assert.equal(await work.examine('AVRO', source(toy('R')), 'new'), one)
  assert.deepEqual(await work.compare('AVRO', source(toy('R')), source(toy('S')), 'STRICT'), [])
  assert.equal(await work.examine('AVRO', source('{}'), 'new'), invalid)
  assert.equal(isUnusable(await work.compile('AVRO', source(toy('R')))), false)
  // Another type, another strictness and another dependency are other schemas.
  await assert.rejects(work.examine('JSON', source(toy('R')), 'new'), /the schema threads are closed/)
  await assert.rejects(work.examine('AVRO', source(toy('R')), 'stored'), /closed/)
  const depending = { text: toy('R'), dependencies: [{ name: 'x', text: '{}' }] }
  await assert.rejects(work.examine('AVRO', depending, 'new'), /closed/)
})
