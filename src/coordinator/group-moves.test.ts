import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { claim, openGroupWorld, refusalIn, stable, TOPIC, watch } from '../../testing/sim/groups.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { ILLEGAL_GENERATION, isRefusal, type Refusal } from '../protocol/errors.ts'
import type { CommittedOffset } from './offsets/offset-record.ts'
import type { ReplaceOutcome } from './offsets/offset-replacement.ts'
import { loadOffsets, replaceStoredOffsets } from './offsets/stored-offsets.ts'

/** Opens two coordinators on one store. The test sets whether each of them believes that it coordinates the group. */
async function openTwo(t: TestContext) {
  const clock = new SimulatedClock()
  const contents = createMemoryStore(clock)
  const open = async (coordinatesAtFirst: boolean) => {
    const view = { coordinates: coordinatesAtFirst, isConfirmed: true }
    const coordination = {
      isShared: true,
      coordinates: () => view.coordinates,
      get isConfirmed() {
        return view.isConfirmed
      },
    }
    const world = await openGroupWorld(t, clock, contents.beside(), {}, undefined, coordination)
    const commit = async (offset: number) => {
      const offsets = [{ topicId: TOPIC, partition: 0, offset, leaderEpoch: -1, metadata: '', retentionMs: -1 }]
      const missing = ILLEGAL_GENERATION
      const request = { groupId: 'g', memberId: '', instanceId: null, generation: -1, offsets, missing }
      return nameOf(refusalIn(await world.groups.commitOffsets(request)))
    }
    const fetch = async () => {
      const { error, topics } = await world.groups.fetchOffsets({ groupId: 'g', topics: null })
      return nameOf(error) ?? topics[0]?.offsets[0]?.offset ?? null
    }
    return Object.assign(view, { world, store: world.store, commit, fetch })
  }
  return { clock, one: await open(true), two: await open(false) }
}

const nameOf = (refusal: Refusal | null) => refusal?.name ?? null

test('a group that moves keeps its members, and they are told to look for its coordinator', async t => {
  const { one, two } = await openTwo(t)
  const members = await stable(one.world, 2)
  const ours = claim(members[0]!)
  assert.equal(one.world.groups.heartbeat('g', ours), null)
  assert.equal(nameOf(two.world.groups.heartbeat('g', ours)), 'NOT_COORDINATOR')
  one.coordinates = false
  two.coordinates = true
  await one.world.groups.reassign()
  await two.world.groups.reassign()
  assert.equal(nameOf(one.world.groups.heartbeat('g', ours)), 'NOT_COORDINATOR')
  for (const member of members) assert.equal(two.world.groups.heartbeat('g', claim(member)), null)
  const left = await one.world.groups.describe('g')
  assert.equal(isRefusal(left) && left.name, 'NOT_COORDINATOR')
  const found = await two.world.groups.describe('g')
  assert.equal(!isRefusal(found) && found.members.length, 2)
})

test('a coordinator that was replaced without its knowledge can no longer commit', async t => {
  const { clock, one, two } = await openTwo(t)
  assert.equal(await one.commit(5), null)
  two.coordinates = true
  await two.world.groups.reassign()
  assert.equal(await two.fetch(), 5)
  // The version has risen although nothing was changed.
  assert.equal(await one.commit(6), 'NOT_COORDINATOR')
  await clock.settle()
  assert.equal(await two.fetch(), 5)
  assert.equal(await two.commit(7), null)
  assert.equal(await two.fetch(), 7)
})

test('a coordinator that was replaced without its knowledge returns no outdated offsets', async t => {
  const { clock, one, two } = await openTwo(t)
  assert.equal(await one.commit(5), null)
  two.coordinates = true
  await two.world.groups.reassign()
  // Both believe that they coordinate the group. The first does not know that it has lost the group.
  assert.equal(await one.commit(6), 'NOT_COORDINATOR')
  await clock.settle()
  assert.equal(await one.commit(7), null)
  assert.equal(await two.fetch(), 'NOT_COORDINATOR')
  await clock.settle()
  assert.equal(await two.fetch(), 7)
  assert.equal(await one.fetch(), 7)
})

