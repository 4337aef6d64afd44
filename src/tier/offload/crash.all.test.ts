// The holder dies at every single change that it makes, to the object store and to the documents of the jobs. A new
// holder goes on with the table as the truth. Every segment must be in the table once, byte for byte, and its job done.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditTable } from '../../../testing/iceberg-audit.ts'
import { PromptClock } from '../../../testing/iceberg-table.ts'
import { crashing, MemoryObjects, withFaults } from '../../../testing/memory-objects.ts'
import { assertArchived, LOCATION, newHolder, SEALED_AT, sealed, sourceOf } from '../../../testing/offloading.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { systemClock } from '../../base/clock.ts'
import { seededRandom } from '../../base/random.ts'
import type { Store } from '../../store/store.ts'
import { EncoderThreads } from '../columns/encoder-thread.ts'
import { ORPHAN_AGE_MS, sweepOrphans } from '../iceberg/sweep-orphans.ts'
import type { Objects } from '../objects/objects.ts'

// One file has two segments, one has a segment, and one segment has no rows.
const ALL = [sealed(0, 0, 4), sealed(0, 12, 4), sealed(1, 0, 4), sealed(2, 0, 0)]
const NEVER = Number.MAX_SAFE_INTEGER

/** Returns a store whose commits fail together with a place that has died; each counts as a change of it. */
function dyingWith(store: Store, place: Objects): Store {
  const step = (what: string) => place.write(`documents/${what}`, Buffer.of(0))
  let commits = 0
  return Object.assign(Object.create(store) as Store, {
    async commit(commit: Parameters<Store['commit']>[0]) {
      // The two steps stand for a death before the commit, and after it.
      await step(`${commits++}-before`)
      const answer = await store.commit(commit)
      await step(`${commits}-after`)
      return answer
    },
    load: (kind: string, name: string) => store.load(kind, name),
    version: (kind: string, name: string) => store.version(kind, name),
  })
}

async function work(
  objects: Objects,
  store: Store,
  clock: PromptClock,
  encoders: EncoderThreads,
  isDead: () => boolean,
) {
  const holder = await newHolder({ objects, store, encoders, clock, seed: clock.atMs % 1_000 })
  // The second segment is sealed after the first round.
  await holder.round([ALL[0]!, ALL[2]!], sourceOf(ALL), isDead)
  await holder.round(ALL, undefined, isDead)
  return holder
}

const finishAt = async (
  memory: MemoryObjects,
  store: Store,
  clock: PromptClock,
  encoders: EncoderThreads,
  where: string,
) => {
  clock.atMs += 1
  const holder = await work(memory, store, clock, encoders, () => false)
  for (const job of await holder.jobs()) assert.equal(job.status, 'done', where)
  await assertArchived(holder.table, ALL, where)
  clock.atMs += 2 * ORPHAN_AGE_MS
  await sweepOrphans(memory, LOCATION, holder.deps)
  const { findings, files } = await auditTable(memory, LOCATION, { nowMs: clock.now(), graceMs: ORPHAN_AGE_MS })
  assert.deepEqual(findings, [], where)
  return files
}

test('a holder that dies at any change leaves each segment in the table once', async t => {
  const encoders = new EncoderThreads(systemClock, 2)
  t.after(() => encoders.close())
  const measured = new PromptClock(SEALED_AT)
  const counted = crashing(new MemoryObjects(measured), NEVER, 'before')
  const store = createMemoryStore(systemClock)
  await work(counted.objects, dyingWith(store, counted.objects), measured, encoders, () => false)
  const { steps } = counted.state
  t.diagnostic(`${steps} changes`)
  assert.ok(steps > 25)

  let spent = 0
  for (const when of ['before', 'after'] as const)
    for (let step = 0; step < steps; step++) {
      const where = `${when} the effect of change ${step}`
      const clock = new PromptClock(SEALED_AT)
      const memory = new MemoryObjects(clock)
      const documents = createMemoryStore(systemClock)
      const dying = crashing(memory, step, when)
      const isDead = () => dying.state.isDead
      await work(dying.objects, dyingWith(documents, dying.objects), clock, encoders, isDead).then(
        () => assert.ok(isDead(), `${where}: it did not die`),
        (error: unknown) => assert.ok(isDead(), `${where}: ${error}`),
      )
      const between = await auditTable(memory, LOCATION, { nowMs: 0, graceMs: Number.POSITIVE_INFINITY })
      if (between.versions > 0) assert.deepEqual(between.findings, [], where)
      await finishAt(memory, documents, clock, encoders, where)
      for (const job of await newHolder({ objects: memory, store: documents, encoders, clock }).then(holder =>
        holder.jobs(),
      ))
        spent = Math.max(spent, job.attempts)
    }
  assert.equal(spent, 2, 'the attempt of the holder that died counts')
})

test('a segment at which every holder dies is suspended after its attempts, and the others go', async t => {
  const encoders = new EncoderThreads(systemClock, 2)
  t.after(() => encoders.close())
  const clock = new PromptClock(SEALED_AT)
  const memory = new MemoryObjects(clock)
  const store = createMemoryStore(systemClock)
  for (let life = 1; life <= 3; life++) {
    // It dies before its commit.
    const confirm = () => Promise.reject(new Error('too late'))
    const holder = await newHolder({ objects: memory, store, encoders, clock, seed: life, more: { confirm } })
    await assert.rejects(
      holder.round([ALL[0]!], undefined, () => true),
      /dead/,
    )
  }
  const holder = await newHolder({ objects: memory, store, encoders, clock, seed: 9 })
  await holder.round(ALL)
  const [suspended, ...others] = await holder.jobs()
  assert.deepEqual([suspended!.status, suspended!.isSuspended, suspended!.attempts], ['failed', true, 3])
  assert.match(suspended!.failure!.why, /The broker that ran it ended/)
  for (const job of others) assert.equal(job.status, 'done')
  await assertArchived(holder.table, ALL.slice(1))
})

test('a store that loses answers, requests and creates at random gets each segment once', async t => {
  const encoders = new EncoderThreads(systemClock, 2)
  t.after(() => encoders.close())
  for (let seed = 1; seed <= 12; seed++) {
    const where = `seed ${seed}`
    const clock = new PromptClock(SEALED_AT)
    const memory = new MemoryObjects(clock)
    const store = createMemoryStore(systemClock)
    const faults = { lost: 0.1, away: 0.1, conflict: 0.1, late: 0.1 }
    const objects = withFaults(memory, faults, seededRandom(seed))
    for (let round = 0; round < 4; round++) {
      // A holder may also be replaced while its last create is on its way.
      const holder = await newHolder({ objects, store, encoders, clock, seed: seed * 10 + round }).catch(() => null)
      if (holder === null) continue
      await holder
        .round(ALL)
        .catch((error: unknown) => assert.ok(/fence|Store|away|arrive|lost/i.test(String(error)), where))
      for (const job of await holder.jobs()) assert.equal(job.isSuspended, false, where)
    }
    await finishAt(memory, store, clock, encoders, where)
  }
})
