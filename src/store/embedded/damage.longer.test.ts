import assert from 'node:assert/strict'
import fs from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../testing/eventually.ts'
import { newFolder, snapshot } from '../../../testing/store-folder.ts'
import { systemClock } from '../../base/clock.ts'
import { crc32c } from '../../base/crc32c.ts'
import { exampleAppend, exampleBatch, expectKind } from '../examples.ts'
import type { Batch, Store } from '../store.ts'
import { type EmbeddedStoreOptions, openEmbeddedStore } from './embedded-store.ts'
import { decodeFileHeader, decodeRoundHeader, FIRST_ROUND, ROUND_HEADER_BYTES } from './entry.ts'
import { decodeRun } from './run-index.ts'
import { openTables } from './tables.ts'

const A = 'AAAAAAAAAAAAAAAAAAAAAQ:0'
const B = 'AAAAAAAAAAAAAAAAAAAAAQ:1'
const C = 'AAAAAAAAAAAAAAAAAAAAAQ:2'
const EVERYTHING = { maxBytes: Number.MAX_SAFE_INTEGER, until: Number.MAX_SAFE_INTEGER }

interface Opened {
  readonly store: Store
  readonly reports: string[]
}

async function open(t: TestContext, path: string, more: Partial<EmbeddedStoreOptions> = {}): Promise<Opened> {
  const reports: string[] = []
  const store = await openEmbeddedStore({
    path,
    fsync: 'always',
    fsyncIntervalMs: 0,
    clock: systemClock,
    report: message => reports.push(message),
    ...more,
  })
  t.after(() => store.close())
  return { store, reports }
}

async function lead(store: Store, stream: string): Promise<number> {
  await store.create([stream])
  return expectKind(await store.open(stream, 0, 0), 'opened').epoch
}

async function append(store: Store, stream: string, epoch: number, at: number, size = 300): Promise<void> {
  expectKind(await store.append(exampleAppend(stream, epoch, at, [exampleBatch(at, 1, size, epoch)])), 'appended')
}

const offsetsOf = async (store: Store, stream: string, from = 0) =>
  expectKind(await store.read(stream, from, EVERYTHING), 'read').batches.map(batch => batch.baseOffset)

const journalOf = (path: string, number = 1) => join(path, `journal-${String(number).padStart(10, '0')}`)

function edit(path: string, change: (bytes: Buffer) => Buffer | undefined): void {
  const bytes = fs.readFileSync(path)
  fs.writeFileSync(path, change(bytes) ?? bytes)
}

/** Returns the position of the first occurrence of the bytes in a file. */
function positionOf(path: string, needle: Uint8Array): number {
  const at = fs.readFileSync(path).indexOf(needle)
  assert.ok(at >= 0, 'the journal holds it')
  return at
}

test('a torn tail is cut, everything before it stays, and the next append goes there', async t => {
  const path = newFolder(t)
  const { store } = await open(t, path)
  const epoch = await lead(store, A)
  await append(store, A, epoch, 0)
  await append(store, A, epoch, 1)
  const before = snapshot(t, path)
  const last = exampleBatch(2, 1, 300, epoch)
  await append(store, A, epoch, 2)
  const after = snapshot(t, path)
  const whole = fs.readFileSync(journalOf(after))
  const base = fs.readFileSync(journalOf(before))
  const from = whole.findIndex((byte, i) => byte !== (base[i] ?? 0))
  const to = whole.indexOf(last.bytes) + last.bytes.length
  assert.ok(from > 4096 && to > from)
  // In the header, in the entry, in the batch. recovery.test.ts tests every single byte.
  for (const cut of [from + 20, from + 80, to - 100]) {
    for (const rest of ['zeros', 'end'] as const) {
      const torn = snapshot(t, after)
      fs.writeFileSync(
        journalOf(torn),
        rest === 'end' ? whole.subarray(0, cut) : Buffer.concat([whole.subarray(0, cut), Buffer.alloc(to - cut)]),
      )
      const again = await open(t, torn)
      const found = await offsetsOf(again.store, A)
      assert.deepEqual(found, [0, 1], `cut at ${cut} of ${from}..${to}, then ${rest}`)
      await append(again.store, A, expectKind(await again.store.open(A, 0, 0), 'opened').epoch, 2)
      await again.store.close()
    }
  }
})

