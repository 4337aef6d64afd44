// The commit of a round: unknown outcomes, former holders, lost leases, and ranges that others put in between. Each
// segment must be in the table once.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { faultyObjects } from '../../../testing/faulty-objects.ts'
import { withHooks } from '../../../testing/memory-objects.ts'
import {
  assertArchived,
  filesIn,
  newHolder,
  offloadWorld,
  readTable,
  SEALED_AT,
  sealed,
  sourceOf,
} from '../../../testing/offloading.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { systemClock } from '../../base/clock.ts'
import { patience } from '../../base/patience.ts'
import { seededRandom } from '../../base/random.ts'
import { DAY_MS } from '../columns/data-file.ts'
import { commit } from '../iceberg/commit.ts'
import { Fenced, takeFence } from '../iceberg/fence.ts'
import { addRange, moveLogStart, readArchived, writeArchived } from '../iceberg/ranges.ts'
import { type OffloadSettings, offloadTopic } from './pipeline.ts'

const SETTINGS: OffloadSettings = {
  ...{ rowGroupBytes: 1e6, targetFileBytes: 1e6, threads: 2 },
  ...{ batchBytes: 'when-needed', verify: 'full' },
}

test('a commit whose outcome stays unknown leaves its jobs running, and the next round finds it in the ranges', async t => {
  for (const arrives of ['before', 'after', 'never'] as const) {
    const { clock, memory, open, audit } = offloadWorld(t)
    const all = [sealed(0, 0, 5), sealed(0, 15, 5)]
    const faulty = faultyObjects(memory, { clock, random: seededRandom(1) })
    const stop = new AbortController()
    const until = patience(clock, Number.POSITIVE_INFINITY, stop.signal)
    const holder = await open(faulty)
    Object.assign(holder.deps, { patience: until })
    // The broker stops to wait while the create is on its way.
    const objects = withHooks(faulty, {
      before({ verb }) {
        if (verb !== 'create') return
        faulty.faults = { lateCreate: 1 }
        stop.abort()
      },
    })
    holder.table = { ...holder.table, objects }
    const outcomes = await holder.round(all)
    for (const outcome of outcomes.values()) assert.equal(outcome.kind, 'unknown')
    assert.deepEqual(
      (await holder.jobs()).map(({ status, attempts }) => [status, attempts]),
      Array(2).fill(['running', 1]),
    )
    faulty.faults = {}
    if (arrives === 'before') await faulty.doLate()
    const next = await open()
    if (arrives === 'after') await faulty.doLate()
    await next.round(all)
    if (arrives === 'after') await faulty.doLate()
    await next.round(all)
    for (const job of await next.jobs()) assert.equal(job.status, 'done', arrives)
    await assertArchived(next.table, all, arrives)
    await audit(Number.POSITIVE_INFINITY)
  }
})

test('a range that arrives while files are made settles its jobs, and the other files go', async t => {
  const { memory, open, audit, encoders, clock, store } = offloadWorld(t)
  const all = [sealed(0, 0, 5), sealed(0, 15, 5), sealed(1, 0, 5)]
  const holder = await open()
  // A late commit of the same fence: only the ranges can tell.
  const rival = await newHolder({ objects: memory, store: createMemoryStore(systemClock), encoders, clock })
  Object.assign(holder.deps, { fence: rival.deps.fence })
  assert.ok(store !== null)
  const source = sourceOf(all, async (partition, batch) => {
    if (partition === 1 && batch === all[2]!.batches[0]) await rival.round([all[0]!])
  })
  const outcomes = await offloadTopic(
    holder.deps,
    holder.table,
    all.map(({ segment }) => ({ ...jobOf(), ...segment })),
    source,
  )
  const kinds = new Map([...outcomes.outcomes].map(([id, { kind }]) => [id.slice(id.indexOf(':') + 1), kind]))
  assert.deepEqual(Object.fromEntries(kinds), { '0:0': 'done', '0:15': 'notSpent', '1:0': 'done' })
  await assertArchived(outcomes.table, [all[0]!, all[2]!])
  await audit(Number.POSITIVE_INFINITY)
})

const RUNNING = { status: 'running', isSuspended: false, attempts: 1, maxAttempts: 3, fence: 1 } as const
const jobOf = () => ({
  ...{ topicId: 'AAAAAAAAAAAAAAAAAAAAAQ', topicName: 'orders', ...RUNNING },
  ...{ createdAtMs: SEALED_AT, startedAtMs: SEALED_AT, tookMs: null, failure: null },
})

