import assert from 'node:assert/strict'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../testing/eventually.ts'
import { createFaultyDisk, type FaultyDisk } from '../../../testing/sim/faulty-disk.ts'
import { snapshot } from '../../../testing/store-folder.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { seededRandom } from '../../base/random.ts'
import { exampleAppend, exampleBatch, expectKind } from '../examples.ts'
import { OutcomeUnknown, type Store, StoreUnavailable } from '../store.ts'
import { type Disk, realDisk } from './disk.ts'
import { type EmbeddedStoreOptions, openEmbeddedStore } from './embedded-store.ts'
import { openTables, type Range } from './tables.ts'

const A = 'AAAAAAAAAAAAAAAAAAAAAQ:0'
const B = 'AAAAAAAAAAAAAAAAAAAAAQ:1'
const EVERYTHING = { maxBytes: Number.MAX_SAFE_INTEGER, until: Number.MAX_SAFE_INTEGER }

interface Opened {
  readonly store: Store
  readonly disk: FaultyDisk
  readonly path: string
  readonly reports: string[]
  readonly fatal: Error[]
}

async function open(t: TestContext, more: Partial<EmbeddedStoreOptions> = {}): Promise<Opened> {
  const path = more.path ?? fs.mkdtempSync(join(tmpdir(), 'ketch-faults-'))
  const disk = createFaultyDisk(seededRandom(7))
  const reports: string[] = []
  const fatal: Error[] = []
  const store = await openEmbeddedStore({
    path,
    fsync: 'always',
    fsyncIntervalMs: 1,
    clock: systemClock,
    disk,
    onFatal: error => fatal.push(error),
    report: message => reports.push(message),
    ...more,
  })
  t.after(async () => {
    await store.close().catch(() => {})
    fs.rmSync(path, { recursive: true, force: true })
  })
  return { store, disk, path, reports, fatal }
}

const journalsIn = (path: string) => fs.readdirSync(path).filter(name => name.startsWith('journal-'))
const sparesIn = (path: string) => fs.readdirSync(path).filter(name => name.startsWith('spare-'))

async function lead(store: Store, stream: string): Promise<number> {
  await store.create([stream])
  return expectKind(await store.open(stream, 0, 0), 'opened').epoch
}

const append = (store: Store, stream: string, epoch: number, at: number, size = 300) =>
  store.append(
    exampleAppend(stream, epoch, at, [exampleBatch(at, 1, size, epoch)], [{ key: 'end', value: Buffer.of(at) }]),
  )

const offsetsOf = async (store: Store, stream: string, from = 0) =>
  expectKind(await store.read(stream, from, EVERYTHING), 'read').batches.map(batch => batch.baseOffset)

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(resolve => setImmediate(resolve))
}

test('a full disk refuses the round, reads go on, and writing works again without a restart', async t => {
  const { store, disk, path, fatal } = await open(t)
  const epoch = await lead(store, A)
  const document = await store.commit({ kind: 'k', name: 'n', expect: 0, changes: [{ key: 'f', value: Buffer.of(1) }] })
  const { version } = expectKind(document, 'committed')
  await append(store, A, epoch, 0)
  const makeRoom = disk.failUntil('write', 'ENOSPC')
  const refused = await Promise.allSettled([
    append(store, A, epoch, 1),
    store.trim(A, epoch, 1, [{ key: 'x', value: Buffer.of(1) }]),
    store.create([B]),
    store.commit({ kind: 'k', name: 'n', expect: version, changes: [{ key: 'f', value: Buffer.of(2) }] }),
    store.commit({ kind: 'k', name: 'new', expect: 0, changes: [] }),
    store.remove([A]),
  ])
  for (const each of refused) {
    assert.ok(each.status === 'rejected' && each.reason instanceof StoreUnavailable, JSON.stringify(each))
    assert.equal(((each.reason as Error).cause as NodeJS.ErrnoException).code, 'ENOSPC')
  }
  // No refused call has changed the store.
  assert.deepEqual(await store.streams(), [A])
  assert.deepEqual(await offsetsOf(store, A), [0])
  assert.equal((await store.load('k', 'n'))!.version, version)
  assert.equal(await store.load('k', 'new'), null)
  // The lead is taken without a write: the former leader is fenced, and reads work.
  const claimed = expectKind(await store.open(A, epoch, 0), 'opened')
  assert.deepEqual([claimed.epoch, claimed.start, claimed.end, [...claimed.rows.keys()]], [epoch + 1, 0, 1, ['end']])
  assert.deepEqual(claimed.epochs.at(-1), { epoch: epoch + 1, startOffset: 1 })
  await assert.rejects(append(store, A, claimed.epoch, 1), StoreUnavailable)
  expectKind(await store.open(A, epoch, 0), 'fenced')
  expectKind(await store.confirm(A, claimed.epoch), 'confirmed')
  makeRoom()
  expectKind(await append(store, A, epoch, 1), 'fenced')
  expectKind(await append(store, A, claimed.epoch, 1), 'appended')
  assert.deepEqual(await offsetsOf(store, A), [0, 1])
  assert.deepEqual(fatal, [])
  await store.close()
  const again = await open(t, { path })
  assert.deepEqual(await offsetsOf(again.store, A), [0, 1])
  const opened = expectKind(await again.store.open(A, claimed.epoch, 0), 'opened')
  assert.deepEqual(
    opened.epochs,
    [epoch, epoch + 1, epoch + 2].map((each, i) => ({ epoch: each, startOffset: i })),
  )
  assert.deepEqual(
    (await again.store.list('k')).map(each => each.name),
    ['n'],
  )
})

