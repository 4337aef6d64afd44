// Encoding and restoring in threads: bytes and errors cross between them, and a thread that dies fails only its own
// work.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { craftBatch, encodeFile, INGESTED_AT, openBytes } from '../../../testing/data-files.ts'
import { eventually } from '../../../testing/eventually.ts'
import { systemClock } from '../../base/clock.ts'
import { ThreadEnded, Threads } from '../../base/threads.ts'
import { BadBatch } from './bad-batch.ts'
import { DecoderThreads } from './decoder-thread.ts'
import { EncoderThreads } from './encoder-thread.ts'
import { DamagedFile } from './page-cursors.ts'
import { fetchGroup } from './read.ts'
import { findByTime, findLargestTime } from './time-search.ts'
import { verifyFile } from './verify.ts'

const batches = Array.from({ length: 50 }, (_, i) =>
  craftBatch({
    baseOffset: i * 4,
    baseTimestamp: BigInt(1_000 + i),
    records: [{ value: Buffer.alloc(3000, i) }, {}, {}, {}],
    codec: i % 10 === 0 ? 'snappy' : 'none',
  }),
)
const OPTIONS = { partition: 3, rowGroupBytes: 40_000, batchBytes: 'when-needed' } as const
const SEGMENT = { base: 0, next: 200, ingestedAt: INGESTED_AT }

test('a file of a thread is that of the encoder, and restores to the source', async t => {
  const encoders = new EncoderThreads(systemClock, 2)
  const decoders = new DecoderThreads(systemClock, 1)
  t.after(() => Promise.all([encoders.close(), decoders.close()]))
  const encode = async () => {
    const job = await encoders.open(OPTIONS)
    await job.begin(SEGMENT)
    const parts: Uint8Array[] = []
    for (let i = 0; i < batches.length; i += 7) parts.push(...(await job.add(job.copy(batches.slice(i, i + 7)))))
    assert.ok(job.writtenBytes > 0 && job.heldBytes > 0)
    const { parts: last, facts } = await job.finish()
    return { bytes: Buffer.concat([...parts, ...last]), facts }
  }
  const expected = encodeFile(batches, OPTIONS, SEGMENT)
  for (const file of await Promise.all([encode(), encode(), encode()])) {
    assert.ok(file.bytes.equals(expected.bytes))
    assert.deepEqual(file.facts, expected.facts)
  }
  assert.equal(encoders.size, 2)

  const { file } = await openBytes(expected.bytes)
  const groups = await Promise.all(file.groups.map(async group => decoders.restore(await fetchGroup(file, group))))
  for (const [i, { bytes }] of groups.flat().entries()) assert.ok(batches[i]!.equals(bytes), `batch ${i}`)
  assert.deepEqual((await decoders.restore(await fetchGroup(file, file.groups[0]!), 5))[0]!.baseOffset, 4)
  const read = async (start: number, end: number) => Uint8Array.from(expected.bytes.subarray(start, end))
  await verifyFile(read, expected.facts, 'everything', decoders.summarize)
  assert.equal((await findByTime(file, 1_020, 0, decoders.search))!.offset, 80)
  assert.equal((await findLargestTime(file, 0, decoders.search))!.offset, 196)
})

test('a refused batch is refused by its offset, and the thread makes the next file', async t => {
  const encoders = new EncoderThreads(systemClock, 1)
  t.after(() => encoders.close())
  const flipped = Buffer.from(batches[3]!)
  flipped[70]! ^= 1
  const job = await encoders.open(OPTIONS)
  await job.begin(SEGMENT)
  const waiting = encoders.open(OPTIONS)
  await assert.rejects(job.add(job.copy([batches[2]!, flipped])), (error: unknown) => {
    assert.ok(error instanceof BadBatch)
    assert.equal(error.offset, 12)
    assert.match(error.message, /offset 12 cannot be archived: it fails its checksum/)
    return true
  })
  await assert.rejects(job.finish(), /over/)
  const next = await waiting
  await next.begin(SEGMENT)
  await next.abandon()
  await next.abandon()
  assert.equal(encoders.size, 1)
  // The batches of the caller are still there.
  assert.equal(flipped.length, batches[3]!.length)
})