test('a torn tail that was cut does not come back, whatever is written over it', async t => {
  const path = newFolder(t)
  const first = await open(t, path)
  const epoch = await lead(first.store, A)
  await append(first.store, A, epoch, 0)
  // Three rounds, one directly after the other, all after the last position that is known as synced: tear the first
  // of them.
  for (const at of [1, 2, 3]) await append(first.store, A, epoch, at)
  const torn = snapshot(t, path)
  const victim = positionOf(journalOf(torn), exampleBatch(3, 1, 300, epoch).bytes)
  edit(journalOf(torn), bytes => {
    bytes[victim + 100]! ^= 1
    return undefined
  })
  const second = await open(t, torn)
  assert.deepEqual(await offsetsOf(second.store, A), [0, 1, 2])
  assert.match(second.reports.join(), /a torn tail of \d+ bytes was cut from journal-0000000001 at \d+/)
  const stopped = snapshot(t, torn)
  const third = await open(t, stopped)
  assert.deepEqual(await offsetsOf(third.store, A), [0, 1, 2])
  const lead2 = expectKind(await third.store.open(A, 0, 0), 'opened')
  await append(third.store, A, lead2.epoch, 3, 299)
  const fourth = await open(t, snapshot(t, stopped))
  const { batches } = expectKind(await fourth.store.read(A, 3, EVERYTHING), 'read')
  assert.deepEqual(
    batches.map(batch => batch.bytes.length),
    [299],
  )
})

test('a batch with damaged bytes is returned unchanged, and the batches after it can be read', async t => {
  const path = newFolder(t)
  const { store } = await open(t, path)
  const epoch = await lead(store, A)
  for (const at of [0, 1, 2]) await append(store, A, epoch, at)
  await store.close()
  const at = positionOf(journalOf(path), exampleBatch(1, 1, 300, epoch).bytes)
  for (const byte of [8, 20, 57, 200]) {
    const copy = snapshot(t, path)
    edit(journalOf(copy), bytes => {
      bytes[at + byte]! ^= 0x41
      return undefined
    })
    const again = await open(t, copy)
    const { batches } = expectKind(await again.store.read(A, 0, EVERYTHING), 'read')
    assert.deepEqual(
      batches.map(batch => [batch.baseOffset, batch.nextOffset]),
      [
        [0, 1],
        [1, 2],
        [2, 3],
      ],
    )
    const bytes = batches.map(batch => Buffer.from(batch.bytes))
    const sound = bytes.map(each => each.readUInt32BE(17) === crc32c(each.subarray(21)) && each.length === 300)
    assert.deepEqual(sound, [true, byte === 8, true], 'the CRC tells the reader')
    await again.store.close()
  }
})

/** Damages the round that contains these bytes: its header is 64 bytes before its first entry. */
function spoilRound(
  path: string,
  needle: Uint8Array | string,
  at: readonly number[] = [20, 64 + 15],
  file = 1,
): number {
  const bytes = fs.readFileSync(journalOf(path, file))
  const from = bytes.lastIndexOf('KRND', bytes.indexOf(needle))
  assert.ok(from >= 4096, 'the journal holds it')
  for (const each of at) bytes[from + each]! ^= 1
  fs.writeFileSync(journalOf(path, file), bytes)
  return from
}