/**
 * Returns a disk with this many bytes. It refuses to extend files beyond them, and allows writes within the size of a
 * file.
 */
function diskOf(capacity: number): Disk & { fill(): void } {
  const real = realDisk(systemClock)
  const sizes = new Map<string, number>()
  const used = () => [...sizes.values()].reduce((sum, size) => sum + size, 0)
  return {
    ...real,
    /** Another program takes all but a few of the remaining bytes. */
    fill() {
      capacity = used() + 4000
    },
    async open(path, create) {
      const file = await real.open(path, create)
      sizes.set(path, Math.max(sizes.get(path) ?? 0, file.size))
      return {
        ...file,
        async write(buffers, position) {
          const size = sizes.get(path) ?? 0
          const end = position + buffers.reduce((sum, buffer) => sum + buffer.length, 0)
          if (end > size && used() + end - size > capacity) {
            throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
          }
          sizes.set(path, Math.max(size, end))
          await file.write(buffers, position)
        },
      }
    },
    async rename(from, to) {
      await real.rename(from, to)
      sizes.set(to, sizes.get(from) ?? 0)
      sizes.delete(from)
    },
    async unlink(path) {
      await real.unlink(path)
      sizes.delete(path)
    },
  }
}

test('on a full disk, writes that free space go into the reserve, and appends resume once files are freed', async t => {
  const options = { journalFileBytes: 2 << 20, checkpointBytes: 64 << 10, disk: diskOf(32 << 20) }
  const { store, path, fatal } = await open(t, options)
  const epoch = await lead(store, A)
  const { version } = expectKind(await store.commit({ kind: 'k', name: 'n', expect: 0, changes: [] }), 'committed')
  const isRefused = (error: Error) => {
    assert.ok(error instanceof StoreUnavailable, error.stack)
    return 'refused' as const
  }
  const tryAppend = (at: number) =>
    append(store, A, epoch, at, 100_000).then(outcome => expectKind(outcome, 'appended').kind, isRefused)
  let end = 0
  while ((await tryAppend(end)) === 'appended') end++
  assert.ok(end > 20, `${end}`)
  assert.equal(await tryAppend(end), 'refused')
  assert.ok(fs.existsSync(join(path, 'reserve')), 'appends alone do not use it')

  // The three calls are one round. The append is refused, and the other two are done.
  const [appended, committed, trimmed] = await Promise.all([
    tryAppend(end),
    store.commit({ kind: 'k', name: 'n', expect: version, changes: [{ key: 'f', value: Buffer.alloc(60_000) }] }),
    store.trim(A, epoch, end - 1, []),
  ])
  assert.deepEqual([appended, committed.kind, trimmed.kind], ['refused', 'committed', 'trimmed'])
  await eventually('appends resume', async () => (await tryAppend(end)) === 'appended', 60_000)
  assert.ok(fs.existsSync(join(path, 'reserve')), 'it is made again')
  assert.deepEqual(await offsetsOf(store, A, end - 1), [end - 1, end])
  assert.deepEqual(fatal, [])
  await store.close()
  const again = await open(t, { path })
  assert.deepEqual(await offsetsOf(again.store, A, end - 1), [end - 1, end])
  assert.equal((await again.store.load('k', 'n'))!.fields.get('f')!.length, 60_000)
})