test('a damaged row group is refused by a decoder thread', async t => {
  const decoders = new DecoderThreads(systemClock, 1)
  t.after(() => decoders.close())
  const { bytes, facts } = encodeFile(batches, OPTIONS)
  bytes.fill(7, facts.splitOffsets[0]! + 30, facts.splitOffsets[1])
  const { file } = await openBytes(bytes)
  await assert.rejects(decoders.restore(await fetchGroup(file, file.groups[0]!)), DamagedFile)
  assert.equal((await decoders.restore(await fetchGroup(file, file.groups[1]!))).length > 0, true)
})

test('a thread that dies fails its call, and the pool starts another one', async t => {
  const script = new URL(
    `data:text/javascript,${encodeURIComponent(`
      import { parentPort } from 'node:worker_threads'
      parentPort.on('message', what => {
        if (what === 'die') process.exit(9)
        if (what === 'throw') throw new Error('boom')
        parentPort.postMessage({ kind: 'done', result: what })
      })`)}`,
  )
  const threads = new Threads({
    name: 'test',
    script,
    most: 1,
    clock: systemClock,
    errorOf: ({ message }) => new Error(message),
  })
  t.after(() => threads.close())
  for (const [what, why] of [
    ['die', /the test thread ended with status 9/],
    ['throw', /the test thread failed: boom/],
  ] as const) {
    const thread = await threads.take()
    const waiting = threads.take()
    await assert.rejects(thread.ask(what), (error: unknown) => error instanceof ThreadEnded && why.test(error.message))
    await assert.rejects(thread.ask('late'), ThreadEnded)
    threads.give(thread)
    const next = await waiting
    assert.equal(await next.ask('alive'), 'alive')
    threads.give(next)
  }
})

test('a thread that dies between two calls of its caller makes no room for a thread more', async t => {
  const script = new URL(
    `data:text/javascript,${encodeURIComponent(`
      import { parentPort } from 'node:worker_threads'
      parentPort.on('message', what => {
        parentPort.postMessage({ kind: 'done', result: what })
        if (what === 'die') process.exit(9)
      })`)}`,
  )
  const errorOf = ({ message }: { readonly message: string }) => new Error(message)
  const threads = new Threads({ name: 'test', script, most: 1, clock: systemClock, errorOf })
  t.after(() => threads.close())
  const first = await threads.take()
  const waiting = threads.take()
  await first.ask('die')
  await eventually('the thread has died', () => !first.isAlive)
  const later = threads.take()
  assert.equal(threads.size, 0)
  threads.give(first)
  const next = await waiting
  assert.equal(threads.size, 1)
  threads.give(next)
  assert.equal(await later, next)
  threads.give(next)
})

test('a job that fails while it is abandoned gives its thread back once', async t => {
  const encoders = new EncoderThreads(systemClock, 1)
  t.after(() => encoders.close())
  const flipped = Buffer.from(batches[3]!)
  flipped[70]! ^= 1
  const job = await encoders.open(OPTIONS)
  await job.begin(SEGMENT)
  const failed = assert.rejects(job.add(job.copy([flipped])), BadBatch)
  await Promise.all([failed, job.abandon()])
  const one = await encoders.open(OPTIONS)
  let isOpen = false
  const other = encoders.open(OPTIONS).then(second => {
    isOpen = true
    return second
  })
  await one.begin(SEGMENT)
  for (const batch of batches.slice(0, 3)) await one.add(one.copy([batch]))
  assert.equal(isOpen, false, 'two files share a thread')
  await one.abandon()
  await (await other).abandon()
})

test('a closed pool fails the calls that wait', async () => {
  const encoders = new EncoderThreads(systemClock, 1)
  const job = await encoders.open(OPTIONS)
  const waiting = assert.rejects(encoders.open(OPTIONS), /closed/)
  const failing = assert.rejects(job.begin(SEGMENT), ThreadEnded)
  await encoders.close()
  await Promise.all([waiting, failing])
  await assert.rejects(encoders.open(OPTIONS), ThreadEnded)
  await job.abandon()
  assert.equal(encoders.size, 0)
})