test('a round whose header alone is damaged loses nothing', async t => {
  const path = newFolder(t)
  const { store } = await open(t, path)
  const epoch = await lead(store, A)
  for (const at of [0, 1, 2]) await append(store, A, epoch, at)
  await store.commit({ kind: 'k', name: 'document', expect: 0, changes: [] })
  await append(store, A, epoch, 3)
  await append(store, A, epoch, 4)
  for (const needle of [exampleBatch(1, 1, 300, epoch).bytes, 'document']) {
    const copy = snapshot(t, path)
    const position = spoilRound(copy, needle, [20])
    const again = await open(t, copy)
    assert.deepEqual(again.reports, [
      `the header of the round in journal-0000000001 at ${position} was damaged; its content is complete and kept`,
    ])
    assert.deepEqual(await offsetsOf(again.store, A), [0, 1, 2, 3, 4])
    const { batches } = expectKind(await again.store.read(A, 1, EVERYTHING), 'read')
    assert.ok(Buffer.from(batches[0]!.bytes).equals(exampleBatch(1, 1, 300, epoch).bytes))
    assert.equal((await again.store.load('k', 'document'))?.version, 1)
  }
})

test('streams that may have lost their newest batches refuse appends, whether or not they were appended to later', async t => {
  const path = newFolder(t)
  const { store } = await open(t, path)
  const epochs = [await lead(store, A), await lead(store, B), await lead(store, C)] as const
  for (const [i, stream] of [A, B, C].entries()) await append(store, stream, epochs[i]!, 0)
  await append(store, A, epochs[0], 1, 777)
  await append(store, B, epochs[1], 1)
  await store.commit({ kind: 'k', name: 'n', expect: 0, changes: [] })
  const copy = snapshot(t, path)
  const position = spoilRound(copy, exampleBatch(1, 1, 777, epochs[0]).bytes)
  for (let start = 0; start < 2; start++) {
    const again = await open(t, copy)
    if (start === 0) {
      const pattern = `${A} is damaged: batches from offset 1 on may have been .*journal-0000000001 at ${position}`
      assert.match(again.reports.join('\n'), new RegExp(pattern))
    }
    for (const stream of [A, C]) {
      const opened = expectKind(await again.store.open(stream, 0, 0), 'opened')
      assert.equal(opened.damage?.offset, 1, stream)
      assert.deepEqual(await offsetsOf(again.store, stream), [0])
      expectKind(await again.store.append(exampleAppend(stream, opened.epoch, opened.end)), 'damaged')
    }
    assert.equal(expectKind(await again.store.open(B, 0, 0), 'opened').damage, null)
    assert.deepEqual(await offsetsOf(again.store, B), [0, 1])
    await again.store.close()
  }
})

test('a stream that is opened again after the loss does not hide it', async t => {
  const path = newFolder(t)
  const { store } = await open(t, path)
  const epoch = await lead(store, A)
  await append(store, A, epoch, 0)
  await append(store, A, epoch, 1, 777)
  const opened = expectKind(await store.open(A, 0, 0), 'opened')
  await append(store, A, opened.epoch, 2)
  await store.commit({ kind: 'k', name: 'n', expect: 0, changes: [] })
  const copy = snapshot(t, path)
  spoilRound(copy, exampleBatch(1, 1, 777, epoch).bytes)
  const again = await open(t, copy)
  const { damage } = expectKind(await again.store.open(A, 0, 0), 'opened')
  assert.equal(damage?.offset, 1)
  assert.match(damage.message, /offsets 1 to 1 were in a part of the journal that is damaged/)
  assert.deepEqual(await offsetsOf(again.store, A), [0])
})

test('a store that may have lost a commit is refused with the position of the damage, and does not change', async t => {
  const path = newFolder(t)
  const { store } = await open(t, path)
  const epoch = await lead(store, A)
  await append(store, A, epoch, 0)
  const commit = async (name: string) => {
    const { version } = (await store.load('k', name)) ?? { version: 0 }
    await store.commit({ kind: 'k', name, expect: version, changes: [{ key: 'f', value: Buffer.from(name) }] })
  }
  await commit('first-one')
  for (const at of [1, 2]) await append(store, A, epoch, at)
  const unproven = snapshot(t, path)
  await commit('second-one')
  await append(store, A, epoch, 3)
  const proven = snapshot(t, path)
  for (const [folder, at] of [
    [unproven, [20, 64 + 15]],
    [unproven, [64 + 15]],
    [proven, [20, 64 + 15]],
    [proven, [64 + 15]],
  ] as const) {
    const copy = snapshot(t, folder)
    const position = spoilRound(copy, 'first-one', at)
    await assert.rejects(open(t, copy), (error: Error) => {
      assert.equal(error.name, 'StoreOpenError')
      assert.ok(error.message.includes(copy) && error.message.includes(`journal-0000000001 at ${position}`))
      assert.match(error.message, /commits .* were lost there or may have been/)
      return true
    })
    if (folder !== proven) continue
    spoilRound(copy, 'first-one', at)
    const again = await open(t, copy)
    assert.equal((await again.store.load('k', 'first-one'))?.version, 1)
  }
})