test('on a disk that another program has filled, appends use the space that a removal frees, in rounds smaller and larger than a file', async t => {
  const disk = diskOf(64 << 20)
  const options = { journalFileBytes: 256 << 10, checkpointBytes: 1, disk }
  const { store, path, fatal } = await open(t, options)
  const epoch = await lead(store, A)
  const other = await lead(store, B)
  const journals = () => journalsIn(path)
  for (let at = 0; journals().length < 9; at++) await append(store, A, epoch, at, 9_000)
  // Fill the file until the store has prepared the next one, which has no batches yet.
  let end = 0
  const hasNext = () => fs.statSync(join(path, journals().sort().at(-1)!)).size < 9_000
  while (!hasNext()) await append(store, B, other, end++, 9_000)
  disk.fill()
  await assert.rejects(append(store, B, other, end, 9_000), StoreUnavailable)
  await store.remove([A])
  const isTaken = async (count: number) => {
    // Without this, the store would also use the space that the removal gave back to the file system.
    disk.fill()
    const asked = Array.from({ length: count }, (_, i) => append(store, B, other, end + i, 9_000))
    const taken = (await Promise.allSettled(asked)).filter(each => each.status === 'fulfilled').length
    end += taken
    return taken === count
  }
  await eventually('an append is taken', () => isTaken(1), 60_000)
  const copy = snapshot(t, path)
  const killed = await open(t, { path: copy })
  assert.equal((await offsetsOf(killed.store, B)).length, end)
  assert.deepEqual(killed.reports, [])
  await eventually('all is freed', () => journals().length <= 3, 60_000)
  assert.ok(await isTaken(40), 'spares are too small one by one, and large enough together')
  assert.ok(fs.existsSync(join(path, 'reserve')), 'the reserve stays')
  assert.equal((await offsetsOf(store, B)).length, end)
  assert.deepEqual(fatal, [])
  await store.close()
  const again = await open(t, { ...options, path })
  assert.deepEqual(again.reports, [])
  assert.equal((await offsetsOf(again.store, B)).length, end)
})

test('ping succeeds on a full disk, because reads work; it fails after a failed sync', async t => {
  const { store, disk } = await open(t)
  const epoch = await lead(store, A)
  disk.failNext('write', 'ENOSPC')
  await assert.rejects(append(store, A, epoch, 0), StoreUnavailable)
  assert.equal((await store.ping(2_000))[0]!.failure, null)
  disk.failNext('sync', 'EIO')
  await assert.rejects(append(store, A, epoch, 0))
  assert.match((await store.ping(2_000))[0]!.failure!, /has stopped/)
})

