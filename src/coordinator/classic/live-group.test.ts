import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { fc } from '../../../testing/property.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { refusalIn } from '../../../testing/sim/groups.ts'
import { createMemoryStore, type StoreFault } from '../../../testing/sim/memory-store.ts'
import { GROUP_ID_NOT_FOUND } from '../../protocol/errors.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { openDeliveries } from '../deliveries.ts'
import { replaceStoredOffsets } from '../offsets/stored-offsets.ts'
import { classicMachine } from './classic-machine.ts'
import type { GroupRules } from './group.ts'
import { type GroupSurroundings, LiveGroup } from './live-group.ts'
import type { JoinRequest } from './requests.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const TOPIC = 'AAAAAAAAAAAAAAAAAAAAAQ'

function surround(told: { vacant: number; failed: string[] } = { vacant: 0, failed: [] }) {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  const rules: GroupRules = {
    firstJoinDelayMs: 3_000,
    minSessionTimeoutMs: 6_000,
    maxSessionTimeoutMs: 60_000,
    maxSize: 10,
    leftBytes: 1e9,
  }
  const around: GroupSurroundings = {
    machine: classicMachine(rules),
    rules,
    store,
    isShared: false,
    clock,
    logger: createLogger({ clock, write: () => {}, format: 'plain' }),
    held: () => {},
    kept: () => {},
    keptLeftBytes: Number.POSITIVE_INFINITY,
    offsetsRetentionMs: 7 * 24 * 3_600_000,
    deliveries: openDeliveries(100, clock),
    unreadable: () => {},
    catalogue: () => ({ topics: new Map(), topicsById: new Map(), unreadable: new Map() }),
    rebalanced: () => {},
    failed: errorType => told.failed.push(errorType),
    vacant: () => {
      told.vacant++
    },
  }
  return { clock, store, around, told }
}

const joining: JoinRequest = {
  groupId: 'g',
  memberId: '',
  instanceId: null,
  clientId: 'app',
  clientHost: 'host',
  sessionTimeoutMs: 6_000,
  rebalanceTimeoutMs: 6_000,
  protocolType: 'consumer',
  protocols: [{ name: 'range', metadata: Buffer.alloc(0) }],
  reason: null,
  memberIdRequired: true,
  canSkipAssignment: true,
}

const commit = async (group: LiveGroup, offset: number, generation = -1) =>
  refusalIn(
    await group.commitOffsets(
      { memberId: generation < 0 ? '' : 'm', instanceId: null, generation },
      [{ topicId: TOPIC, partition: 0, offset, leaderEpoch: 0, metadata: '', retentionMs: -1 }],
      GROUP_ID_NOT_FOUND,
    ),
  )

/** Resolves to the committed offset, or to the name of the refusal. */
async function fetch(group: LiveGroup): Promise<number | string> {
  const found = await group.readOffsets(offsets => ({ offset: offsets.get(TOPIC)?.get(0)?.offset ?? -1 }))
  return 'kind' in found ? found.name : found.offset
}

test('a group that no client uses leaves nothing in memory, after any request', async () => {
  const { clock, around, told } = surround()
  const group = new LiveGroup('g', null, around)
  await group.join({ ...joining, memberId: 'stranger' }, '')
  await group.leave([{ memberId: 'stranger', instanceId: null, reason: null }])
  assert.equal((await commit(group, 1, 7))?.name, 'GROUP_ID_NOT_FOUND')
  await fetch(group)
  assert.equal(told.vacant, 4)
  await group.join(joining, 'promised')
  assert.equal(told.vacant, 4, 'a promise is kept')
  await clock.advance(6_000)
  assert.equal(told.vacant, 5)
  assert.equal((await around.store.list('group')).length, 0)
})

test('a group with committed offsets stays in memory', async () => {
  const { around, told } = surround()
  const group = new LiveGroup('g', null, around)
  await commit(group, 1)
  assert.equal(await fetch(group), 1)
  assert.equal(told.vacant, 0)
})

test('requests that wait for others keep copies of their fields, and not their frames', async () => {
  const { clock, around } = surround()
  const group = new LiveGroup('g', null, around)
  const frames: WeakRef<ArrayBufferLike>[] = []
  const frameOf = (length: number) => {
    const frame = Buffer.alloc(length)
    frames.push(new WeakRef(frame.buffer))
    return frame
  }
  const enter = async (id: string) => {
    await group.join(joining, id)
    const protocols = [{ name: 'range', metadata: frameOf(100_000).subarray(10) }]
    return { joined: group.join({ ...joining, memberId: id, protocols }, '') }
  }
  const [first, second] = [await enter('a'), await enter('b')]
  const areFree = async () => {
    await new Promise(resolve => setImmediate(resolve))
    collect()
    return frames.every(frame => frame.deref() === undefined)
  }
  assert(await areFree(), 'joins that wait for a rebalance hold no frame')
  await clock.advance(3_000)
  const { generation } = await first.joined
  assert.equal((await second.joined).leader, 'a')
  const follow = () => {
    const assignments = [{ memberId: 'a', assignment: frameOf(100_000).subarray(10) }]
    const protocol = { protocolType: null, protocolName: null }
    return group.sync({ groupId: 'g', generation, memberId: 'b', instanceId: null, ...protocol, assignments })
  }
  const synced = follow()
  assert(await areFree(), 'a sync that waits for the leader holds no frame')
  group.drain()
  assert.equal((await synced).error?.name, 'NOT_COORDINATOR')
})