test('a store that was killed cannot be opened without its newest journal file', async t => {
  const path = newFolder(t)
  const { store } = await open(t, path)
  await append(store, A, await lead(store, A), 0)
  const missing = snapshot(t, path)
  fs.unlinkSync(journalOf(missing))
  await assert.rejects(open(t, missing), /journal-0000000001, the newest journal file, is missing; restore it/)
  const headless = snapshot(t, path)
  edit(journalOf(headless), bytes => bytes.fill(0, 0, 32))
  await assert.rejects(open(t, headless), /journal-0000000001, the newest journal file, is damaged; restore it/)
})

test('a round lost before the tail makes its stream damaged, and other streams continue', async t => {
  const path = newFolder(t)
  const { store } = await open(t, path)
  const epochs = [await lead(store, A), await lead(store, B), await lead(store, C)] as const
  for (const at of [0, 1]) for (const [i, stream] of [A, B, C].entries()) await append(store, stream, epochs[i]!, at)
  const broken = exampleBatch(2, 1, 777, epochs[0])
  await append(store, A, epochs[0], 2, 777)
  for (const at of [2, 3]) for (const [i, stream] of [B, C].entries()) await append(store, stream, epochs[i + 1]!, at)
  await append(store, A, epochs[0], 3)
  await append(store, B, epochs[1], 4)
  await store.commit({ kind: 'k', name: 'n', expect: 0, changes: [] })
  const copy = snapshot(t, path)
  spoilRound(copy, broken.bytes)
  const again = await open(t, copy)
  assert.match(again.reports.join('\n'), /1 round\(s\) of the journal from journal-0000000001 at \d+ on cannot be read/)
  assert.match(again.reports.join('\n'), new RegExp(`stream ${A} is damaged: offsets 2 to 2 were in`))
  const opened = expectKind(await again.store.open(A, 0, 0), 'opened')
  assert.equal(opened.damage?.offset, 2)
  assert.deepEqual(await offsetsOf(again.store, A), [0, 1])
  const refused = [
    await again.store.append(exampleAppend(A, opened.epoch, opened.end)),
    await again.store.read(A, 2, EVERYTHING),
  ]
  for (const each of refused) assert.match(expectKind(each, 'damaged').message, /journal that is damaged/)
  assert.deepEqual(await offsetsOf(again.store, B), [0, 1, 2, 3, 4])
  await append(again.store, B, expectKind(await again.store.open(B, 0, 0), 'opened').epoch, 5)
  assert.deepEqual(await offsetsOf(again.store, C), [0, 1, 2, 3])
  // The damage is remembered.
  await again.store.close()
  const third = await open(t, copy)
  assert.equal(expectKind(await third.store.open(A, 0, 0), 'opened').damage?.offset, 2)
})