test('with fsync interval, data that is written during a sync is synced without another append', async t => {
  // The journal writes zeros ahead, and syncs them, 200 ms after the last round. Here that time never passes, however
  // slow the machine is.
  const timer: Clock['timer'] = (delayMs, fn) => (delayMs < 50 ? systemClock.timer(delayMs, fn) : { cancel() {} })
  const { store, disk } = await open(t, { fsync: 'interval', clock: { ...systemClock, timer } })
  const epoch = await lead(store, A)
  await append(store, A, epoch, 0)
  for (let calls = -1; calls !== disk.calls || disk.unsyncedWrites > 0; ) {
    calls = disk.calls
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  const release = disk.holdNext('sync')
  await append(store, A, epoch, 1)
  await until(() => disk.unsyncedWrites === 0)
  await append(store, A, epoch, 2)
  // The second interval ends while the first sync is still running.
  await new Promise(resolve => setTimeout(resolve, 20))
  assert.equal(disk.unsyncedWrites, 1)
  const { calls } = disk
  release()
  await until(() => disk.unsyncedWrites === 0)
  // The only disk call was that sync: no other write was necessary to cause it.
  assert.equal(disk.calls, calls + 1)
})

test('a refused round does not exist after a kill either, even if all of it had reached the disk', async t => {
  const { store, disk, path } = await open(t)
  const epoch = await lead(store, A)
  await append(store, A, epoch, 0)
  disk.failAfterwards('write', 'EIO')
  await assert.rejects(append(store, A, epoch, 1), StoreUnavailable)
  const copy = snapshot(t, path)
  const again = await open(t, { path: copy })
  assert.deepEqual(await offsetsOf(again.store, A), [0])
  assert.deepEqual(again.reports, [])
})

test('a part of a round that was refused is cut by the next start', async t => {
  const { store, disk, path } = await open(t)
  const epoch = await lead(store, A)
  await append(store, A, epoch, 0)
  disk.failNext('write', 'ENOSPC')
  await assert.rejects(append(store, A, epoch, 1, 50_000), StoreUnavailable)
  await append(store, A, epoch, 1, 400)
  disk.failNext('write', 'ENOSPC')
  await assert.rejects(append(store, A, epoch, 2, 50_000), StoreUnavailable)
  const copy = snapshot(t, path)
  const again = await open(t, { path: copy })
  assert.deepEqual(await offsetsOf(again.store, A), [0, 1])
})

test('if the next file cannot be created, the call is refused and the store continues', async t => {
  const { store, disk } = await open(t, { journalFileBytes: 64 << 10 })
  const epoch = await lead(store, A)
  disk.failNext('open', 'EFBIG', 1)
  let refusals = 0
  for (let at = 0; at < 12; ) {
    const outcome = await append(store, A, epoch, at, 9_000).catch((error: Error) => {
      assert.ok(error instanceof StoreUnavailable, error.stack)
      refusals++
      return null
    })
    if (outcome !== null) at++
  }
  assert.equal((await offsetsOf(store, A)).length, 12)
  assert.ok(refusals <= 1)
})

for (const fsync of ['always', 'interval'] as const) {
  test(`an fsync that fails ends the store, fsync ${fsync}`, async t => {
    const { store, disk, fatal, reports } = await open(t, { fsync })
    const epoch = await lead(store, A)
    await append(store, A, epoch, 0)
    disk.failNext('sync', 'EIO', 1)
    // OutcomeUnknown if the append's own sync failed; StoreUnavailable if the sync of the zeros ahead failed first.
    const [outcome] = await Promise.allSettled([append(store, A, epoch, 1)])
    if (outcome!.status === 'rejected') {
      assert.ok(outcome.reason instanceof OutcomeUnknown || outcome.reason instanceof StoreUnavailable, outcome.reason)
    } else assert.equal(fsync, 'interval')
    await until(() => fatal.length === 1)
    assert.match(fatal[0]!.message, /fdatasync of the journal failed: EIO/)
    for (const call of [
      append(store, A, epoch, 2),
      store.read(A, 0, EVERYTHING),
      store.streams(),
      store.load('k', 'n'),
    ]) {
      await assert.rejects(call, (error: Error) => {
        assert.ok(error instanceof StoreUnavailable)
        assert.match(error.message, /has stopped: fdatasync of the journal failed/)
        return true
      })
    }
    assert.equal(reports.length, 1)
    const calls = disk.calls
    await store.close()
    assert.equal(disk.calls, calls, 'no second sync pretends that all is well')
  })
}

test('files are used again after retention, and what they held before never comes back', async t => {
  const { store, path } = await open(t, { journalFileBytes: 128 << 10, checkpointBytes: 64 << 10 })
  const epoch = await lead(store, A)
  let files = 0
  for (let at = 0; at < 220; at++) {
    await append(store, A, epoch, at, 9_000)
    if (at > 30 && at % 10 === 0) await store.trim(A, epoch, at - 20, [])
    files = Math.max(files, fs.readdirSync(path).filter(name => /^(journal|spare)-/.test(name)).length)
  }
  assert.ok(files < 12, `${files} files for 30 live batches`)
  const copy = snapshot(t, path)
  const again = await open(t, { path: copy })
  assert.deepEqual(again.reports, [])
  const start = expectKind(await store.read(A, 0, EVERYTHING), 'trimmed').start
  assert.deepEqual(await offsetsOf(again.store, A, start), await offsetsOf(store, A, start))
})

test('a store whose folder was moved writes nothing more, and nothing into another folder at its path', async t => {
  const small = { journalFileBytes: 64 << 10, checkpointBytes: 32 << 10 }
  const { store, path } = await open(t, small)
  const epoch = await lead(store, A)
  for (let at = 0; at < 8; at++) await append(store, A, epoch, at, 9_000)
  const moved = `${path}-moved`
  const aside = `${path}-aside`
  t.after(() => {
    for (const each of [moved, aside]) fs.rmSync(each, { recursive: true, force: true })
  })
  fs.renameSync(path, moved)
  const other = await open(t, { path, ...small })
  const otherEpoch = await lead(other.store, B)
  const namesOf = (folder: string) => fs.readdirSync(folder).sort().join(' ')

  let end = 8
  let refusal: Error | null = null
  while (refusal === null) {
    const before = namesOf(path)
    await append(store, A, epoch, end, 9_000).then(
      () => end++,
      error => (refusal = error),
    )
    assert.equal(namesOf(path), before)
    assert.ok(end < 30, 'it goes on writing')
  }
  assert.ok((refusal as Error) instanceof StoreUnavailable)
  assert.match((refusal as Error).message, /the folder .* was moved, removed or replaced while the store was in it/)
  assert.ok((refusal as Error).message.includes(path))
  // An append that the present file has room for is refused too.
  await assert.rejects(append(store, A, epoch, end, 10), /was moved, removed or replaced/)
  assert.equal((await offsetsOf(store, A)).length, end)
  for (let at = 0; at < 20; at++) await append(other.store, B, otherEpoch, at, 9_000)
  await other.store.close()

  fs.renameSync(path, aside)
  fs.renameSync(moved, path)
  await append(store, A, epoch, end++, 9_000)
  await store.close()
  const again = await open(t, { path, ...small })
  assert.equal((await offsetsOf(again.store, A)).length, end)
  const second = await open(t, { path: aside, ...small })
  assert.equal((await offsetsOf(second.store, B)).length, 20)
})

test('a store whose folder was removed soon refuses to write, even if its files have room', async t => {
  const { store, path } = await open(t)
  const epoch = await lead(store, A)
  await append(store, A, epoch, 0)
  fs.rmSync(path, { recursive: true })
  let end = 1
  let refusal: Error | null = null
  const isRefused = async () => {
    await append(store, A, epoch, end, 10).then(
      () => end++,
      error => (refusal = error),
    )
    return refusal !== null
  }
  await eventually('an append is refused', isRefused, 60_000)
  assert.ok((refusal as unknown) instanceof StoreUnavailable)
  assert.match((refusal as unknown as Error).message, /was moved, removed or replaced/)
  assert.equal((await offsetsOf(store, A)).length, end)
})

test('a store whose folder was moved leaves another folder at its path unchanged when it closes', async t => {
  const { store, path } = await open(t)
  await append(store, A, await lead(store, A), 0)
  const moved = `${path}-moved`
  t.after(() => fs.rmSync(moved, { recursive: true, force: true }))
  fs.renameSync(path, moved)
  const other = await open(t, { path })
  const before = fs.readFileSync(join(path, 'lock-holder'), 'utf8')
  await store.close()
  assert.equal(fs.readFileSync(join(path, 'lock-holder'), 'utf8'), before)
  await other.store.close()
  const again = await open(t, { path: moved })
  assert.deepEqual(await offsetsOf(again.store, A), [0])
})

test('of files that are freed at once, some are kept for reuse and the others are unlinked', async t => {
  const { store, path } = await open(t, { fsync: 'interval', journalFileBytes: 64 << 10, checkpointBytes: 32 << 10 })
  const epoch = await lead(store, A)
  for (let at = 0; at < 120; at++) await append(store, A, epoch, at, 9_000)
  const journals = () => journalsIn(path)
  const before = new Set(journals())
  assert.ok(before.size > 12)
  await store.remove([A])
  const other = await lead(store, B)
  let at = 0
  await eventually(
    'files are given up',
    async () => {
      await append(store, B, other, at++)
      // Files that are made meanwhile do not count, because a slow disk may unlink fewer of them.
      return journals().filter(name => before.has(name)).length <= 2
    },
    60_000,
  )
  assert.ok(sparesIn(path).length <= 8, sparesIn(path).join(' '))
})

test('if an earlier run has left more than two spares, the others are unlinked', async t => {
  const { store, path } = await open(t)
  await store.close()
  for (let i = 1; i <= 9; i++) fs.writeFileSync(join(path, `spare-000000000${i}`), Buffer.alloc(9_000))
  await open(t, { path })
  assert.equal(sparesIn(path).length, 2)
})

test('a start that finds no reserve gives up all spares for it', async t => {
  const { store, path } = await open(t)
  await store.close()
  fs.rmSync(join(path, 'reserve'))
  for (let i = 1; i <= 2; i++) fs.writeFileSync(join(path, `spare-000000000${i}`), Buffer.alloc(9_000))
  await open(t, { path })
  assert.deepEqual(sparesIn(path), [])
  await eventually('it is made', () => fs.existsSync(join(path, 'reserve')))
})

test('files without live data are freed at a start, even if nothing is written', async t => {
  const options = { journalFileBytes: 64 << 10 }
  const { store, path } = await open(t, options)
  const epoch = await lead(store, A)
  for (let at = 0; at < 60; at++) await append(store, A, epoch, at, 9_000)
  await store.remove([A])
  await store.close()
  const journals = () => journalsIn(path)
  assert.ok(journals().length > 6, journals().join(' '))
  const again = await open(t, { ...options, path })
  await eventually('they are given up', () => journals().length <= 2)
  assert.deepEqual(again.reports, [])
})

test('a checkpoint that needs several turns puts its appends into the index, and appends made meanwhile can be read too', async t => {
  const { store, path } = await open(t, { fsync: 'interval', checkpointBytes: 100 << 10 })
  const epoch = await lead(store, A)
  const total = 2_000
  await Promise.all(Array.from({ length: total }, (_, at) => append(store, A, epoch, at)))
  const all = Array.from({ length: total }, (_, at) => at)
  assert.deepEqual(await offsetsOf(store, A), all)
  await store.close()
  const again = await open(t, { path })
  assert.deepEqual(again.reports, [])
  assert.deepEqual(await offsetsOf(again.store, A), all)
  assert.deepEqual((await offsetsOf(again.store, A, 1_234)).length, total - 1_234)
})

test('the live batches of mostly dead files are copied forward, and reads return the same bytes', async t => {
  const { store, path } = await open(t, { journalFileBytes: 128 << 10, checkpointBytes: 64 << 10 })
  const busy = await lead(store, A)
  const slow = await lead(store, B)
  const kept: Buffer[] = []
  for (let at = 0; at < 120; at++) {
    if (at % 20 === 0) {
      const batches = [0, 1, 2].map(i => exampleBatch(kept.length * 3 + i, 1, 500 + i, slow))
      expectKind(await store.append(exampleAppend(B, slow, kept.length * 3, batches)), 'appended')
      kept.push(Buffer.concat(batches.map(batch => batch.bytes)))
    }
    await append(store, A, busy, at, 9_000)
    await store.trim(A, busy, at, [])
  }
  const journals = () => journalsIn(path)
  // Append until the background has caught up: the first file is deleted only when its live batches have moved.
  for (let at = 120; journals().includes('journal-0000000001') || journals().length > 6; at++) {
    assert.ok(at < 2_000, `still there: ${journals().join(' ')}`)
    await append(store, A, busy, at, 9_000)
    await store.trim(A, busy, at, [])
  }
  const bytesOf = async (from: Store) =>
    Buffer.concat(expectKind(await from.read(B, 0, EVERYTHING), 'read').batches.map(batch => batch.bytes))
  assert.ok((await bytesOf(store)).equals(Buffer.concat(kept)))
  assert.deepEqual((await offsetsOf(store, B, 4))[0], 4)
  await store.close()
  const again = await open(t, { path })
  assert.ok((await bytesOf(again.store)).equals(Buffer.concat(kept)))
  const opened = expectKind(await again.store.open(B, 0, 0), 'opened')
  assert.deepEqual([opened.start, opened.end], [0, kept.length * 3])
})

test('the cost of copying a mostly dead file does not depend on the number of batches in other files', async t => {
  let lookedAt = 0
  const openIndex: typeof openTables = (...args) => {
    const tables = openTables(...args)
    const get = (key: Buffer) => {
      lookedAt++
      return tables.runs.get(key)
    }
    function* range(asked: Range) {
      for (const found of tables.runs.range(asked)) {
        lookedAt++
        yield found
      }
    }
    return { ...tables, runs: { get, range } }
  }
  const options = { fsync: 'interval', journalFileBytes: 128 << 10, checkpointBytes: 64 << 10, openIndex } as const
  const { store, path } = await open(t, options)
  const still = await lead(store, A)
  const many = 3_000
  await Promise.all(Array.from({ length: many }, (_, at) => append(store, A, still, at)))
  // The live batches of two mostly dead files.
  const busy = await lead(store, B)
  for (let at = 0; at < 30; at++) await append(store, B, busy, at, 9_000)
  await append(store, A, still, many)
  for (let at = 30; at < 60; at++) await append(store, B, busy, at, 9_000)
  const worn = journalsIn(path)
  lookedAt = 0
  let checkpoints = 0
  const isGone = () => {
    const left = new Set(fs.readdirSync(path))
    return worn.filter(name => !left.has(name)).length >= 4
  }
  for (let at = 60; !isGone(); at++) {
    assert.ok(++checkpoints < 3_000, 'the worn files stay')
    await append(store, B, busy, at, 9_000)
    await store.trim(B, busy, at, [])
  }
  assert.deepEqual(await offsetsOf(store, A, many), [many])
  assert.ok(lookedAt < many, `${lookedAt} runs were looked at`)
})

test('streams that are removed while their batches are copied forward leave no files behind', async t => {
  const { store, path } = await open(t, { fsync: 'interval', journalFileBytes: 64 << 10, checkpointBytes: 32 << 10 })
  const busy = await lead(store, A)
  let at = 0
  const churn = async (count: number) => {
    for (let i = 0; i < count; i++, at++) {
      await append(store, A, busy, at, 9_000)
      await store.trim(A, busy, at, [])
    }
  }
  for (let life = 0; life < 10; life++) {
    const slow = await lead(store, B)
    for (let i = 0; i < 4; i++) {
      await append(store, B, slow, i, 600)
      await churn(6)
    }
    await churn(life % 9)
    await store.remove([B])
  }
  const journals = () => journalsIn(path)
  for (const goal = at + 2_000; journals().length > 2; ) {
    assert.ok(at < goal, `still there: ${journals().join(' ')}`)
    await churn(1)
  }
})

test('a trimmed file is kept while a reader reads it', async t => {
  const { store } = await open(t, { journalFileBytes: 128 << 10, checkpointBytes: 32 << 10 })
  const epoch = await lead(store, A)
  for (let at = 0; at < 60; at++) await append(store, A, epoch, at, 9_000)
  const reads = Array.from({ length: 20 }, (_, i) => store.read(A, i, { maxBytes: 30_000, until: 60 }))
  await store.trim(A, epoch, 55, [])
  for (let at = 60; at < 120; at++) await append(store, A, epoch, at, 9_000)
  for (const [i, outcome] of (await Promise.all(reads)).entries()) {
    const [first] = expectKind(outcome, 'read').batches
    assert.ok(Buffer.from(first!.bytes).equals(exampleBatch(i, 1, 9_000, epoch).bytes))
  }
})

test('a document is not visible before its commit is on the disk', async t => {
  const sync = Promise.withResolvers<void>()
  t.after(() => sync.resolve())
  let isHeld = false
  const real = createFaultyDisk(seededRandom(7))
  const disk = {
    ...real,
    async open(path: string, create: boolean) {
      const file = await real.open(path, create)
      const heldSync = () => (isHeld ? sync.promise.then(() => file.sync()) : file.sync())
      return { ...file, sync: heldSync }
    },
  }
  const { store } = await open(t, { disk })
  isHeld = true
  const order: string[] = []
  const committed = store.commit({ kind: 'k', name: 'n', expect: 0, changes: [] }).then(() => order.push('committed'))
  // Once the round is written its sync is in progress, and no other call waits for one.
  for (let turn = 0; turn < 50; turn++) await new Promise(resolve => setImmediate(resolve))
  const loaded = store.load('k', 'n').then(document => order.push(document === null ? 'absent' : 'shown'))
  for (let turn = 0; turn < 50; turn++) await new Promise(resolve => setImmediate(resolve))
  assert.deepEqual(order, [])
  isHeld = false
  sync.resolve()
  await Promise.all([committed, loaded])
  assert.deepEqual(order, ['committed', 'shown'])
})

test('a slow sync is reported with its duration', async t => {
  let nowMs = 0
  const disk = createFaultyDisk(seededRandom(7))
  const slow: Disk = {
    ...disk,
    async open(path, create) {
      const file = await disk.open(path, create)
      return {
        ...file,
        async sync() {
          await file.sync()
          nowMs += 1500
        },
      }
    },
  }
  const { store, reports } = await open(t, { disk: slow, clock: { ...systemClock, monotonic: () => nowMs } })
  await lead(store, A)
  // At least one report: another file may be synced meanwhile.
  assert.match(reports.join('\n'), /the disk took \d\.\d s to sync the journal: produce waited/)
})
