import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { batchOf, openLogWorld } from '../../testing/sim/logs.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { isRefusal, NOT_LEADER_OR_FOLLOWER, REQUEST_TIMED_OUT, type Refusal } from '../protocol/errors.ts'
import type { Appended } from './lane.ts'

const said = (answer: Appended | Refusal) => (isRefusal(answer) ? answer.name : answer.baseOffset)

/** Two brokers on one store, each with its own view of who leads. */
async function openTwo(t: TestContext) {
  const clock = new SimulatedClock()
  const contents = createMemoryStore(clock)
  const open = async (leadsAtFirst: boolean) => {
    /** `learns`: whether this broker should lead according to the store; null if the store brings no news. */
    const view = { leads: leadsAtFirst, learns: null as boolean | null, isConfirmed: true, looks: 0, epoch: -1 }
    const leadership = {
      leads: () => view.leads,
      get isConfirmed() {
        return view.isConfirmed
      },
      epochOf: () => view.epoch,
      led() {},
      async stillLeads() {
        view.looks++
        if (view.learns !== null && view.learns !== view.leads) {
          view.leads = view.learns
          void world.logs.reassign()
        }
        return view.leads
      },
    }
    const store = contents.beside()
    const world = await openLogWorld(t, { clock, store, leadership, level: 'DEBUG' })
    const append = async () => said(await world.partition('orders').append(batchOf(), 5_000))
    return Object.assign(view, { world, append, store })
  }
  const one = await open(true)
  await one.world.create('orders')
  const two = await open(false)
  return { clock, one, two }
}

test('a partition moves when its leader changes, and both brokers log it', async t => {
  const { one, two } = await openTwo(t)
  const { id } = one.world.catalogue.current().topics.get('orders')!
  assert.equal(await one.append(), 0)
  const before = one.world.partition('orders')
  assert.equal(two.world.logs.partition(id, 0), null)
  one.leads = false
  two.leads = true
  await one.world.logs.reassign()
  await two.world.logs.reassign()
  assert.equal(one.world.logs.partition(id, 0), null)
  assert.equal(before.refusal?.code, NOT_LEADER_OR_FOLLOWER.code)
  assert.equal(said(await before.append(batchOf(), 0)), NOT_LEADER_OR_FOLLOWER.name)
  assert.equal(await two.append(), 1)
  assert.equal(two.world.partition('orders').leaderEpoch, before.leaderEpoch + 1)
  assert.match(one.world.lines.join(''), /leads no more orders-0/)
  assert.match(two.world.lines.join(''), /leads orders-0 \(epoch 2\)/)
  assert.match(
    one.world.lines.join(''),
    /DEBUG svc.log {2}this broker leads no more orders-0 partition=orders-0 epoch=1/,
  )
  assert.match(two.world.lines.join(''), /DEBUG svc.log {2}this broker leads orders-0 partition=orders-0 epoch=2/)
  const counted = [one, two].map(({ world }) => world.metrics.total('svc.cluster.leadership_changes'))
  assert.deepEqual(counted, [1, 1])
})

test('the broker that led last counts the records of an emptied store, although no broker leads any more', async t => {
  const { one, two } = await openTwo(t)
  for (const offset of [0, 1, 2]) assert.equal(await one.append(), offset)
  one.leads = false
  two.leads = true
  await one.world.logs.reassign()
  await two.world.logs.reassign()
  assert.equal(await two.append(), 3)
  one.epoch = two.epoch = two.world.partition('orders').leaderEpoch
  two.leads = false
  await two.world.logs.reassign()
  one.store.faults.empty()
  for (const { world } of [one, two]) await world.catalogue.catchUp()
  const lost = [one, two].map(({ world }) => world.metrics.total('svc.broker.lossy_records'))
  assert.deepEqual(lost, [0, 4])
})

test('a replaced leader appends nothing, looks up the leader, and does not take the lead back', async t => {
  const { clock, one, two } = await openTwo(t)
  assert.equal(await one.append(), 0)
  // The first broker does not know of the change when it is fenced.
  two.leads = true
  one.learns = false
  await two.world.logs.reassign()
  const late = one.append()
  await clock.settle()
  assert.equal(await late, NOT_LEADER_OR_FOLLOWER.name)
  assert.equal(one.looks, 1)
  assert.equal(await two.append(), 1)
  assert.equal(two.looks, 0)
})

test('the right leader takes the lead back from a broker with an old view', async t => {
  const { clock, one, two } = await openTwo(t)
  assert.equal(await one.append(), 0)
  two.leads = true
  two.learns = false
  await two.world.logs.reassign()
  assert.equal(await one.append(), 1)
  const late = two.append()
  await clock.settle()
  assert.equal(await late, NOT_LEADER_OR_FOLLOWER.name)
  assert.equal(await one.append(), 2)
})

test('a leader that may have been replaced neither writes nor reads, and takes no lead', async t => {
  const { clock, one, two } = await openTwo(t)
  assert.equal(await one.append(), 0)
  const partition = one.world.partition('orders')
  one.isConfirmed = false
  assert.equal(await one.append(), NOT_LEADER_OR_FOLLOWER.name)
  assert.equal((partition.read(0, 1000, true) as Refusal).name, NOT_LEADER_OR_FOLLOWER.name)
  assert.equal(partition.checkEpoch(-1)?.name, NOT_LEADER_OR_FOLLOWER.name)

  // A broker that was stopped while it took over continues only when its lead is confirmed again.
  two.isConfirmed = false
  two.leads = true
  await two.world.logs.reassign()
  await clock.advance(10_000)
  assert.equal(two.store.calls.open, 0)
  one.isConfirmed = true
  assert.equal(await one.append(), 1)
  one.leads = false
  await one.world.logs.reassign()
  two.isConfirmed = true
  await clock.advance(10_000)
  assert.equal(await two.append(), 2)
})

test('an append of unknown outcome takes no lead from a new leader, and is in the log at most once', async t => {
  const { clock, one, two } = await openTwo(t)
  one.store.faults.failNext('append', 'unknown-done')
  const release = one.store.faults.hold('open')
  const appending = one.append()
  await clock.settle()
  two.leads = true
  one.learns = false
  await two.world.logs.reassign()
  release()
  await clock.advance(10_000)
  assert.equal(await appending, REQUEST_TIMED_OUT.name)
  assert.equal(two.world.partition('orders').highWatermark, 1)
  assert.equal(await two.append(), 1)
  assert.equal(two.looks, 0)
})