test('a damaged entry before the tail damages its own stream only', async t => {
  const path = newFolder(t)
  const { store } = await open(t, path)
  const epochs = [await lead(store, A), await lead(store, B)] as const
  await Promise.all([append(store, A, epochs[0], 0), append(store, B, epochs[1], 0)])
  for (const [i, stream] of [A, B].entries()) await append(store, stream, epochs[i]!, 1)
  await append(store, B, epochs[1], 2)
  const copy = snapshot(t, path)
  const batch = positionOf(journalOf(copy), exampleBatch(0, 1, 300, epochs[0]).bytes)
  edit(journalOf(copy), bytes => {
    bytes[bytes.lastIndexOf('KRND', batch) + 64 + 15]! ^= 1 // in the first entry's body
    return undefined
  })
  const again = await open(t, copy)
  assert.match(again.reports.join('\n'), /entries of the round in journal-0000000001 at \d+ cannot be read/)
  assert.equal(expectKind(await again.store.open(A, 0, 0), 'opened').damage?.offset, 0)
  const b = expectKind(await again.store.read(B, 0, EVERYTHING), 'read').batches
  assert.deepEqual(
    b.map(each => Buffer.from(each.bytes)),
    [0, 1, 2].map(at => exampleBatch(at, 1, 300, epochs[1]).bytes),
  )
})

/** Asserts that the index counts, for each journal file, the bytes of the runs that lie in it. Returns the counts. */
async function assertCounted(path: string): Promise<ReadonlyMap<number, number>> {
  const tables = openTables(join(path, 'index'), 0)
  const everything = { start: Buffer.of(0), end: Buffer.alloc(16, 0xff) }
  try {
    const counted = new Map<number, number>()
    for (const { key, value } of tables.files.range(everything)) counted.set(key.readUInt32BE(0), value.readDoubleBE(0))
    const found = new Map([...counted.keys()].map(file => [file, 0]))
    for (const { key, value } of tables.runs.range(everything)) {
      const { file, length } = decodeRun(key, value)
      found.set(file, (found.get(file) ?? 0) + length)
    }
    assert.deepEqual(counted, found)
    return counted
  } finally {
    await tables.close()
  }
}

/** Asserts that the stream has exactly these batches, and that its size is theirs. */
async function assertHolds(store: Store, stream: string, opened: { bytes: number }, batches: readonly Buffer[]) {
  const read = expectKind(await store.read(stream, 0, EVERYTHING), 'read')
  assert.deepEqual(
    read.batches.map(({ bytes }) => Buffer.from(bytes)),
    batches,
  )
  assert.equal(
    opened.bytes,
    batches.reduce((sum, { length }) => sum + length, 0),
  )
}

for (const [what, at] of [
  ['whose entry is damaged', [64 + 15]],
  ['whose round is damaged', [20, 64 + 15]],
] as const) {
  for (const isAppendedTo of [false, true]) {
    const then = isAppendedTo ? ', and an append follows' : ''
    test(`a rewrite ${what} before the tail${then} is undone with all later ones`, async t => {
      const path = newFolder(t)
      const options = { journalFileBytes: 32 << 10 }
      const { store } = await open(t, path, options)
      const epochs = [await lead(store, A), await lead(store, B)] as const
      for (const offset of [0, 1, 2, 3]) {
        for (const [i, stream] of [A, B].entries()) await append(store, stream, epochs[i]!, offset)
      }
      const piece = (stream: string, epoch: number, from: number, batch: Batch) =>
        store.rewrite({
          stream,
          epoch,
          from,
          to: from + 2,
          batches: [batch],
          rows: [{ key: 'c', value: Buffer.of(1) }],
        })
      const first = exampleBatch(1, 1, 222, epochs[0])
      expectKind(await piece(A, epochs[0], 0, first), 'rewritten')
      expectKind(await piece(A, epochs[0], 2, exampleBatch(3, 1, 111)), 'rewritten')
      // The next pass begins at the log start, so it alone does not show that a piece is missing.
      expectKind(await piece(A, epochs[0], 0, exampleBatch(0, 1, 99)), 'rewritten')
      expectKind(await piece(B, epochs[1], 0, exampleBatch(0, 1, 88)), 'rewritten')
      for (const offset of [4, 5]) await append(store, B, epochs[1], offset)
      if (isAppendedTo) await append(store, A, epochs[0], 4)
      await store.commit({ kind: 'k', name: 'n', expect: 0, changes: [] })
      const copy = snapshot(t, path)
      spoilRound(copy, first.bytes, at)

      const before = (offsets: readonly number[], epoch: number) =>
        offsets.map(offset => exampleBatch(offset, 1, 300, epoch).bytes as Buffer)
      const asBefore = [
        before(isAppendedTo ? [0, 1, 2, 3, 4] : [0, 1, 2, 3], epochs[0]),
        before([0, 1, 2, 3, 4, 5], epochs[1]),
      ]
      for (let start = 0; start < 2; start++) {
        const again = await open(t, copy, options)
        if (start === 0)
          assert.match(
            again.reports.join('\n'),
            /journal-0000000001 at \d+ .*cannot be read|journal from journal-0000000001/,
          )
        for (const [i, stream] of [A, B].entries()) {
          const opened = expectKind(await again.store.open(stream, 0, 0), 'opened')
          const isDamaged = stream === A && !isAppendedTo
          assert.equal(opened.damage?.offset, isDamaged ? 4 : undefined, stream)
          assert.deepEqual([opened.pass, [...opened.rows.keys()]], [{ to: 0, until: 0 }, []])
          await assertHolds(again.store, stream, opened, asBefore[i]!)
          const next = await again.store.append(exampleAppend(stream, opened.epoch, opened.end))
          assert.equal(next.kind, isDamaged ? 'damaged' : 'appended')
          if (!isDamaged) asBefore[i]!.push(exampleBatch(opened.end, 1, 100, opened.epoch).bytes as Buffer)
        }
        await again.store.close()
        await assertCounted(copy)
      }
    })
  }
}

