// Appends that come before the table of their topic was read, on the simulated clock and with a remote tier in memory.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { MemoryTier } from '../../testing/cold-tier.ts'
import { batchOf, type LogWorld, openLogWorld, readAll } from '../../testing/sim/logs.ts'
import { isRefusal, type Refusal } from '../protocol/errors.ts'
import { readRecords } from '../protocol/records.ts'
import type { Appended } from './lane.ts'
import { SOLE_LEADERSHIP } from './leadership.ts'
import type { Partition } from './partition.ts'
import { MOST_WAIT_MS } from './table-wait.ts'

/** Opens a world with a new topic whose table is not read until the test calls `read`. */
async function waitingWorld(t: TestContext, configs: Readonly<Record<string, string>> = {}, partitions = 1) {
  const tier = new MemoryTier()
  const { promise, resolve: read } = Promise.withResolvers<void>()
  tier.tableGate = promise
  const world = await openLogWorld(t, { coldTier: tier, overrides: { 'storage.worker.enabled': false } })
  const { id } = await world.create('orders', { 'remote.storage.enable': 'true', ...configs }, partitions)
  await world.clock.advance(1)
  const orders = world.partition('orders')
  assert.ok(orders.state.hold !== null)
  return { ...world, tier, id, orders, read }
}

/** Sends the record with this sequence number of an idempotent producer. */
function sendTo(partition: Partition, sequence: number): Promise<Appended | Refusal> {
  const records = [{ key: 'k', value: `${sequence}` }]
  return partition.append(batchOf(records, { producerId: 7, producerEpoch: 0, baseSequence: sequence }), 0)
}

const saidBy = (answer: Appended | Refusal) => (isRefusal(answer) ? answer.name : answer.baseOffset)

/** Lists the answers of these appends in the order of their coming. */
function listed(appends: readonly Promise<Appended | Refusal>[]): (string | number)[] {
  const answers: (string | number)[] = []
  for (const append of appends) void append.then(answer => answers.push(saidBy(answer)))
  return answers
}

test('the first append to a topic waits until its table was read', async t => {
  const { orders, clock, read } = await waitingWorld(t)
  const answers = listed([orders.append(batchOf(3), 0)])
  await clock.advance(MOST_WAIT_MS - 1)
  assert.deepEqual(answers, [])
  read()
  await clock.settle()
  assert.deepEqual(answers, [0])
  await clock.advance(60_000)
  assert.equal(saidBy(await orders.append(batchOf(), 0)), 3, 'a wait that has ended has no consequences')
})

test('the first append after a restart waits for the table, and goes above its offsets', async t => {
  const world = await waitingWorld(t)
  world.read()
  await world.clock.settle()
  assert.equal(saidBy(await world.orders.append(batchOf(3), 0)), 0)
  const { promise, resolve: read } = Promise.withResolvers<void>()
  world.tier.tableGate = promise
  const next = await world.restart()
  const answers = listed([next.partition('orders').append(batchOf(), 0)])
  await world.clock.settle()
  assert.deepEqual(answers, [])
  read()
  await world.clock.settle()
  assert.deepEqual(answers, [3])
})

for (const policy of ['delete', 'compact'])
  test(`appends that wait for the table keep their order, and so does one that comes later (${policy})`, async t => {
    const { orders, clock, read } = await waitingWorld(t, { 'cleanup.policy': policy })
    const appends = [0, 1, 2, 3].map(i => sendTo(orders, i))
    await clock.advance(1_000)
    read()
    appends.push(sendTo(orders, 4))
    assert.deepEqual((await Promise.all(appends)).map(saidBy), [0, 1, 2, 3, 4])
    const values: string[] = []
    for (const { bytes } of await readAll(orders)) {
      for (const { value } of await readRecords(bytes)) values.push(String(value))
    }
    assert.deepEqual(values, ['0', '1', '2', '3', '4'])
  })

test('a read of the table that fails refuses the appends that wait for it, and the next ones at once', async t => {
  const { orders, clock, tier, read } = await waitingWorld(t)
  const answers = listed([orders.append(batchOf(), 0), orders.append(batchOf(), 0)])
  await clock.advance(1_000)
  assert.deepEqual(answers, [])
  tier.trouble = { kind: 'away', why: 'no answer' }
  read()
  await clock.settle()
  assert.deepEqual(answers, ['KAFKA_STORAGE_ERROR', 'KAFKA_STORAGE_ERROR'])
  assert.equal(saidBy(await orders.append(batchOf(), 0)), 'KAFKA_STORAGE_ERROR')
  tier.trouble = null
  await clock.advance(1_000)
  assert.equal(saidBy(await orders.append(batchOf(), 0)), 0)
})

