import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { batchOf, openLogWorld } from '../../../testing/sim/logs.ts'
import { reachIn } from '../../../testing/sim/reach.ts'
import { isRefusal } from '../../protocol/errors.ts'
import { HEARTBEAT_MS, MOST_BEHIND, tailRecords } from './tail.ts'

async function openTail(t: TestContext, configs: Readonly<Record<string, string>> = {}) {
  const world = await openLogWorld(t)
  await world.create('t', configs, 2)
  const ending = new AbortController()
  const request = {
    partition: null,
    cursor: null,
    contains: null,
    decode: 'utf8',
    keyDecode: 'utf8',
    previewBytes: 100,
  } as const
  const events = await tailRecords(reachIn(world), 't', request, ending.signal)
  assert.ok(!isRefusal(events))
  assert.equal((await events.next()).value!.kind, 'begun')
  /** Resolves to the next event, and lets time pass until it arrives. */
  const next = async () => {
    const coming = events.next()
    let isThere = false
    void coming.finally(() => {
      isThere = true
    })
    for (await world.clock.settle(); !isThere; ) await world.clock.advance(100)
    return (await coming).value ?? null
  }
  const append = async (index: number, records: number) => {
    const appending = world.partition('t', index).append(batchOf(records), 0)
    await world.clock.settle()
    assert.ok(!isRefusal(await appending))
  }
  return { world, events, next, append, ending }
}

test('a reader that is too slow gets the number of skipped records, and continues near the end', async t => {
  const { next, append } = await openTail(t)
  await append(0, 3)
  const first = await next()
  assert.ok(first?.kind === 'records' && first.records.length === 3)
  // The reader asks for no event meanwhile.
  for (let i = 0; i < 4; i++) await append(i % 2, MOST_BEHIND / 2)
  const dropped = await next()
  assert.ok(dropped?.kind === 'dropped' && dropped.count !== null)
  let seen = 0
  for (let event = await next(); event?.kind === 'records'; event = await next()) {
    seen += event.records.length
    if (event.records.some(({ partition, offset }) => partition === 1 && offset === MOST_BEHIND - 1)) break
  }
  assert.equal(dropped.count + seen, 2 * MOST_BEHIND)
  assert.equal(seen, 200)
})

test('if offsets follow the clock, gaps do not count as dropped, and dropped records have no count', async t => {
  const { world, next, append } = await openTail(t, { 'offset.sequence.bits': '11' })
  await append(0, 1)
  await world.clock.advance(60_000)
  await append(0, 1)
  const event = await next()
  assert.ok(event?.kind === 'records' && event.records.length === 2)
  for (let i = 0; i < 3; i++) await append(0, MOST_BEHIND / 2)
  let seen = 0
  let last = await next()
  for (; last?.kind === 'records'; last = await next()) seen += last.records.length
  assert.ok(seen >= MOST_BEHIND / 2 && seen <= MOST_BEHIND, `${seen}`)
  assert.ok(last?.kind === 'dropped' && last.count === null)
})

test('a tail of a quiet topic sends heartbeats', async t => {
  const { world, next, append } = await openTail(t)
  const begunAtMs = world.clock.monotonic()
  assert.equal((await next())?.kind, 'heartbeat')
  assert.ok(world.clock.monotonic() - begunAtMs >= HEARTBEAT_MS)
  await append(1, 1)
  assert.equal((await next())?.kind, 'records')
})

test('a tail follows partitions that are added while it runs, and ends when its signal is aborted', async t => {
  const { world, events, next, append, ending } = await openTail(t)
  await world.catalogue.change([world.catalogue.current().topics.get('t')!.id], () => ({ partitions: 3 }))
  await append(2, 1)
  const event = await next()
  assert.ok(event?.kind === 'records' && event.records[0]!.partition === 2)
  const last = events.next()
  await world.clock.settle()
  ending.abort()
  assert.equal((await last).done, true)
})

test('a tail that continues while a partition cannot be reached continues there at its old position later', async t => {
  const world = await openLogWorld(t)
  await world.create('t', {}, 2)
  const append = async (index: number, value: string) => {
    const appending = world.partition('t', index).append(batchOf([{ value }]), 0)
    await world.clock.settle()
    assert.ok(!isRefusal(await appending))
  }
  await append(1, 'seen')
  let isAway = false
  const rooms = reachIn(world, partition => isAway && partition === 1)
  const ending = new AbortController()
  const shown = { decode: 'utf8', keyDecode: 'utf8', previewBytes: 100, contains: null, partition: null } as const
  const tail = async (cursor: string | null) => {
    const events = await tailRecords(rooms, 't', { ...shown, cursor }, ending.signal)
    assert.ok(!isRefusal(events))
    const { value: begun } = await events.next()
    assert.ok(begun?.kind === 'begun')
    return { events, cursor: begun.cursor }
  }
  const { cursor } = await tail(null)
  await append(0, 'first')
  await append(1, 'second')
  isAway = true
  const { events } = await tail(cursor)
  const seen: (string | null | undefined)[] = []
  while (seen.length < 2) {
    const coming = events.next()
    for (let isThere = false; !isThere; await world.clock.advance(100)) {
      void coming.then(() => {
        isThere = true
      })
      await world.clock.settle()
    }
    const event = (await coming).value!
    assert.ok(event.kind === 'records', event.kind)
    seen.push(...event.records.map(({ value }) => value?.text))
    isAway = false
  }
  assert.deepEqual(seen, ['first', 'second'])
})
