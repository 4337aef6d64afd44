// Segments move into a table through real encoder threads: what happens to each job when something is damaged, away,
// late or taken over.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withHooks } from '../../../testing/memory-objects.ts'
import { assertArchived, filesIn, offloadWorld, SEALED_AT, sealed, sourceOf } from '../../../testing/offloading.ts'
import { systemRandom } from '../../base/random.ts'
import { StoreUnavailable } from '../../store/store.ts'
import { BadBatch } from '../columns/bad-batch.ts'
import { DAY_MS } from '../columns/data-file.ts'
import { readArchived } from '../iceberg/ranges.ts'
import { readDataFileName } from '../iceberg/table-files.ts'
import { ObjectStoreError, type Objects } from '../objects/objects.ts'
import { EncoderMemory } from './encoder-memory.ts'
import { jobId } from './jobs.ts'
import type { OffloadSettings } from './pipeline.ts'

const SETTINGS: OffloadSettings = {
  ...{ rowGroupBytes: 1e6, targetFileBytes: 1e6, threads: 2 },
  ...{ batchBytes: 'when-needed', verify: 'full' },
}

test('neighbours share a file, other partitions and days have their own, and all are one commit', async t => {
  const { memory, open, audit } = offloadWorld(t)
  const all = [
    sealed(0, 0, 5),
    sealed(0, 15, 5),
    sealed(0, 30, 5, { sealedAtMs: SEALED_AT + DAY_MS }),
    sealed(1, 0, 5),
    sealed(1, 30, 5),
  ]
  const holder = await open()
  const before = holder.table.version
  const outcomes = await holder.round(all)
  assert.equal(holder.table.version, before + 1)
  assert.deepEqual(
    [...outcomes.values()].map(({ kind }) => kind),
    Array(5).fill('done'),
  )
  const files = filesIn(memory).map(key => /partition=.*\d{20}-\d{20}-\d+/.exec(key)![0].replace(/\b0+(?=\d)/g, ''))
  const bytes = (...of: number[]) => of.reduce((sum, i) => sum + all[i]!.segment.bytes, 0)
  assert.deepEqual(files.sort(), [
    `partition=0/ingested_at_day=2026-11-20/0-29-${bytes(0, 1)}`,
    `partition=0/ingested_at_day=2026-11-21/30-44-${bytes(2)}`,
    `partition=1/ingested_at_day=2026-11-20/0-14-${bytes(3)}`,
    `partition=1/ingested_at_day=2026-11-20/30-44-${bytes(4)}`,
  ])
  const done = outcomes.get(jobId((await holder.jobs())[0]!))
  assert.ok(done?.kind === 'done' && memory.held.has(done.files[0]!))
  await assertArchived(holder.table, all)
  await audit()
  assert.equal((await holder.round(all)).size, 0, 'nothing is left to do')
})

test('a flipped bit fails its own job by its offset, and its neighbours go', async t => {
  const { memory, open, audit } = offloadWorld(t)
  const all = [sealed(0, 0, 5), sealed(0, 15, 5), sealed(0, 30, 5), sealed(1, 0, 5)]
  const [, damaged] = all
  damaged!.batches[3]![70]! ^= 1
  const holder = await open()
  const outcomes = await holder.round(all)
  assert.deepEqual([...outcomes.values()].map(({ kind }) => kind).sort(), ['done', 'done', 'done', 'failed'])
  const [first, failed, third] = await holder.jobs()
  assert.deepEqual([first!.status, failed!.status, third!.status], ['done', 'failed', 'done'])
  assert.equal(failed!.failure!.offset, 24)
  assert.match(failed!.failure!.why, /the batch at offset 24 cannot be archived: it fails its checksum/)
  await assertArchived(holder.table, [all[0]!, all[2]!, all[3]!])
  await audit()
  assert.equal(filesIn(memory).length, 3, 'nothing of the file that was given up is there')

  await holder.round(all)
  await holder.round(all)
  const [, suspended] = await holder.jobs()
  assert.deepEqual([suspended!.attempts, suspended!.isSuspended], [3, true])
  assert.equal((await holder.round(all)).size, 0)
  // The segment is repaired, an operator retries, and it comes out of order.
  damaged!.batches[3]![70]! ^= 1
  await holder.documents.change({ topicId: suspended!.topicId, topicName: suspended!.topicName }, () => ({
    answer: null,
    put: [{ ...suspended!, status: 'pending', isSuspended: false, attempts: 0 }],
  }))
  await holder.round(all)
  await assertArchived(holder.table, all)
  await audit()
})

