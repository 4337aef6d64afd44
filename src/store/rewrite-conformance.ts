// The part of the conformance suite about `rewrite`: one named test for each promise, and random histories that are
// compared with a plain list of batches. Like conformance.ts it uses only the port.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { fc } from '../../testing/property.ts'
import { crc32c } from '../base/crc32c.ts'
import { exampleAppend, exampleBatch, expectKind, type StoreUnderTest } from './examples.ts'
import { type Batch, type Opened, type Read, type Row, type Store, streamId } from './store.ts'

const A = streamId('AAAAAAAAAAAAAAAAAAAAAQ', 0)
const EVERYTHING = { maxBytes: Number.MAX_SAFE_INTEGER, until: Number.MAX_SAFE_INTEGER }
const SIZE = 1000

const offsets = ({ batches }: Read) => batches.map(({ baseOffset }) => baseOffset)
const sizeOf = (batches: readonly Batch[]) => batches.reduce((sum, { bytes }) => sum + bytes.length, 0)
const plain = (rows: ReadonlyMap<string, Uint8Array>) =>
  Object.fromEntries([...rows].map(([key, value]) => [key, Buffer.from(value).toString()]))

/** The same place with another content: what cleaning leaves of a batch of ten records. */
function cleaned(baseOffset: number, size = 300, records = 3, epoch = 1): Batch {
  const batch = exampleBatch(baseOffset, 10, size, epoch)
  const bytes = Buffer.from(batch.bytes)
  bytes.writeInt32BE(records, 57)
  bytes.writeUInt32BE(crc32c(bytes.subarray(21)), 17)
  return { ...batch, recordCount: records, bytes }
}