test('each failed commit is counted by its kind', async () => {
  const { clock, store, around, told } = surround()
  const group = new LiveGroup('g', null, around)
  for (const fault of ['unavailable', 'unknown-done', 'unknown-lost'] as const) {
    store.faults.failNext('commit', fault)
    await commit(group, 1)
    await clock.settle()
  }
  await store.commit({ kind: 'group', name: 'g', expect: (await store.load('group', 'g'))!.version, changes: [] })
  await commit(group, 2)
  assert.deepEqual(told.failed, ['store-unavailable', 'outcome-unknown', 'outcome-unknown', 'conflict'])
})

test('a group that the store has lost is stored again as it is in memory, offsets and members', async () => {
  const { clock, store, around, told } = surround()
  const lines: string[] = []
  const logger = createLogger({ clock, write: line => lines.push(line), format: 'plain' })
  for (const isShared of [false, true]) {
    const group = new LiveGroup('g', await store.load('group', 'g'), { ...around, isShared, logger })
    await commit(group, 5)
    store.faults.loseDocument('group', 'g')
    if (isShared) assert.equal(await fetch(group), 5)
    else assert.equal(await commit(group, 5), null)
    assert.equal(await fetch(new LiveGroup('g', await store.load('group', 'g'), around)), 5)
    assert.equal(await commit(group, 6), null)
    assert.equal(await fetch(new LiveGroup('g', await store.load('group', 'g'), around)), 6)
    store.faults.loseDocument('group', 'g')
    assert.equal(await group.remove(), null)
    assert.deepEqual([await store.load('group', 'g'), await store.list('group')], [null, []])
  }
  assert.equal(
    told.failed.every(kind => kind === 'lost'),
    true,
  )
  assert.match(lines.join(''), /WARN .*the store has lost this group: this broker stores its own copy again group=g/)
})

test('a group that was removed through another broker begins anew, and a log line says that it is gone', async () => {
  const { clock, store, around } = surround()
  const lines: string[] = []
  const logger = createLogger({ clock, write: line => lines.push(line), format: 'plain' })
  const group = new LiveGroup('g', null, { ...around, isShared: true, logger })
  await commit(group, 5)
  const { version } = (await store.load('group', 'g'))!
  await store.commit({ kind: 'group', name: 'g', expect: version, changes: [], remove: true })
  assert.equal(await fetch(group), 'NOT_COORDINATOR')
  await clock.settle()
  assert.equal(await fetch(group), -1)
  assert.equal(
    lines.filter(line => /WARN .*this group is gone from the store: it begins again, empty/.test(line)).length,
    1,
  )
})

test('a change of an operator through another broker is loaded with an INFO line, and is not a failure', async () => {
  const { clock, store, around, told } = surround()
  const lines: string[] = []
  const logger = createLogger({ clock, write: line => lines.push(line), format: 'plain' })
  const group = new LiveGroup('g', null, { ...around, isShared: true, logger })
  await commit(group, 5)
  const replacement = { topicId: TOPIC, partition: 0, isExpected: () => true, offset: 3 }
  assert.equal(await replaceStoredOffsets(store, 'g', [replacement], clock.now()), null)
  assert.equal(await fetch(group), 'NOT_COORDINATOR')
  await clock.settle()
  assert.equal(await fetch(group), 3)
  assert.equal(lines.length, 1)
  assert.match(lines[0]!, / INFO .*another coordinator has written this group, it is loaded again/)
  assert.deepEqual(told.failed, [])
})

const steps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant('commit' as const), burst: fc.integer({ min: 1, max: 4 }) }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('fetch' as const) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('fault' as const),
        verb: fc.constantFrom('commit' as const, 'load' as const),
        fault: fc.constantFrom<StoreFault>('unavailable', 'unknown-done', 'unknown-lost'),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('rival' as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const) }) },
  ),
  { maxLength: 30 },
)

test('no acknowledged offset is lost or goes back, whatever the store and rivals do', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async plan => {
      const { clock, store: first, around: base } = surround()
      let store = first
      let around = base
      let group = new LiveGroup('g', null, around)
      let attempted = -1
      let acknowledged = -1
      // A coordinator learns from its next commit that it was deposed. Until then it may read old offsets. The lead
      // decides which broker may be asked, and one broker always has the lead.
      let deposed = false
      const look = async () => {
        const found = await fetch(group)
        if (typeof found === 'string') {
          assert.match(found, /^(COORDINATOR_LOAD_IN_PROGRESS|NOT_COORDINATOR)$/)
          return
        }
        assert(found >= acknowledged, `${acknowledged} was acknowledged, ${found} is there`)
        assert(found <= attempted)
      }
      for (const step of plan) {
        if (step.kind === 'commit') {
          // The commits are pipelined, as from one client that does not wait. The highest acknowledged offset counts.
          const burst = Array.from({ length: step.burst }, () => ++attempted)
          deposed = false
          const answers = await Promise.all(burst.map(offset => commit(group, offset)))
          answers.forEach((refusal, index) => {
            if (refusal === null) acknowledged = burst[index]!
          })
        } else if (step.kind === 'fetch') {
          if (!deposed) await look()
        } else if (step.kind === 'fault') {
          store.faults.failNext(step.verb, step.fault)
        } else if (step.kind === 'rival') {
          const document = await store.load('group', 'g').catch(() => null)
          const rival = new LiveGroup('g', document, around)
          if ((await commit(rival, ++attempted)) === null) acknowledged = attempted
          await rival.close()
          deposed = true
        } else {
          await group.close()
          store = store.reopen()
          around = { ...around, store }
          group = new LiveGroup('g', await store.load('group', 'g'), around)
          deposed = false
        }
      }
      // Without further faults the group returns to its stored state, and continues.
      await clock.advance(10_000)
      store = store.reopen()
      group = new LiveGroup('g', await store.load('group', 'g'), { ...around, store })
      await look()
      assert.equal(await commit(group, ++attempted), null)
      assert.equal(await fetch(group), attempted)
    }),
    { numRuns: 150 },
  )
})