test('a segment that is larger than a file may be becomes several files, which are one commit', async t => {
  const { memory, open, audit } = offloadWorld(t)
  const all = [sealed(0, 0, 40, { valueBytes: 10_000 }), sealed(0, 120, 4)]
  const target = 150_000
  const holder = await open(undefined, { settings: { ...SETTINGS, targetFileBytes: target } })
  const { version } = holder.table
  await holder.round(all)
  assert.equal(holder.table.version, version + 1)
  const sizes = filesIn(memory).map(key => memory.held.get(key)!.bytes.length)
  assert.ok(sizes.length >= 4 && Math.max(...sizes) <= target, String(sizes))
  const named = filesIn(memory).map(key => readDataFileName(key)!.kafkaBytes)
  assert.equal(
    named.reduce((sum, each) => sum + each, 0),
    all.reduce((sum, { segment }) => sum + segment.bytes, 0),
  )
  assert.deepEqual(readArchived(holder.table.metadata.properties).ranges.get(0), [[0, 132]])
  await assertArchived(holder.table, all)
  await audit()

  // The ratio is known by now, so there are fewer pieces. A damaged one fails the whole segment.
  const large = sealed(1, 0, 40, { valueBytes: 10_000 })
  large.batches[39]![70]! ^= 1
  const before = filesIn(memory).length
  await holder.round([...all, large])
  const failed = (await holder.jobs()).at(-1)!
  assert.deepEqual([failed.status, failed.base, failed.failure!.offset], ['failed', 0, 117])
  assert.ok(filesIn(memory).length > before, 'the first pieces are orphans')
  await assertArchived(holder.table, all)
  large.batches[39]![70]! ^= 1
  const short = { ...large, batches: large.batches.slice(1) }
  await holder.round([...all, large], sourceOf([short]))
  assert.match((await holder.jobs()).at(-1)!.failure!.why, /bytes of batches, and had/)
  await holder.round([...all, large])
  await assertArchived(holder.table, [...all, large])
  await audit(Number.POSITIVE_INFINITY)
})

test('a large segment whose records are all at its end is cut into fewer pieces', async t => {
  const { memory, open } = offloadWorld(t)
  const dense = sealed(0, 900, 20, { valueBytes: 10_000 })
  const all = [{ ...dense, segment: { ...dense.segment, base: 0 } }]
  const holder = await open(undefined, { settings: { ...SETTINGS, targetFileBytes: 100_000 } })
  await holder.round(all)
  assert.ok(filesIn(memory).length >= 1)
  assert.deepEqual(readArchived(holder.table.metadata.properties).ranges.get(0), [[0, 960]])
  await assertArchived(holder.table, all)
})

test('a batch that the source refuses, and a segment that lacks bytes, fail their jobs alone', async t => {
  const { open } = offloadWorld(t)
  const all = [sealed(0, 0, 5), sealed(0, 15, 5), sealed(0, 30, 5)]
  const holder = await open()
  const source = sourceOf(all, (_partition, batch) => {
    if (batch === all[0]!.batches[2]) throw new BadBatch(6, 'the store says that it is damaged')
  })
  const short = { ...all[2]!, batches: all[2]!.batches.slice(0, 4) }
  await holder.round(all, { read: (p, base, next) => (base === 30 ? sourceOf([short]) : source).read(p, base, next) })
  const [refused, done, lacking] = await holder.jobs()
  assert.deepEqual([refused!.failure!.offset, refused!.failure!.why], [6, 'the store says that it is damaged'])
  assert.equal(done!.status, 'done')
  assert.match(lacking!.failure!.why, /has \d+ bytes of batches, and had \d+ when it was sealed/)
  await assertArchived(holder.table, [all[1]!])
  // The log start has cut the segment: its bytes are not known any more, and it goes as it is.
  const cut = [all[0]!, all[1]!, { ...short, segment: { ...short.segment, plainBytes: null } }]
  await holder.round(cut)
  await assertArchived(holder.table, cut)
})