test('a read of offsets does not take a commit of the same coordinator for a commit of another one', async t => {
  const { one } = await openTwo(t)
  assert.equal(await one.commit(5), null)
  const commits = [6, 7, 8].map(one.commit)
  assert.equal(await one.fetch(), 8)
  assert.deepEqual(await Promise.all(commits), [null, null, null])
})

test('offsets are not read while the store does not return the version of the group', async t => {
  const { one } = await openTwo(t)
  assert.equal(await one.commit(5), null)
  one.store.faults.failNext('version', 'unavailable')
  assert.equal(await one.fetch(), 'COORDINATOR_LOAD_IN_PROGRESS')
  assert.equal(await one.fetch(), 5)
})

test('a coordinator that is not confirmed refuses all requests and forgets nothing', async t => {
  const { one } = await openTwo(t)
  assert.equal(await one.commit(5), null)
  one.isConfirmed = false
  await one.world.groups.reassign()
  assert.deepEqual([await one.commit(6), await one.fetch()], ['NOT_COORDINATOR', 'NOT_COORDINATOR'])
  one.isConfirmed = true
  assert.equal(await one.fetch(), 5)
})

test('requests to groups that are being loaded get COORDINATOR_LOAD_IN_PROGRESS, until the store is back', async t => {
  const { clock, one, two } = await openTwo(t)
  assert.equal(await one.commit(5), null)
  one.coordinates = false
  two.coordinates = true
  two.store.faults.failNext('list', 'unavailable')
  const loading = watch(two.world.groups.reassign().then(() => true))
  await clock.settle()
  assert.equal(await two.commit(6), 'COORDINATOR_LOAD_IN_PROGRESS')
  assert.equal(await two.fetch(), 'COORDINATOR_LOAD_IN_PROGRESS')
  await clock.advance(2_000)
  assert.equal(loading.got(), true)
  assert.equal(await two.fetch(), 5)
})

test('a group that the previous coordinator has just created is found by a read of its offsets', async t => {
  const { one, two } = await openTwo(t)
  two.coordinates = true
  await two.world.groups.reassign()
  assert.equal(await one.commit(5), null)
  assert.equal(await two.fetch(), 5)
  assert.equal(await one.commit(6), 'NOT_COORDINATOR')
})

test('after another broker has replaced offsets, the coordinator returns the new offsets', async t => {
  const { clock, one, two } = await openTwo(t)
  const replace = (shown: number, offset: number | null, at = two) => {
    const isExpected = (committed: CommittedOffset | null) => committed?.offset === shown
    const replacements = [{ topicId: TOPIC, partition: 0, offset, isExpected }]
    return at === one
      ? one.world.groups.replaceOffsets('g', replacements)
      : replaceStoredOffsets(two.store, 'g', replacements, clock.now())
  }
  const outcomeOf = async (outcome: Promise<ReplaceOutcome>) => {
    const got = await outcome
    return typeof got === 'string' ? got : nameOf(got)
  }
  for (const at of [one, two]) assert.equal(await outcomeOf(replace(1, 5, at)), 'GROUP_ID_NOT_FOUND')
  assert.equal(await one.commit(1), null)
  for (const at of [one, two]) assert.equal(await outcomeOf(replace(2, 5, at)), 'changed')
  assert.equal(await outcomeOf(replace(1, 5)), null)
  assert.equal(await one.fetch(), 'NOT_COORDINATOR', 'it sees that somebody else has written')
  await clock.settle()
  assert.equal(await one.fetch(), 5)
  assert.equal(await outcomeOf(replace(5, 6, one)), null)
  assert.equal(await one.fetch(), 6)
  assert.equal((await loadOffsets(two.store, 'g')).get(TOPIC)!.get(0)!.offset, 6)

  await stable(one.world, 1)
  for (const at of [one, two]) assert.equal(await outcomeOf(replace(6, null, at)), 'NON_EMPTY_GROUP')
  assert.equal(await one.fetch(), 6)
})