test('after a lost rewrite the stream is rewritten again, and the files of the journal are freed', async t => {
  const path = newFolder(t)
  const options = { journalFileBytes: 32 << 10 }
  const { store } = await open(t, path, options)
  const epoch = await lead(store, A)
  for (let at = 0; at < 30; at++) await append(store, A, epoch, at, 9_000)
  await store.close()
  const second = await open(t, path, options)
  const lead2 = expectKind(await second.store.open(A, 0, 0), 'opened')
  const rewrite = (to: Store, of: number, from: number, batch: Batch) =>
    to.rewrite({ stream: A, epoch: of, from, to: from + 10, batches: [batch], rows: [] })
  const lost = exampleBatch(9, 1, 222, epoch)
  expectKind(await rewrite(second.store, lead2.epoch, 0, lost), 'rewritten')
  expectKind(await rewrite(second.store, lead2.epoch, 10, exampleBatch(19, 1, 333)), 'rewritten')
  await append(second.store, A, lead2.epoch, 30)
  const copy = snapshot(t, path)
  const journals = fs.readdirSync(copy).filter(name => name.startsWith('journal-'))
  assert.ok(journals.length > 8, `${journals.length} files`)
  const holder = journals.findLast(name => fs.readFileSync(join(copy, name)).includes(Buffer.from(lost.bytes)))!
  spoilRound(copy, lost.bytes, [64 + 15], Number(holder.slice('journal-'.length)))

  const again = await open(t, copy, { ...options, checkpointBytes: 1 })
  const opened = expectKind(await again.store.open(A, 0, 0), 'opened')
  assert.deepEqual([opened.damage, opened.bytes, opened.pass.to], [null, 30 * 9_000 + 300, 0])
  assert.deepEqual(await offsetsOf(again.store, A), [...Array(31).keys()])
  for (const from of [0, 10]) {
    expectKind(await rewrite(again.store, opened.epoch, from, exampleBatch(from + 9, 1, 222)), 'rewritten')
  }
  const left = [9, 19, ...Array.from({ length: 11 }, (_, i) => 20 + i)]
  assert.deepEqual(await offsetsOf(again.store, A), left)
  let at = 31
  await eventually('the files with what was replaced are freed', async () => {
    await append(again.store, A, opened.epoch, at++)
    return fs.readdirSync(copy).filter(name => name.startsWith('journal-')).length <= 7
  })
  await again.store.close()
  const counted = await assertCounted(copy)
  const third = await open(t, copy, options)
  const { bytes, pass } = expectKind(await third.store.open(A, 0, 0), 'opened')
  assert.equal(
    bytes,
    [...counted.values()].reduce((sum, each) => sum + each, 0),
  )
  assert.deepEqual([bytes, pass.to], [2 * 222 + 10 * 9_000 + (at - 30) * 300, 20])
  assert.deepEqual(await offsetsOf(third.store, A), [...left, ...Array.from({ length: at - 31 }, (_, i) => 31 + i)])
})