/** Registers the tests. `open` creates an empty store and cleans up through the test context. */
export function rewriteConformance(name: string, open: (t: TestContext) => Promise<StoreUnderTest>): void {
  const check = (sentence: string, body: (under: StoreUnderTest) => Promise<void>): void => {
    test(`${name}: ${sentence}`, async t => body(await open(t)))
  }

  /** A led stream with batches of ten offsets: one for each of [0, 10), [10, 20), …, in appends of two batches. */
  async function filled(store: Store, batches: number): Promise<void> {
    await store.create([A])
    expectKind(await store.open(A, 0, 0), 'opened')
    for (let at = 0; at < batches * 10; at += 20) await fill(store, 1, at, Math.min(at + 20, batches * 10))
  }

  async function fill(store: Store, epoch: number, from: number, to: number): Promise<void> {
    const batches = []
    for (let at = from; at < to; at += 10) batches.push(exampleBatch(at, 10, SIZE, epoch))
    expectKind(await store.append(exampleAppend(A, epoch, from, batches)), 'appended')
  }

  const read = async (store: Store, from: number, limits = EVERYTHING) =>
    expectKind(await store.read(A, from, limits), 'read')
  const reopened = async (store: Store, known: number): Promise<Opened> =>
    expectKind(await store.open(A, known, 0), 'opened')
  const rewrite = async (
    store: Store,
    epoch: number,
    from: number,
    to: number,
    batches: readonly Batch[],
    rows: readonly Row[] = [],
  ) => expectKind(await store.rewrite({ stream: A, epoch, from, to, batches, rows }), 'rewritten')

  check('a rewrite replaces the batches of its range, and a read finds the next place in a gap', async ({ store }) => {
    await filled(store, 6)
    const outcome = await rewrite(store, 1, 0, 40, [cleaned(10), cleaned(30, 2000)])
    assert.deepEqual(outcome, { kind: 'rewritten', to: 40, until: outcome.until, bytes: 300 + 2000 + 2 * SIZE })
    for (const [from, expected] of [
      [0, [10, 30, 40, 50]],
      [10, [10, 30, 40, 50]],
      [19, [10, 30, 40, 50]],
      [20, [30, 40, 50]],
      [39, [30, 40, 50]],
      [40, [40, 50]],
      [59, [50]],
    ] as const) {
      assert.deepEqual(offsets(await read(store, from)), expected, `from ${from}`)
    }
    const { batches } = await read(store, 10)
    assert.deepEqual(
      batches.slice(0, 2).map(batch => ({ ...batch, bytes: Buffer.from(batch.bytes) })),
      [cleaned(10), cleaned(30, 2000)],
    )
    assert.deepEqual(offsets(await read(store, 0, { maxBytes: 2300, until: 60 })), [10, 30])
    assert.deepEqual(offsets(await read(store, 0, { maxBytes: 2299, until: 60 })), [10])
    assert.deepEqual(offsets(await read(store, 0, { ...EVERYTHING, until: 30 })), [10])
    assert.deepEqual(offsets(await read(store, 20, { ...EVERYTHING, until: 30 })), [])
  })

  check('end, high watermark, epochs and the last attempt stay, and the rows change with the batches', async under => {
    const { store } = under
    await filled(store, 2)
    const before = await reopened(store, 1)
    const rows = [
      { key: 'kept', value: Buffer.from('one') },
      { key: 'dropped', value: null },
    ]
    await store.trim(A, 2, 0, [{ key: 'dropped', value: Buffer.from('x') }])
    await rewrite(store, 2, 0, 20, [cleaned(10)], rows)
    assert.deepEqual(expectKind(await store.append(exampleAppend(A, 2, 20)), 'appended').end, 21)
    const after = await reopened(store, 2)
    assert.deepEqual([before.end, after.end, after.highWatermark], [20, 21, 21])
    assert.deepEqual(after.epochs.slice(0, 2), before.epochs)
    assert.deepEqual(plain(after.rows), { kept: 'one' })
    assert.equal(after.bytes, 300 + 100)
  })

  check('pieces follow each other, and the next pass begins at the log start', async under => {
    let { store } = under
    await filled(store, 6)
    await rewrite(store, 1, 0, 20, [cleaned(0)])
    await rewrite(store, 1, 20, 40, [])
    await rewrite(store, 1, 40, 50, [cleaned(40)])
    assert.deepEqual(offsets(await read(store, 0)), [0, 40, 50])
    await fill(store, 1, 60, 80)

    await rewrite(store, 1, 0, 10, [cleaned(0, 200)])
    assert.deepEqual(offsets(await read(store, 0)), [0, 40, 50, 60, 70])
    store = await under.reopen()
    const { pass, bytes } = await reopened(store, 1)
    assert.equal(bytes, 200 + 300 + 3 * SIZE)
    // A store may begin again at the log start, or must go on behind the piece.
    const from = pass.to >= pass.until ? 0 : pass.to
    await rewrite(store, 2, from, 50, from === 0 ? [cleaned(0, 200), cleaned(40, 250)] : [cleaned(40, 250)])
    assert.deepEqual(offsets(await read(store, 0)), [0, 40, 50, 60, 70])
    await rewrite(store, 2, 50, 70, [cleaned(60)])
    const end = await rewrite(store, 2, 70, 80, [cleaned(70, 100, 0)])
    assert.equal(end.bytes, 200 + 250 + 300 + 100)
    for (let round = 0; round < 3; round++) await rewrite(store, 2, 0, 80, [cleaned(70, 100, 0)])
    assert.deepEqual(offsets(await read(store, 0)), [70])
    assert.equal((await reopened(store, 2)).bytes, 100)
    await fill(store, 3, 80, 100)
    assert.deepEqual(offsets(await read(store, 0)), [70, 80, 90])
  })

  check('only the leader can rewrite, and a stream that does not exist is gone', async ({ store }) => {
    const asked = { stream: A, epoch: 1, from: 0, to: 20, batches: [cleaned(10)], rows: [] }
    assert.deepEqual(await store.rewrite(asked), { kind: 'gone' })
    await filled(store, 2)
    await reopened(store, 1)
    const late = await store.rewrite({ ...asked, rows: [{ key: 'late', value: Buffer.of(1) }] })
    assert.deepEqual(late, { kind: 'fenced', epoch: 2 })
    assert.deepEqual(offsets(await read(store, 0)), [0, 10])
    assert.equal((await reopened(store, 2)).rows.size, 0)
    await rewrite(store, 3, 0, 20, [cleaned(10)])
    assert.deepEqual(offsets(await read(store, 0)), [10])
  })

  check('trims and rewrites follow each other, and the sizes stay true', async under => {
    let { store } = under
    await filled(store, 8)
    await rewrite(store, 1, 0, 20, [cleaned(0), cleaned(10)])
    await rewrite(store, 1, 20, 40, [cleaned(30)])
    // Inside what was rewritten, inside one batch of it, across the end of the pass, and above.
    assert.deepEqual(await store.trim(A, 1, 10, []), { kind: 'trimmed', start: 10, bytes: 300 })
    assert.deepEqual(await store.trim(A, 1, 15, []), { kind: 'trimmed', start: 15, bytes: 0 })
    assert.deepEqual(offsets(await read(store, 15)), [10, 30, 40, 50, 60, 70])
    const bytes = sizeOf([cleaned(10, 150), cleaned(30, 250)]) + 4 * SIZE
    assert.equal((await rewrite(store, 1, 40, 50, [cleaned(40, 100)])).bytes, 300 + 300 + 100 + 3 * SIZE)
    // A new pass begins in the batch that contains the log start, which keeps its base offset.
    const outcome = await rewrite(store, 1, 15, 40, [cleaned(10, 150), cleaned(30, 250)])
    assert.equal(outcome.bytes, bytes - SIZE + 100)
    assert.deepEqual(offsets(await read(store, 15)), [10, 30, 40, 50, 60, 70])
    store = await under.reopen()
    assert.equal((await reopened(store, 1)).bytes, outcome.bytes)
    assert.deepEqual(await store.trim(A, 2, 45, []), { kind: 'trimmed', start: 45, bytes: 400 })
    assert.deepEqual(offsets(await read(store, 45)), [40, 50, 60, 70])
    assert.deepEqual(await store.trim(A, 2, 60, []), { kind: 'trimmed', start: 60, bytes: 100 + SIZE })
    const opened = await reopened(store, 2)
    assert.deepEqual([opened.start, opened.bytes], [60, 2 * SIZE])
    await rewrite(store, 3, 60, 80, [cleaned(70)])
    assert.deepEqual(offsets(await read(store, 60)), [70])
    assert.equal((await reopened(store, 3)).bytes, 300)
  })

  check('rewrites and other calls of one turn take effect in call order', async ({ store }) => {
    await filled(store, 2)
    const asked = { stream: A, epoch: 1, from: 0, to: 10, batches: [], rows: [] }
    const outcomes = await Promise.all([
      store.append(exampleAppend(A, 1, 20, [exampleBatch(20, 10, SIZE)])),
      store.rewrite(asked),
      store.append(exampleAppend(A, 1, 30, [exampleBatch(30, 10, SIZE)])),
      store.rewrite({ ...asked, from: 10, to: 20, batches: [cleaned(10)] }),
      store.trim(A, 1, 15, []),
      store.open(A, 1, 0),
      store.rewrite({ ...asked, from: 20, to: 30 }),
    ])
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ['appended', 'rewritten', 'appended', 'rewritten', 'trimmed', 'opened', 'fenced'],
    )
    assert.deepEqual(offsets(await read(store, 15)), [10, 20, 30])
    const whole = { ...asked, epoch: 2, from: 15, to: 40, batches: [cleaned(10), cleaned(20), cleaned(30)] }
    await Promise.all([store.rewrite(whole), store.rewrite({ ...whole, to: 20, batches: [] })])
    const { batches } = await read(store, 15)
    assert.deepEqual(
      batches.map(({ bytes }) => Buffer.from(bytes)),
      [cleaned(20), cleaned(30)].map(({ bytes }) => bytes),
    )
  })

  check('a read beside a rewrite returns the old batches or the new ones', async ({ store }) => {
    const count = 20
    await filled(store, count)
    const all = Array.from({ length: count }, (_, i) => i * 10)
    let isOver = false
    const reading = (async () => {
      for (let reads = 0; !isOver || reads < 5; reads++) {
        const from = (reads * 7) % (count * 10)
        const found = await store.read(A, from, { maxBytes: 5 * SIZE, until: count * 10 })
        const { batches } = expectKind(found, 'read')
        const first = Math.floor(from / 10) * 10
        assert.deepEqual(
          batches.map(({ baseOffset }) => baseOffset),
          all.filter(offset => offset >= first).slice(0, batches.length),
          `from ${from}`,
        )
        for (const { baseOffset, bytes } of batches) {
          assert.equal(Buffer.from(bytes).readBigInt64BE(0), BigInt(baseOffset), 'the bytes belong to their place')
        }
      }
    })()
    for (let pass = 1; pass <= 4; pass++) {
      for (let at = 0; at < count * 10; at += 40) {
        const batches = [0, 10, 20, 30].map(each => cleaned(at + each, SIZE - pass * 100, 10))
        await rewrite(store, 1, at, at + 40, batches)
      }
    }
    isOver = true
    await reading
    assert.equal((await reopened(store, 1)).bytes, count * (SIZE - 400))
  })

  check('random histories agree with a list of batches', async under => {
    const step = fc.record({
      what: fc.constantFrom('append', 'append', 'rewrite', 'rewrite', 'rewrite', 'trim', 'reopen', 'raise'),
      count: fc.integer({ min: 1, max: 4 }),
      keep: fc.infiniteStream(fc.integer({ min: 0, max: 2 })),
      size: fc.integer({ min: 100, max: 900 }),
    })
    const history = fc.array(step, { minLength: 10, maxLength: 60 })
    let { store } = under
    let topic = 0
    await fc.assert(
      fc.asyncProperty(history, async steps => {
        const stream = streamId('AAAAAAAAAAAAAAAAAAAAAg', topic++)
        await store.create([stream])
        let opened = expectKind(await store.open(stream, 0, 0), 'opened')
        let { start, end, pass, epoch } = opened
        let model: Batch[] = []
        for (const { what, count, keep, size } of steps) {
          if (what === 'append') {
            const batches = Array.from({ length: count }, (_, i) => exampleBatch(end + i * 10, 10, size + i, epoch))
            expectKind(await store.append(exampleAppend(stream, epoch, end, batches)), 'appended')
            model.push(...batches)
            end += count * 10
          } else if (what === 'rewrite') {
            const from = pass.to >= pass.until && size % 2 === 0 ? start : Math.max(start, pass.to)
            const replaced = model.filter(({ nextOffset }) => nextOffset > from).slice(0, count)
            const to = replaced.at(-1)?.nextOffset ?? end
            if (from >= to) continue
            const kept = []
            for (const [i, batch] of replaced.entries()) {
              const fate = batch === model.at(-1) ? 1 : keep.next().value
              if (fate === 2) kept.push(batch)
              else if (fate === 1) kept.push(exampleBatch(batch.baseOffset, 10, size + i, epoch))
            }
            const asked = { stream, epoch, from, to, batches: kept, rows: [] }
            const outcome = expectKind(await store.rewrite(asked), 'rewritten')
            const at = model.findIndex(({ nextOffset }) => nextOffset > from)
            if (at !== -1) model.splice(at, replaced.length, ...kept)
            assert.deepEqual([outcome.to, outcome.bytes], [to, sizeOf(model)])
            pass = outcome
          } else if (what === 'trim') {
            const before = start + count * 7
            const left = model.filter(({ nextOffset }) => nextOffset > Math.min(before, end))
            const outcome = expectKind(await store.trim(stream, epoch, before, []), 'trimmed')
            start = Math.min(before, end)
            assert.deepEqual([outcome.start, outcome.bytes], [start, sizeOf(model) - sizeOf(left)])
            model = left
          } else {
            if (what === 'reopen') store = await under.reopen()
            opened = expectKind(await store.open(stream, epoch, what === 'raise' ? end + count : 0), 'opened')
            ;({ start, end, pass, epoch } = opened)
            assert.deepEqual([opened.bytes], [sizeOf(model)])
          }
          const found = expectKind(await store.read(stream, start, EVERYTHING), 'read')
          assert.deepEqual(
            found.batches.map(({ baseOffset, bytes }) => [baseOffset, Buffer.from(bytes)]),
            model.map(({ baseOffset, bytes }) => [baseOffset, Buffer.from(bytes)]),
          )
          const middle = start + Math.floor((end - start) / 2)
          const [next] = expectKind(await store.read(stream, middle, { ...EVERYTHING, maxBytes: 1 }), 'read').batches
          assert.equal(next?.baseOffset, model.find(({ nextOffset }) => nextOffset > middle)?.baseOffset)
        }
      }),
      { numRuns: 30 },
    )
  })
}
