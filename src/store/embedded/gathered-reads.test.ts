import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../base/clock.ts'
import { exampleAppend, exampleBatch, expectKind } from '../examples.ts'
import type { Read, Store } from '../store.ts'
import { type Disk, realDisk } from './disk.ts'
import { openEmbeddedStore } from './embedded-store.ts'

const STREAMS = ['AAAAAAAAAAAAAAAAAAAAAQ:0', 'AAAAAAAAAAAAAAAAAAAAAQ:1', 'AAAAAAAAAAAAAAAAAAAAAQ:2']
const EVERYTHING = { maxBytes: Number.MAX_SAFE_INTEGER, until: Number.MAX_SAFE_INTEGER }

/** Opens a store in which the streams are led. */
async function open(t: TestContext, disk?: Disk): Promise<Store> {
  const path = mkdtempSync(join(tmpdir(), 'ketch-reads-'))
  const store = await openEmbeddedStore({
    path,
    fsync: 'always',
    fsyncIntervalMs: 0,
    clock: systemClock,
    ...(disk === undefined ? {} : { disk }),
    report: message => t.diagnostic(message),
  })
  t.after(async () => {
    await store.close()
    rmSync(path, { recursive: true })
  })
  await store.create(STREAMS)
  for (const stream of STREAMS) expectKind(await store.open(stream, 0, 0), 'opened')
  return store
}

test('interleaved streams that are read in one turn cost one read of the disk, and each gets its own batches', async t => {
  const lengths: number[] = []
  const real = realDisk(systemClock)
  const disk: Disk = {
    ...real,
    async open(name, create) {
      const file = await real.open(name, create)
      const readHere = (buffer: Uint8Array, position: number) => {
        lengths.push(buffer.length)
        return file.readHere(buffer, position)
      }
      return { ...file, readHere }
    },
  }
  const store = await open(t, disk)
  const batchOf = (stream: number, offset: number) => exampleBatch(offset, 1, 900 + 10 * stream, 1)
  for (let at = 0; at < 20; at++) {
    for (const [i, stream] of STREAMS.entries()) {
      expectKind(await store.append(exampleAppend(stream, 1, at, [batchOf(i, at)])), 'appended')
    }
  }
  lengths.length = 0
  const reads = await Promise.all(STREAMS.map(stream => store.read(stream, 0, EVERYTHING)))
  assert.equal(lengths.length, 1)
  for (const [i, read] of reads.entries()) {
    const { batches } = expectKind(read, 'read')
    assert.deepEqual(
      batches.map(batch => Buffer.from(batch.bytes)),
      Array.from({ length: 20 }, (_, offset) => batchOf(i, offset).bytes),
    )
  }
})

test('memory is reused once all its callers have released it, and memory that is not released does not change', async t => {
  const store = await open(t)
  const size = 50 << 10
  for (const [i, stream] of STREAMS.entries()) {
    for (let at = 0; at < 2; at++) {
      expectKind(await store.append(exampleAppend(stream, 1, at, [exampleBatch(at, 1, size + i, 1)])), 'appended')
    }
  }
  const readAll = async () => {
    const reads = await Promise.all(STREAMS.map(stream => store.read(stream, 0, EVERYTHING)))
    return reads.map(read => expectKind(read, 'read'))
  }
  const memoryOf = (read: Read) => read.batches[0]!.bytes.buffer
  const first = await readAll()
  const [one, two, three] = first
  assert.equal(memoryOf(one!), memoryOf(two!), 'one read for all of them')
  const before = first.map(read => Buffer.concat(read.batches.map(batch => batch.bytes)))
  for (const read of [one!, one!, two!]) read.release!()
  const second = await readAll()
  assert.notEqual(memoryOf(second[0]!), memoryOf(one!), 'the third still looks at it')
  three!.release!()
  const third = await readAll()
  assert.equal(memoryOf(third[0]!), memoryOf(one!))
  for (const reads of [second, third]) {
    const found = reads.map(read => Buffer.concat(read.batches.map(batch => batch.bytes)))
    assert.deepEqual(found, before)
  }
})

test('many reads requested in one turn are spread over several turns, so that other work runs in between', async t => {
  const store = await open(t)
  const size = 256 << 10
  const each = 8
  for (const stream of STREAMS) {
    for (let at = 0; at < each; at++) {
      expectKind(await store.append(exampleAppend(stream, 1, at, [exampleBatch(at, 1, size, 1)])), 'appended')
    }
  }
  let turns = 0
  let isOver = false
  const count = () => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const reads = await Promise.all(STREAMS.map(stream => store.read(stream, 0, EVERYTHING)))
  isOver = true
  for (const read of reads) assert.equal(expectKind(read, 'read').batches.length, each)
  assert(turns >= 5, `6 MiB were read in ${turns} turns`)
})