test('a missing or truncated journal file damages the streams that need it, and no others', async t => {
  const path = newFolder(t)
  const { store } = await open(t, path, { journalFileBytes: 32 << 10 })
  const epochs = [await lead(store, A), await lead(store, B)] as const
  for (let at = 0; at < 20; at++) await append(store, A, epochs[0], at, 9_000)
  for (let at = 0; at < 3; at++) await append(store, B, epochs[1], at)
  await store.close()
  const files = fs.readdirSync(path).filter(name => name.startsWith('journal-'))
  assert.ok(files.length > 4)
  for (const kind of ['missing', 'truncated', 'empty'] as const) {
    const copy = snapshot(t, path)
    if (kind === 'missing') fs.unlinkSync(journalOf(copy, 2))
    else fs.truncateSync(journalOf(copy, 2), kind === 'empty' ? 0 : 15_000)
    const again = await open(t, copy, { journalFileBytes: 32 << 10 })
    const damage = expectKind(await again.store.open(A, 0, 0), 'opened').damage
    assert.ok(damage !== null && damage.offset > 0 && damage.offset < 8, kind)
    assert.match(damage.message, /journal-0000000002, which is (missing|truncated)/)
    assert.equal((await offsetsOf(again.store, A)).length, damage.offset)
    assert.equal((await again.store.read(A, damage.offset, EVERYTHING)).kind, 'damaged')
    assert.deepEqual(await offsetsOf(again.store, B), [0, 1, 2])
    await append(again.store, B, expectKind(await again.store.open(B, 0, 0), 'opened').epoch, 3)
    await again.store.close()
  }
})

test('a folder that cannot be a store is refused with one sentence that names it', async t => {
  const path = newFolder(t)
  const { store } = await open(t, path, { journalFileBytes: 32 << 10 })
  const epoch = await lead(store, A)
  for (let at = 0; at < 8; at++) await append(store, A, epoch, at, 9_000)
  await store.close()
  const refuses = async (folder: string, pattern: RegExp) => {
    await assert.rejects(open(t, folder), (error: Error) => {
      assert.equal(error.name, 'StoreOpenError')
      assert.match(error.message, pattern)
      assert.ok(error.message.includes(folder) && !error.message.trim().includes('\n'), error.message)
      return true
    })
  }
  const broken = (change: (folder: string) => void): string => {
    const copy = snapshot(t, path)
    change(copy)
    return copy
  }
  await refuses(
    broken(folder => fs.unlinkSync(join(folder, 'format'))),
    /but no format file/,
  )
  await refuses(
    broken(folder => fs.unlinkSync(join(folder, 'index'))),
    /but no index/,
  )
  await refuses(
    broken(folder => fs.writeFileSync(join(folder, 'format'), '{"layout":9}')),
    /its format is/,
  )
  await refuses(
    broken(folder => fs.writeFileSync(join(folder, 'index'), 'rubbish'.repeat(9999))),
    /not an lmdb file/,
  )
  await refuses(
    broken(folder => fs.truncateSync(join(folder, 'index'), 0)),
    /index is empty/,
  )
  // Space that was filled ahead does not count.
  const cut = (folder: string) => fs.truncateSync(join(folder, 'index'), 3 * 4096)
  await refuses(broken(cut), /index .* is truncated: it holds/)
  await refuses(
    broken(folder => fs.writeFileSync(join(folder, 'notes.txt'), '')),
    /another program \("notes.txt"\)/,
  )
  const file = join(newFolder(t), 'file')
  fs.writeFileSync(file, '')
  await refuses(file, /is not a folder/)
  await refuses(join(file, 'below'), /is not a folder/)
  await refuses('/proc/ketch/below', /\/proc\/ketch cannot be made there/)
})

