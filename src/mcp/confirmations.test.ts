import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMemoryStore, type MemoryStore } from '../../testing/sim/memory-store.ts'
import { seededRandom } from '../base/random.ts'
import { OutcomeUnknown, type Store } from '../store/store.ts'
import { type Change, Confirmations } from './confirmations.ts'
import { digestOf } from './digest.ts'

const CHANGE: Change = {
  tool: 'delete_topic',
  way: 'argument',
  args: { topic: 'orders', deep: { b: 1, a: [true, null] } },
}
const PENDING = { state: 'the state', pins: { topicId: 'an id', offsets: [1, 2] } }

function world() {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  const named: string[] = []
  const open = (seed = 1, through = store) =>
    new Confirmations({
      store: through,
      clock,
      random: seededRandom(seed),
      unreadable: ({ what }) => void named.push(what),
    })
  const document = () => store.load('agent-confirmations', 'pending')
  return { clock, store, open, named, document }
}

test('a confirmation is good once, on any broker, with what the first call resolved', async () => {
  const { open } = world()
  const [one, other] = [open(1), open(2)]
  const value = (await one.add(CHANGE, PENDING))!
  assert.match(value, /^[A-Za-z0-9_-]{22}$/)
  const reordered = { ...CHANGE, args: { deep: { a: [true, null], b: 1 }, topic: 'orders' } }
  assert.deepEqual(await other.take(reordered, value), PENDING)
  for (const confirmations of [one, other]) assert.equal(await confirmations.take(CHANGE, value), null)
})

test('of brokers that take one confirmation at the same moment, one gets it', async () => {
  const { open, store } = world()
  const value = (await open(1).add(CHANGE, PENDING))!
  const takers = Array.from({ length: 8 }, (_, i) => open(10 + i, store.beside()))
  const taken = await Promise.all(takers.map(taker => taker.take(CHANGE, value)))
  assert.equal(taken.filter(each => each !== null).length, 1)
})

test('a value that is altered, unknown, or for other arguments, another tool or another way confirms nothing', async () => {
  const { open } = world()
  const confirmations = open()
  const value = (await confirmations.add(CHANGE, PENDING))!
  const altered = `${value.slice(0, -2)}${value.endsWith('A') ? 'BA' : 'AA'}`
  for (const wrong of [
    '',
    'x',
    altered,
    `${value} `,
    `${value}=`,
    value.toLowerCase(),
    'A'.repeat(22),
    'A'.repeat(10_000),
  ])
    assert.equal(await confirmations.take(CHANGE, wrong), null, wrong)
  const others: readonly Change[] = [
    { ...CHANGE, args: { topic: 'invoices' } },
    { ...CHANGE, args: null },
    { ...CHANGE, tool: 'delete_group' },
    { ...CHANGE, way: 'person' },
  ]
  for (const other of others) assert.equal(await confirmations.take(other, value), null, JSON.stringify(other))
  assert.deepEqual(await confirmations.take(CHANGE, value), PENDING, 'it is still good for its own change')
})

test('a confirmation is good for five minutes', async () => {
  const { open, clock } = world()
  const confirmations = open()
  const [first, second] = [await confirmations.add(CHANGE, PENDING), await confirmations.add(CHANGE, PENDING)]
  await clock.advance(5 * 60_000 - 1)
  assert.deepEqual(await confirmations.take(CHANGE, first!), PENDING)
  await clock.advance(1)
  assert.equal(await confirmations.take(CHANGE, second!), null)
})

test('the store has neither the values nor, after they are taken, what they stood for', async () => {
  const { open, document } = world()
  const confirmations = open()
  const value = (await confirmations.add(CHANGE, PENDING))!
  const stored = async () =>
    [...(await document())!.fields].map(([key, bytes]) => `${key} ${Buffer.from(bytes)}`).join()
  assert.ok((await stored()).includes('an id'))
  assert.ok(!(await stored()).includes(value))
  assert.ok(!(await stored()).includes('orders'), 'of the arguments it has a digest')
  await confirmations.take(CHANGE, value)
  assert.ok(!(await stored()).includes('an id'))
})

test('two hundred confirmations wait, the oldest goes first, and expired ones are removed', async () => {
  const { open, document, clock } = world()
  const confirmations = open()
  const first = (await confirmations.add(CHANGE, PENDING))!
  const values: string[] = []
  for (let i = 0; i < 200; i++) {
    await clock.advance(1)
    values.push((await confirmations.add(CHANGE, PENDING))!)
  }
  assert.equal((await document())!.fields.size, 200)
  assert.equal(await confirmations.take(CHANGE, first), null)
  assert.deepEqual(await confirmations.take(CHANGE, values[0]!), PENDING)
  await clock.advance(5 * 60_000)
  await confirmations.add(CHANGE, PENDING)
  assert.equal((await document())!.fields.size, 1)
})

test('the pins of one change have 128 KiB, and those of all 1 MiB', async () => {
  const { open, document, clock } = world()
  const confirmations = open()
  assert.equal(await confirmations.add(CHANGE, { state: '', pins: 'x'.repeat(128 * 1024) }), null)
  for (let i = 0; i < 20; i++) {
    await clock.advance(1)
    assert.notEqual(await confirmations.add(CHANGE, { state: '', pins: 'x'.repeat(120 * 1024) }), null)
  }
  const bytes = [...(await document())!.fields.values()].reduce((sum, each) => sum + each.length, 0)
  assert.ok(bytes <= 1024 * 1024, `${bytes} bytes`)
})

test('an answer of the store that is lost leaves a confirmation taken once', async () => {
  const { open, store } = world()
  const value = (await open(1).add(CHANGE, PENDING))!
  const beside = store.beside()
  beside.faults.failNext('commit', 'unknown-done')
  const [one, other] = [open(2, beside), open(3)]
  const taken = [await one.take(CHANGE, value), await other.take(CHANGE, value)]
  assert.deepEqual(taken, [PENDING, null])
})

test('a taker whose commit was lost does not get what another has taken meanwhile', async () => {
  const { open, store } = world()
  const value = (await open(1).add(CHANGE, PENDING))!
  const rival = open(3)
  let isFirst = true
  const losing: MemoryStore = Object.assign(Object.create(store) as MemoryStore, {
    async commit(commit: Parameters<Store['commit']>[0]) {
      if (!isFirst) return await store.commit(commit)
      isFirst = false
      assert.deepEqual(await rival.take(CHANGE, value), PENDING)
      throw new OutcomeUnknown('the answer was lost, and so was the commit')
    },
  })
  assert.equal(await open(2, losing).take(CHANGE, value), null)
})

test('digests do not depend on the order of members', () => {
  assert.equal(digestOf({ a: 1, b: [{ c: 2, d: 'x' }] }), digestOf({ b: [{ d: 'x', c: 2 }], a: 1 }))
  assert.notEqual(digestOf({ a: 1 }), digestOf({ a: '1' }))
  assert.notEqual(digestOf([1, 2]), digestOf([2, 1]))
  assert.notEqual(digestOf({ 'a":1,"b': 1 }), digestOf({ a: 1, b: 1 }))
})