test('segments without rows change only the ranges', async t => {
  const { memory, open, audit } = offloadWorld(t)
  const all = [sealed(0, 0, 0), sealed(0, 1, 0)]
  const holder = await open()
  const outcomes = await holder.round(all)
  assert.deepEqual([...outcomes.values()], Array(2).fill({ kind: 'done', files: [] }))
  assert.deepEqual(filesIn(memory), [])
  assert.equal(holder.table.metadata.snapshots.length, 0)
  assert.deepEqual(readArchived(holder.table.metadata.properties).ranges.get(0), [[0, 2]])
  // Among others they are a part of the file.
  const more = [...all, sealed(0, 2, 3), sealed(0, 11, 0), sealed(0, 12, 2)]
  await holder.round(more)
  assert.deepEqual(readArchived(holder.table.metadata.properties).ranges.get(0), [[0, 18]])
  await assertArchived(holder.table, more)
  await audit()
})

for (const verb of ['write', 'stat', 'read', 'create'] as const)
  test(`while a ${verb} of the store is away no attempt is spent, and the backlog drains afterwards`, async t => {
    const { memory, open, audit } = offloadWorld(t)
    const all = [sealed(0, 0, 5), sealed(1, 0, 5, { valueBytes: 40_000 })]
    let isAway = true
    let faults = 0
    const objects = withHooks(memory, {
      before({ verb: called, key }) {
        if (!isAway || called !== verb || !/(parquet|json)$/.test(key)) return
        faults++
        throw new ObjectStoreError(verb === 'create' ? 'unknown' : 'away', 'the store is away')
      },
    })
    const holder = await open()
    holder.table = { ...holder.table, objects }
    // A commit is not tried any longer than the round lasts.
    const until = { ended: null, untilMs: Number.POSITIVE_INFINITY, isOver: false }
    Object.assign(holder.deps, {
      patience: {
        ...until,
        get isOver() {
          return verb === 'create' && faults > 3
        },
      },
    })
    for (let round = 0; round < 2; round++) {
      faults = 0
      const outcomes = await holder.round(all)
      for (const { kind } of outcomes.values()) assert.equal(kind, verb === 'create' ? 'unknown' : 'notSpent')
    }
    assert.ok(faults > 0)
    for (const job of await holder.jobs())
      assert.deepEqual([job.status, job.attempts], verb === 'create' ? ['running', 1] : ['pending', 0])
    isAway = false
    faults = 0
    await holder.round(all)
    for (const job of await holder.jobs()) assert.deepEqual([job.status, job.attempts], ['done', 1])
    await assertArchived(holder.table, all)
    await audit(Number.POSITIVE_INFINITY)
  })

test('the upload is cut in its middle: no attempt is spent, and the thread makes the next file', async t => {
  const { memory, encoders, open } = offloadWorld(t, 1)
  const all = [sealed(0, 0, 60, { valueBytes: 30_000 }), sealed(1, 0, 5)]
  let isAway = true
  const cutting: Objects = {
    ...withHooks(memory, {}),
    async write(key, parts) {
      if (!isAway || parts instanceof Uint8Array || !/partition=0/.test(key)) return memory.write(key, parts)
      for await (const _ of parts) throw new ObjectStoreError('away', 'the connection was cut')
      throw new Error('the file has no part')
    },
  }
  const holder = await open(cutting)
  await holder.round(all)
  const jobs = await holder.jobs()
  assert.deepEqual(
    jobs.map(({ status, attempts }) => [status, attempts]),
    [
      ['pending', 0],
      ['done', 1],
    ],
  )
  isAway = false
  await holder.round(all)
  assert.equal(encoders.size, 1)
  await assertArchived(holder.table, all)
})