test('a holder that was stopped between upload and commit is refused, and its file becomes an orphan', async t => {
  const { memory, open, audit } = offloadWorld(t)
  const all = [sealed(0, 0, 5)]
  const former = await open()
  let holder = former
  const source = sourceOf(all, async (_partition, batch) => {
    if (batch !== all[0]!.batches[4]) return
    holder = await open()
    await holder.round(all)
  })
  await assert.rejects(
    former.round(all, source),
    (error: unknown) => error instanceof Fenced || /by the holder/.test(String(error)),
  )
  await assertArchived(holder.table, all)
  assert.equal(filesIn(memory).length, 2)
  await audit(Number.POSITIVE_INFINITY)
})

test('without the lease nothing is committed, and no attempt is spent', async t => {
  const { open } = offloadWorld(t)
  const all = [sealed(0, 0, 5)]
  const holder = await open(undefined, {
    confirm() {
      throw new Error('broker 2 has taken it over')
    },
  })
  const { version } = holder.table
  await assert.rejects(holder.round(all), /the lease is not confirmed: broker 2 has taken it over/)
  assert.equal(holder.table.version, version)
  const [job] = await holder.jobs()
  assert.deepEqual([job!.status, job!.attempts], ['pending', 0])
})

test('a file that was made more than twelve hours ago is made again', async t => {
  const { clock, memory, open, audit } = offloadWorld(t, 1)
  const all = [sealed(0, 0, 5), sealed(1, 0, 5), sealed(2, 0, 5)]
  let isSlow = true
  const objects = withHooks(memory, {
    before({ verb, key }) {
      if (verb === 'stat' && /partition=0.*parquet$/.test(key) && isSlow) clock.atMs += DAY_MS / 2 + 1
    },
  })
  const holder = await open(objects, { settings: { ...SETTINGS, threads: 1 } })
  await holder.round(all)
  isSlow = false
  // Two were begun before the clock moved, and the third one afterwards.
  assert.deepEqual(
    (await holder.jobs()).map(({ status, attempts }) => [status, attempts]),
    [
      ['pending', 0],
      ['pending', 0],
      ['done', 1],
    ],
  )
  await holder.round(all)
  await assertArchived(holder.table, all)
  assert.equal(filesIn(memory).length, 5)
  await audit(Number.POSITIVE_INFINITY)
})

test('a segment that the log start cuts is archived from there on, and one below it is done', async t => {
  const { open, audit } = offloadWorld(t)
  const all = [sealed(0, 0, 5), sealed(0, 15, 5), sealed(0, 30, 5)]
  const holder = await open()
  const properties = () => writeArchived(moveLogStart(readArchived({}), 0, 20))
  holder.table = (await commit(holder.table, { properties }, () => {}, holder.deps)).table
  await holder.round(all)
  assert.deepEqual(readArchived(holder.table.metadata.properties).ranges.get(0), [[20, 45]])
  assert.deepEqual(
    (await holder.jobs()).map(({ base, status }) => [base, status]),
    [
      [15, 'done'],
      [30, 'done'],
    ],
  )
  await assertArchived(holder.table, all.slice(1))
  await audit()
})

test('a holder that stops reads nothing more, and spends no attempt', async t => {
  const { clock, open } = offloadWorld(t, 1)
  const all = [sealed(0, 0, 5), sealed(1, 0, 5)]
  const stop = new AbortController()
  const holder = await open(undefined, { settings: { ...SETTINGS, threads: 1 } })
  Object.assign(holder.deps, { patience: patience(clock, Number.POSITIVE_INFINITY, stop.signal) })
  let read = 0
  const outcomes = await holder.round(
    all,
    sourceOf(all, () => {
      read++
      stop.abort()
    }),
  )
  assert.ok(read <= 2, `${read} batches`)
  for (const outcome of outcomes.values()) assert.equal(outcome.kind, 'notSpent')
})

test('threads that were closed spend no attempt', async t => {
  const { encoders, open } = offloadWorld(t, 1)
  const all = [sealed(0, 0, 5), sealed(0, 15, 5)]
  const holder = await open()
  const closing = sourceOf(all, () => encoders.close())
  await holder.round(all, closing)
  for (const job of await holder.jobs()) assert.deepEqual([job.status, job.attempts], ['pending', 0])
})

test('a segment that the table has in part fails before anything is written', async t => {
  const { memory, open } = offloadWorld(t)
  const all = [sealed(0, 0, 5)]
  const holder = await open()
  const properties = () => writeArchived(addRange(readArchived({}), 0, [3, 6]))
  holder.table = (await commit(holder.table, { properties }, () => {}, holder.deps)).table
  await holder.round(all)
  const [job] = await holder.jobs()
  assert.equal(job!.status, 'failed')
  assert.match(job!.failure!.why, /\[0, 15\) of partition 0 meets \[3, 6\) in the table/)
  assert.equal(filesIn(memory).length, 0)
  assert.equal((await readTable(holder.table)).size, 0)
  const taken = await takeFence(holder.table, 0, () => {}, holder.deps)
  await assert.rejects(holder.round(all), Fenced)
  assert.ok(taken.fence > holder.deps.fence)
})