test('a read of the table that hangs refuses appends after the longest wait, and later ones do not wait', async t => {
  const { orders, clock, read } = await waitingWorld(t)
  const first = orders.append(batchOf(), 0)
  const answers = listed([first])
  await clock.advance(MOST_WAIT_MS - 1)
  answers.push('and')
  await clock.advance(1)
  assert.deepEqual(answers, ['and', 'KAFKA_STORAGE_ERROR'])
  const refusal = await first
  assert.match(isRefusal(refusal) ? refusal.message : '', /orders-0 takes no records until .* it is being read/)
  assert.equal(saidBy(await orders.append(batchOf(), 0)), 'KAFKA_STORAGE_ERROR')
  read()
  await clock.settle()
  assert.equal(saidBy(await orders.append(batchOf(), 0)), 0)
})

test('batches of an idempotent producer that waited in vain are appended in order when they are sent again', async t => {
  const { orders, clock, read } = await waitingWorld(t)
  const answers = listed([0, 1, 2, 3].map(i => sendTo(orders, i)))
  await clock.advance(MOST_WAIT_MS)
  assert.deepEqual(answers, Array(4).fill('KAFKA_STORAGE_ERROR'))
  read()
  await clock.settle()
  assert.equal(saidBy(await sendTo(orders, 4)), 'OUT_OF_ORDER_SEQUENCE_NUMBER')
  assert.deepEqual((await Promise.all([0, 1, 2, 3, 4].map(i => sendTo(orders, i)))).map(saidBy), [0, 1, 2, 3, 4])
})

test('an append waits no longer for the table than its request', async t => {
  const { orders, clock, read } = await waitingWorld(t)
  const answers = listed([orders.append(batchOf(), 500), orders.append(batchOf(), 0, 700), orders.append(batchOf(), 0)])
  await clock.advance(500)
  assert.deepEqual(answers, ['KAFKA_STORAGE_ERROR'])
  await clock.advance(200)
  assert.deepEqual(answers, ['KAFKA_STORAGE_ERROR', 'KAFKA_STORAGE_ERROR'])
  read()
  await clock.settle()
  assert.deepEqual(answers.slice(2), [0])
})

test('a broker that closes, and a topic that is deleted, end the wait for the table', async t => {
  for (const [end, name] of [
    [({ logs }: LogWorld) => logs.close(), 'NOT_LEADER_OR_FOLLOWER'],
    [({ catalogue }: LogWorld, id: string) => catalogue.remove([id]), 'UNKNOWN_TOPIC_OR_PARTITION'],
  ] as const) {
    const world = await waitingWorld(t)
    const answers = listed([world.orders.append(batchOf(), 0), world.orders.append(batchOf(), 0)])
    await world.clock.settle()
    await end(world, world.id)
    await world.clock.settle()
    assert.deepEqual(answers, [name, name])
    world.read()
    await world.clock.advance(10_000)
    assert.equal(world.orders.endOffset, 0)
  }
})

test('a partition that this broker no longer leads ends the wait for the table', async t => {
  const tier = new MemoryTier()
  tier.tableGate = new Promise(() => {})
  let leads = true
  const leadership = { ...SOLE_LEADERSHIP, leads: () => leads }
  const world = await openLogWorld(t, { coldTier: tier, leadership })
  await world.create('orders', { 'remote.storage.enable': 'true' })
  const answers = listed([world.partition('orders').append(batchOf(), 0)])
  await world.clock.settle()
  assert.deepEqual(answers, [])
  leads = false
  await world.logs.reassign()
  assert.deepEqual(answers, ['NOT_LEADER_OR_FOLLOWER'])
})

test('the partitions of a topic take the table over side by side, but not too many at one time', async t => {
  for (const [partitions, atOnce] of [
    [4, 4],
    [300, 256],
  ] as const) {
    const { clock, store, logs, id, read } = await waitingWorld(t, {}, partitions)
    const before = store.calls.commit
    const release = store.faults.hold('commit')
    read()
    await clock.settle()
    assert.equal(store.calls.commit - before, atOnce)
    release()
    await clock.settle()
    for (let index = 0; index < partitions; index++) assert.equal(logs.partition(id, index)?.state.hold, null)
  }
})

test('partitions that are opened while the table is read get the next read without a pause', async t => {
  const { clock, catalogue, logs, id, read } = await waitingWorld(t)
  await catalogue.change([id], () => ({ partitions: 2 }))
  const answers = listed([0, 1].map(index => logs.partition(id, index)!.append(batchOf(), 0)))
  await clock.settle()
  assert.deepEqual(answers, [])
  read()
  await clock.settle()
  assert.deepEqual(answers, [0, 0])
})