test('the source is told if the place takes nothing of a file', async t => {
  const { memory, open } = offloadWorld(t)
  const all = [sealed(0, 0, 60, { valueBytes: 30_000 })]
  const objects: Objects = {
    ...withHooks(memory, {}),
    async write(key, parts) {
      if (parts instanceof Uint8Array) return memory.write(key, parts)
      throw new ObjectStoreError('away', 'the connection was refused')
    },
  }
  const holder = await open(objects)
  let isTold = false
  const read = async function* (partition: number, base: number, next: number) {
    try {
      yield* sourceOf(all).read(partition, base, next)
    } finally {
      isTold = true
    }
  }
  for (const targetFileBytes of [1e7, 1e6]) {
    isTold = false
    Object.assign(holder.deps, { settings: { ...SETTINGS, rowGroupBytes: 100_000, targetFileBytes } })
    const [outcome] = (await holder.round(all, { read })).values()
    assert.deepEqual(outcome, { kind: 'notSpent', why: 'the connection was refused' })
    assert.ok(isTold, `with a target of ${targetFileBytes}`)
    assert.equal(holder.deps.memory.usedBytes, 0)
  }
})

test('a refusal of the object store is spent only while the probe succeeds', async t => {
  const { memory, open } = offloadWorld(t)
  const all = [sealed(0, 0, 5)]
  for (const isWorking of [false, true]) {
    const objects = withHooks(memory, {
      before({ verb, key }) {
        if (verb === 'write' && key.endsWith('.parquet')) throw new ObjectStoreError('refused', 'Access Denied')
      },
    })
    const holder = await open(objects, { probe: async () => isWorking })
    await holder.round(all)
    const [job] = await holder.jobs()
    assert.deepEqual([job!.status, job!.attempts], isWorking ? ['failed', 1] : ['pending', 0])
    if (isWorking) assert.equal(job!.failure!.why, 'Access Denied')
  }
})

test('while the store of the log is away no attempt is spent', async t => {
  const { open } = offloadWorld(t)
  const all = [sealed(0, 0, 5)]
  const holder = await open()
  const away = sourceOf(all, () => {
    throw new StoreUnavailable('connection refused')
  })
  await holder.round(all, away)
  const [job] = await holder.jobs()
  assert.deepEqual([job!.status, job!.attempts], ['pending', 0])
})

test('a file that was read back damaged is not committed', async t => {
  const { memory, open } = offloadWorld(t)
  const all = [sealed(0, 0, 5)]
  let isDamaging = true
  const objects = withHooks(memory, {
    after({ verb, key }) {
      if (!isDamaging || verb !== 'write' || !key.endsWith('.parquet')) return
      const { bytes, changedAtMs } = memory.held.get(key)!
      memory.held.set(key, { bytes: bytes.subarray(0, -1), changedAtMs })
    },
  })
  const holder = await open(objects)
  await holder.round(all)
  const [failed] = await holder.jobs()
  assert.equal(failed!.status, 'failed')
  assert.match(failed!.failure!.why, /the place has \d+ bytes of default\/orders-.*, expected \d+/)
  assert.equal(readArchived(holder.table.metadata.properties).ranges.size, 0)
  isDamaging = false
  await holder.round(all)
  await assertArchived(holder.table, all)
})

test('the memory of all files stays below its bound: the largest group closes early', async t => {
  const { open } = offloadWorld(t, 3)
  const limit = 12e6
  const memory = new EncoderMemory(limit)
  const all = [0, 1, 2].map(partition => sealed(partition, 0, 150, { valueBytes: 60_000, random: systemRandom }))
  const settings = { ...SETTINGS, rowGroupBytes: 128e6, targetFileBytes: 128e6, threads: 3 }
  const holder = await open(undefined, { memory, settings })
  let most = 0
  await holder.round(
    all,
    sourceOf(all, () => {
      most = Math.max(most, memory.usedBytes)
    }),
  )
  t.diagnostic(`${Math.round(most / 1e4) / 100} MB of ${limit / 1e6} for 27 MB of batches`)
  assert.ok(most <= limit && most > limit / 3)
  assert.equal(memory.usedBytes, 0)
  assert.deepEqual(
    (await holder.jobs()).map(({ status }) => status),
    ['done', 'done', 'done'],
  )
  await assertArchived(holder.table, all)
})