test('a second store on the folder is refused at once, and the error names the process that uses it', async t => {
  const path = newFolder(t)
  const { store } = await open(t, path)
  await assert.rejects(
    open(t, path),
    new RegExp(
      `${path} cannot be opened: it is in use by this process \\(${process.pid}\\); end that broker, or give this one a folder`,
    ),
  )
  await lead(store, A)
  await store.close()
  const again = await open(t, path)
  assert.deepEqual(await again.store.streams(), [A])
})

test('only the owner can read the folder and its files', async t => {
  const path = join(newFolder(t), 'deep', 'store')
  const { store } = await open(t, path)
  await lead(store, A)
  assert.equal(fs.statSync(path).mode & 0o777, 0o700)
  for (const name of fs.readdirSync(path)) assert.equal(fs.statSync(join(path, name)).mode & 0o777, 0o600, name)
})

test('a path that is too long for a socket address works', async t => {
  const path = join(newFolder(t), 'x'.repeat(120), 'y'.repeat(120))
  const { store } = await open(t, path)
  await lead(store, A)
  await assert.rejects(open(t, path), /in use by this process/)
})

/** Returns the positions of the rounds in a journal file, including old rounds that follow them without a gap. */
function roundsOf(path: string): number[] {
  const bytes = fs.readFileSync(path)
  const { incarnation } = decodeFileHeader(bytes)!
  const positions: number[] = []
  for (let at = FIRST_ROUND; ; ) {
    const header = decodeRoundHeader(bytes.subarray(at, at + ROUND_HEADER_BYTES), incarnation)
    if (header === null) return positions
    positions.push(at)
    at += header.roundBytes
  }
}

/** Returns the sequence of the last round that a folder's checkpoint covers. */
async function checkpointed(path: string): Promise<number> {
  const tables = openTables(join(path, 'index'), 0)
  try {
    return JSON.parse(String(tables.meta.get(Buffer.from('store')))).sequence
  } finally {
    await tables.close()
  }
}

test('a torn tail that was cut stays away after the next crash, though its rest follows the checkpoint', async t => {
  const path = newFolder(t)
  const first = await open(t, path)
  await append(first.store, A, await lead(first.store, A), 0)
  await first.store.close()
  const journal = 'journal-0000000001'

  // Two rounds are in flight when the power goes: an opening, and an append. Only the second has reached the disk.
  const torn = await open(t, path, { fsync: 'interval', fsyncIntervalMs: 3_600_000 })
  const { epoch } = expectKind(await torn.store.open(A, 0, 0), 'opened')
  await append(torn.store, A, epoch, 1)
  const cut = snapshot(t, path)
  const fd = fs.openSync(join(cut, journal), 'r+')
  fs.writeSync(fd, Buffer.alloc(16, 7), 0, 16, roundsOf(join(path, journal)).at(-2)! + ROUND_HEADER_BYTES)
  fs.closeSync(fd)

  // The next start cuts both, opens the stream with a round of the same length, takes a checkpoint and is killed.
  const served = await open(t, cut, { checkpointBytes: 1 })
  assert.match(served.reports.join('\n'), /a torn tail of \d+ bytes was cut/)
  assert.equal(expectKind(await served.store.open(A, 0, 0), 'opened').end, 1)
  const goal = 4
  let killed = snapshot(t, cut)
  await eventually('the checkpoint', async () => {
    fs.rmSync(killed, { recursive: true })
    killed = snapshot(t, cut)
    return (await checkpointed(killed)) === goal
  })
  assert.equal(roundsOf(join(killed, journal)).length, goal + 1, 'the ghost lies where the next round would begin')

  const last = await open(t, killed)
  assert.equal(expectKind(await last.store.open(A, 0, 0), 'opened').end, 1)
  assert.deepEqual(await offsetsOf(last.store, A), [0])
})
