// The conformance suite that every adapter of the store port must pass. It has one named test for each promise of
// store.ts and uses only the port. It does not test speed, crashes or faults: each adapter has its own tests for
// them.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import { exampleAppend, exampleBatch, expectKind, type StoreUnderTest } from './examples.ts'
import { rewriteConformance } from './rewrite-conformance.ts'
import type { Append, Appended, Committed, Opened, Read, Row, Store } from './store.ts'
import { streamId } from './store.ts'

const A = streamId('AAAAAAAAAAAAAAAAAAAAAQ', 0)
const B = streamId('AAAAAAAAAAAAAAAAAAAAAQ', 1)
const EVERYTHING = { maxBytes: Number.MAX_SAFE_INTEGER, until: Number.MAX_SAFE_INTEGER }

const bytesOf = (text: string): Uint8Array => Buffer.from(text)
const row = (key: string, value: string | null): Row => ({ key, value: value === null ? null : bytesOf(value) })
const plain = (rows: ReadonlyMap<string, Uint8Array>) =>
  Object.fromEntries([...rows].map(([key, value]) => [key, Buffer.from(value).toString()]))
const offsets = (read: Read) => read.batches.map(batch => batch.baseOffset)

/** Registers the suite. `open` creates an empty store and cleans up through the test context. */
export function storeConformance(name: string, open: (t: TestContext) => Promise<StoreUnderTest>): void {
  rewriteConformance(name, open)

  const check = (sentence: string, body: (under: StoreUnderTest) => Promise<void>): void => {
    test(`${name}: ${sentence}`, async t => body(await open(t)))
  }

  async function led(store: Store, stream = A): Promise<Opened> {
    await store.create([stream])
    return expectKind(await store.open(stream, 0, 0), 'opened')
  }

  async function append(store: Store, request: Append): Promise<Appended> {
    return expectKind(await store.append(request), 'appended')
  }

  async function read(store: Store, from: number, limits = EVERYTHING, stream = A): Promise<Read> {
    return expectKind(await store.read(stream, from, limits), 'read')
  }

  check('a new stream is empty, at offset 0, and its first lead has epoch 1', async ({ store }) => {
    const opened = await led(store)
    assert.deepEqual(
      { ...opened, rows: plain(opened.rows) },
      {
        kind: 'opened',
        epoch: 1,
        start: 0,
        end: 0,
        highWatermark: 0,
        emptyFrom: 0,
        bytes: 0,
        epochs: [{ epoch: 1, startOffset: 0 }],
        rows: {},
        lastAttempt: null,
        pass: { to: 0, until: 0 },
        incarnation: opened.incarnation,
        damage: null,
      },
    )
    assert.deepEqual(offsets(await read(store, 0)), [])
  })

  check('the circuit breaker of a store that answers blocks nothing', async ({ store, reopen }) => {
    const answers = async (one: Store) => {
      await one.create([A])
      assert.ok(one.breaker === 'closed' || one.breaker === 'disabled', one.breaker)
      return one.breaker
    }
    assert.equal(await answers(store), await answers(await reopen()))
  })

  check('the largest timestamp that a batch can have is kept', async ({ store, reopen }) => {
    await led(store)
    const batch = { ...exampleBatch(0), maxTimestamp: 2 ** 63 }
    Buffer.from(batch.bytes.buffer, batch.bytes.byteOffset, batch.bytes.length).writeBigInt64BE(2n ** 63n - 1n, 35)
    await append(store, exampleAppend(A, 1, 0, [batch]))
    const found = async (from: Store) => (await read(from, 0)).batches.map(({ maxTimestamp }) => maxTimestamp)
    assert.deepEqual(await found(store), [2 ** 63])
    assert.deepEqual(await found(await reopen()), [2 ** 63])
  })

  check('every call on a stream that does not exist returns gone', async ({ store }) => {
    assert.equal((await store.open(A, 0, 0)).kind, 'gone')
    assert.equal((await store.append(exampleAppend(A, 1, 0))).kind, 'gone')
    assert.equal((await store.confirm(A, 1)).kind, 'gone')
    assert.equal((await store.read(A, 0, EVERYTHING)).kind, 'gone')
    assert.equal((await store.trim(A, 1, 0, [])).kind, 'gone')
  })

  check('creating a stream that exists leaves it as it is', async ({ store }) => {
    await led(store)
    await append(store, exampleAppend(A, 1, 0))
    await store.create([A, B])
    assert.deepEqual(offsets(await read(store, 0)), [0])
    assert.deepEqual([...(await store.streams())].sort(), [A, B])
  })

  check('a removed stream is gone with its rows, and begins empty if it is created again', async ({ store }) => {
    await led(store)
    await append(store, exampleAppend(A, 1, 0, undefined, [row('producer', 'x')]))
    await store.remove([A, B])
    assert.deepEqual(await store.streams(), [])
    assert.equal((await store.read(A, 0, EVERYTHING)).kind, 'gone')
    const again = await led(store)
    assert.deepEqual([again.epoch, again.start, again.end, again.bytes, again.rows.size], [1, 0, 0, 0, 0])
    assert.equal(again.lastAttempt, null)
    assert.deepEqual(offsets(await read(store, 0)), [])
  })

  check('an appended batch is read back byte for byte, with its offsets, count and timestamp', async ({ store }) => {
    await led(store)
    const first = exampleBatch(0, 3, 500)
    const second = exampleBatch(3, 1, 70_000)
    const outcome = await append(store, exampleAppend(A, 1, 0, [first, second]))
    assert.deepEqual(outcome, { kind: 'appended', end: 4, highWatermark: 4 })
    const { batches } = await read(store, 0)
    assert.deepEqual(
      batches.map(batch => ({ ...batch, bytes: Buffer.from(batch.bytes) })),
      [first, second],
    )
  })

  check('an append must name exactly the end', async ({ store }) => {
    await led(store)
    await append(store, exampleAppend(A, 1, 0))
    assert.deepEqual(await store.append(exampleAppend(A, 1, 0)), { kind: 'misplaced', end: 1 })
    assert.deepEqual(await store.append(exampleAppend(A, 1, 2)), { kind: 'misplaced', end: 1 })
    assert.deepEqual(offsets(await read(store, 0)), [0])
  })

  check('a refused append leaves neither batches nor rows behind', async ({ store }) => {
    await led(store)
    await store.append(exampleAppend(A, 1, 7, undefined, [row('producer', 'x')]))
    await store.append(exampleAppend(A, 9, 0, undefined, [row('producer', 'y')]))
    const opened = expectKind(await store.open(A, 1, 0), 'opened')
    assert.deepEqual([opened.end, opened.rows.size, opened.lastAttempt], [0, 0, null])
  })

  check('taking the lead fences append and trim of the former leader', async ({ store }) => {
    await led(store)
    await append(store, exampleAppend(A, 1, 0))
    const second = expectKind(await store.open(A, 1, 0), 'opened')
    assert.equal(second.epoch, 2)
    assert.deepEqual(await store.append(exampleAppend(A, 1, 1)), { kind: 'fenced', epoch: 2 })
    assert.deepEqual(await store.trim(A, 1, 1, []), { kind: 'fenced', epoch: 2 })
    await append(store, exampleAppend(A, 2, 1))
  })

  check(
    'open with a known epoch that is too low is fenced and changes nothing; open with 0 takes the lead',
    async ({ store }) => {
      await led(store)
      await store.open(A, 1, 0)
      await store.open(A, 2, 0)
      assert.deepEqual(await store.open(A, 2, 0), { kind: 'fenced', epoch: 3 })
      await append(store, exampleAppend(A, 3, 0))
      assert.equal(expectKind(await store.open(A, 0, 0), 'opened').epoch, 4)
    },
  )

  check('only the leader can confirm its appends', async ({ store }) => {
    await led(store)
    await append(store, exampleAppend(A, 1, 0))
    assert.deepEqual(await store.confirm(A, 1), { kind: 'confirmed', highWatermark: 1 })
    await store.open(A, 1, 0)
    assert.deepEqual(await store.confirm(A, 1), { kind: 'fenced', epoch: 2 })
  })

  check('renewed resolves to null once the store is closed', async ({ store }) => {
    const news = store.renewed()
    await store.close()
    assert.equal(await news, null)
    assert.equal(await store.renewed(), null)
  })

  check('a floor raises the end and never lowers it', async ({ store }) => {
    await led(store)
    await append(store, exampleAppend(A, 1, 0))
    const raised = expectKind(await store.open(A, 1, 50), 'opened')
    assert.deepEqual([raised.start, raised.end, raised.highWatermark], [0, 50, 50])
    assert.equal(expectKind(await store.open(A, 2, 10), 'opened').end, 50)
    assert.deepEqual(await store.append(exampleAppend(A, 3, 1)), { kind: 'misplaced', end: 50 })
    await append(store, exampleAppend(A, 3, 50))
    assert.deepEqual(offsets(await read(store, 1)), [50])
  })

  check(
    'after the end was raised, emptyFrom is the first empty offset, until something is appended',
    async ({ store }) => {
      const opened = async (known: number, floor = 0) => {
        const { emptyFrom, end } = expectKind(await store.open(A, known, floor), 'opened')
        return [emptyFrom, end]
      }
      await store.create([A])
      assert.deepEqual(await opened(0), [0, 0])
      assert.deepEqual(await opened(1, 5), [0, 5], 'of a stream that never held anything')
      await append(store, exampleAppend(A, 2, 5, [exampleBatch(5, 3, 100, 2)]))
      assert.deepEqual(await opened(2), [8, 8])
      assert.deepEqual(await opened(3, 50), [8, 50])
      assert.deepEqual(await opened(4), [8, 50], 'opened again')
      assert.deepEqual(await opened(5, 60), [8, 60], 'and raised again')
      await store.trim(A, 6, 20, [])
      assert.deepEqual(await opened(6), [20, 60], 'not below the start')
      await append(store, exampleAppend(A, 7, 60))
      assert.deepEqual(await opened(7), [61, 61])
    },
  )

  check('the first batch of a read contains the offset, or follows the gap around it', async ({ store }) => {
    await led(store)
    await append(store, exampleAppend(A, 1, 0, [exampleBatch(0, 10), exampleBatch(20, 5), exampleBatch(25, 5)]))
    await append(store, exampleAppend(A, 1, 30, [exampleBatch(40, 10)]))
    for (const [from, first] of [
      [0, 0],
      [9, 0],
      [10, 20],
      [19, 20],
      [24, 20],
      [25, 25],
      [30, 40],
      [49, 40],
    ] as const) {
      assert.equal(offsets(await read(store, from))[0], first, `from ${from}`)
    }
    assert.deepEqual(offsets(await read(store, 50)), [])
    assert.deepEqual(offsets(await read(store, 1000)), [])
    assert.deepEqual(offsets(await read(store, 12)), [20, 25, 40])
  })

  check('a read stops before the batch that passes maxBytes, but never before its first', async ({ store }) => {
    await led(store)
    for (let at = 0; at < 6; at++) await append(store, exampleAppend(A, 1, at, [exampleBatch(at, 1, 100)]))
    const until = Number.MAX_SAFE_INTEGER
    assert.deepEqual(offsets(await read(store, 1, { maxBytes: 0, until })), [1])
    assert.deepEqual(offsets(await read(store, 1, { maxBytes: 299, until })), [1, 2])
    assert.deepEqual(offsets(await read(store, 1, { maxBytes: 300, until })), [1, 2, 3])
    assert.deepEqual(offsets(await read(store, 4, { maxBytes: 5000, until })), [4, 5])
  })

  check('maxBytes cuts between the batches of one append too', async ({ store }) => {
    await led(store)
    const batches = [0, 1, 2, 3].map(at => exampleBatch(at, 1, 200))
    await append(store, exampleAppend(A, 1, 0, batches))
    const until = Number.MAX_SAFE_INTEGER
    assert.deepEqual(offsets(await read(store, 0, { maxBytes: 400, until })), [0, 1])
    assert.deepEqual(offsets(await read(store, 2, { maxBytes: 1, until })), [2])
  })

  check('a read returns only batches that begin below until', async ({ store }) => {
    await led(store)
    for (let at = 0; at < 6; at += 2) await append(store, exampleAppend(A, 1, at, [exampleBatch(at, 2)]))
    assert.deepEqual(offsets(await read(store, 0, { ...EVERYTHING, until: 4 })), [0, 2])
    assert.deepEqual(offsets(await read(store, 0, { ...EVERYTHING, until: 3 })), [0, 2])
    assert.deepEqual(offsets(await read(store, 4, { ...EVERYTHING, until: 4 })), [])
    assert.deepEqual(offsets(await read(store, 0, { ...EVERYTHING, until: 0 })), [])
  })

  check(
    'trimming drops whole batches, keeps the batch that contains the new start, and returns the start',
    async ({ store }) => {
      await led(store)
      for (let at = 0; at < 30; at += 10) await append(store, exampleAppend(A, 1, at, [exampleBatch(at, 10, 1000)]))
      assert.deepEqual(await store.trim(A, 1, 15, []), { kind: 'trimmed', start: 15, bytes: 1000 })
      assert.deepEqual(await store.read(A, 14, EVERYTHING), { kind: 'trimmed', start: 15 })
      assert.deepEqual(offsets(await read(store, 15)), [10, 20])
      assert.deepEqual(await store.trim(A, 1, 3, []), { kind: 'trimmed', start: 15, bytes: 0 })
      const opened = expectKind(await store.open(A, 1, 0), 'opened')
      assert.deepEqual([opened.start, opened.end, opened.bytes], [15, 30, 2000])
    },
  )

  check('trimming again inside the batch that contains the log start drops nothing', async under => {
    let { store } = under
    const loseTrim = under.loseTrim ?? (async (_, call) => void (await call()))
    await led(store)
    for (let at = 0; at < 30; at += 10) await append(store, exampleAppend(A, 1, at, [exampleBatch(at, 10, 1000)]))
    const trim = async (epoch: number, before: number, rows: readonly Row[] = []) =>
      expectKind(await store.trim(A, epoch, before, rows), 'trimmed')
    const unchanged = { kind: 'trimmed', start: 5, bytes: 0 } as const
    assert.deepEqual(await trim(1, 5), unchanged)
    for (const before of [5, 3, 0]) {
      assert.deepEqual(await trim(1, before), unchanged)
      assert.deepEqual(await trim(1, before, [row('p', 'x')]), unchanged)
    }
    assert.deepEqual(offsets(await read(store, 5)), [0, 10, 20])

    await loseTrim(A, () => store.trim(A, 1, 15, [row('p', 'y')]))
    assert.deepEqual(await trim(1, 15), { ...unchanged, start: 15 })
    assert.deepEqual(offsets(await read(store, 15)), [10, 20])
    await append(store, exampleAppend(A, 1, 30, [exampleBatch(30, 10, 1000)]))

    for (const epoch of [2, 3]) {
      const opened = expectKind(await store.open(A, epoch - 1, 0), 'opened')
      assert.deepEqual([opened.start, opened.end, opened.bytes, plain(opened.rows)], [15, 40, 3000, { p: 'y' }])
      assert.deepEqual(await trim(epoch, 15, [row('p', 'y')]), { ...unchanged, start: 15 })
      assert.deepEqual(offsets(await read(store, 15)), [10, 20, 30])
      store = await under.reopen()
      assert.deepEqual(await trim(epoch, 15, [row('q', null)]), { ...unchanged, start: 15 })
      assert.deepEqual(offsets(await read(store, 15)), [10, 20, 30])
    }
    assert.deepEqual(await trim(3, 20), { kind: 'trimmed', start: 20, bytes: 1000 })
    assert.deepEqual(await trim(3, 20), { ...unchanged, start: 20 })
    assert.deepEqual(offsets(await read(store, 20)), [20, 30])
  })

  check('remake does not change a stream that has lost nothing', async ({ store }) => {
    await led(store)
    assert.deepEqual(await store.remake(A, 1, 0), { kind: 'kept' })
    await append(store, exampleAppend(A, 1, 0))
    assert.deepEqual(await store.remake(A, 7, 100), { kind: 'kept' })
    await append(store, exampleAppend(A, 1, 1))
    assert.deepEqual(offsets(await read(store, 0)), [0, 1])
    await store.trim(A, 1, 2, [])
    assert.deepEqual(await store.remake(A, 7, 100), { kind: 'kept' })
    await append(store, exampleAppend(A, 1, 2))
  })

  check('trimming stops at the high watermark, and the empty stream accepts appends', async ({ store }) => {
    await led(store)
    await append(store, exampleAppend(A, 1, 0, [exampleBatch(0, 10)]))
    assert.deepEqual(await store.trim(A, 1, 999, []), {
      kind: 'trimmed',
      start: 10,
      bytes: exampleBatch(0, 10).bytes.length,
    })
    assert.deepEqual(offsets(await read(store, 10)), [])
    await append(store, exampleAppend(A, 1, 10))
    assert.deepEqual(offsets(await read(store, 10)), [10])
  })

  check('trimming can drop some batches of one append and keep the others', async ({ store }) => {
    await led(store)
    const batches = [0, 1, 2, 3].map(at => exampleBatch(at, 1, 200))
    await append(store, exampleAppend(A, 1, 0, batches))
    const appended = store.append(exampleAppend(A, 1, 4, [exampleBatch(4, 1, 200)]))
    assert.deepEqual(await store.trim(A, 1, 2, []), { kind: 'trimmed', start: 2, bytes: 400 })
    await appended
    assert.deepEqual(offsets(await read(store, 2)), [2, 3, 4])
    assert.equal(expectKind(await store.open(A, 1, 0), 'opened').bytes, 600)
  })

  check('usage returns the space that a stream takes, as far as the store knows it', async ({ store }) => {
    await store.create([A])
    expectKind(await store.open(A, 0, 0), 'opened')
    await append(store, exampleAppend(A, 1, 0))
    await append(store, exampleAppend(A, 1, 1))
    const [usage, gone] = await store.usage([A, B])
    assert.equal(gone, null)
    assert.ok(usage!.entries === null || usage!.entries === 2)
    assert.ok(usage!.memoryBytes === null || usage!.memoryBytes > 0)
    assert.equal(usage!.isEmptied, false)
    await store.trim(A, 1, 2, [])
    assert.equal((await store.usage([A]))[0]!.isEmptied, false)
  })

  check('space returns the place and the size of the store', async ({ store }) => {
    const { place, totalBytes, usableBytes } = await store.space()
    assert.notEqual(place, '')
    assert.ok(totalBytes === -1 ? usableBytes === -1 : totalBytes >= usableBytes && usableBytes >= 0)
  })

  check('ping succeeds, and fails once the store is closed', async ({ store }) => {
    for (const { place, failure, tookMs } of await store.ping(2_000)) {
      assert.notEqual(place, '')
      assert.equal(failure, null)
      assert.ok(tookMs >= 0)
    }
    await store.close()
    const pongs = await store.ping(2_000)
    assert.ok(pongs.length > 0 && pongs.every(({ failure }) => failure !== null))
  })

  check('an append sets and deletes rows, and trimming keeps them', async ({ store }) => {
    await led(store)
    await append(store, exampleAppend(A, 1, 0, undefined, [row('p1', 'one'), row('p2', 'two'), row('é', '')]))
    await append(store, exampleAppend(A, 1, 1, undefined, [row('p1', 'uno'), row('p2', null), row('absent', null)]))
    await store.trim(A, 1, 2, [])
    assert.deepEqual(plain(expectKind(await store.open(A, 1, 0), 'opened').rows), { p1: 'uno', é: '' })
    await store.trim(A, 2, 2, [row('é', null), row('mark', 'm')])
    assert.deepEqual(plain(expectKind(await store.open(A, 2, 0), 'opened').rows), { p1: 'uno', mark: 'm' })
  })

  check('rows belong to their stream', async ({ store }) => {
    await led(store)
    await led(store, B)
    await append(store, exampleAppend(A, 1, 0, undefined, [row('p', 'a')]))
    await append(store, exampleAppend(B, 1, 0, undefined, [row('p', 'b')]))
    await store.remove([A])
    assert.deepEqual(plain(expectKind(await store.open(B, 1, 0), 'opened').rows), { p: 'b' })
  })

  check('the epochs are those that own live offsets, and the newest', async ({ store }) => {
    await led(store)
    await append(store, exampleAppend(A, 1, 0))
    await store.open(A, 1, 0) // 2 owns nothing
    await store.open(A, 2, 0)
    await append(store, exampleAppend(A, 3, 1))
    const opened = expectKind(await store.open(A, 3, 0), 'opened')
    assert.deepEqual(opened.epochs, [
      { epoch: 1, startOffset: 0 },
      { epoch: 3, startOffset: 1 },
      { epoch: 4, startOffset: 2 },
    ])
    await store.trim(A, 4, 1, [])
    const trimmed = expectKind(await store.open(A, 4, 0), 'opened')
    assert.deepEqual(trimmed.epochs, [
      { epoch: 3, startOffset: 1 },
      { epoch: 5, startOffset: 2 },
    ])
  })

  check('lastAttempt is the attempt of the last append that took effect', async ({ store }) => {
    await led(store)
    const good = exampleAppend(A, 1, 0)
    await append(store, good)
    await store.append(exampleAppend(A, 1, 0))
    assert.equal(expectKind(await store.open(A, 1, 0), 'opened').lastAttempt, good.attempt)
  })

  check('calls of one turn on one stream take effect in call order', async ({ store }) => {
    await led(store)
    const outcomes = await Promise.all([
      store.append(exampleAppend(A, 1, 0)),
      store.append(exampleAppend(A, 1, 1)),
      store.append(exampleAppend(A, 1, 1)),
      store.open(A, 1, 0),
      store.append(exampleAppend(A, 1, 2)),
      store.append(exampleAppend(A, 2, 2)),
      store.trim(A, 2, 2, []),
    ])
    assert.deepEqual(
      outcomes.map(outcome => outcome.kind),
      ['appended', 'appended', 'misplaced', 'opened', 'fenced', 'appended', 'trimmed'],
    )
    assert.deepEqual(offsets(await read(store, 2)), [2])
  })

  check('many streams written in one turn each get their own outcome', async ({ store }) => {
    const streams = Array.from({ length: 100 }, (_, i) => streamId('AAAAAAAAAAAAAAAAAAAAAg', i))
    await store.create(streams)
    const opened = await Promise.all(streams.map(stream => store.open(stream, 0, 0)))
    assert.ok(opened.every(outcome => outcome.kind === 'opened'))
    const outcomes = await Promise.all(
      streams.map((stream, i) => store.append(exampleAppend(stream, 1, i % 3 === 0 ? 1 : 0))),
    )
    for (const [i, outcome] of outcomes.entries()) {
      assert.equal(outcome.kind, i % 3 === 0 ? 'misplaced' : 'appended')
      assert.equal((await read(store, 0, EVERYTHING, streams[i])).batches.length, i % 3 === 0 ? 0 : 1)
    }
  })

  check('when writers race for an offset, exactly one of them wins it', async ({ store }) => {
    await led(store)
    const race = async () => {
      for (let at = 0; at < 20; ) {
        const outcome = await store.append(exampleAppend(A, 1, at))
        at = outcome.kind === 'appended' || outcome.kind === 'misplaced' ? outcome.end : 99
      }
    }
    await Promise.all([race(), race(), race(), race()])
    assert.deepEqual(
      offsets(await read(store, 0)),
      Array.from({ length: 20 }, (_, i) => i),
    )
  })

  check('a document is made, changed and read field by field', async ({ store }) => {
    assert.equal(await store.load('group', 'g'), null)
    const first = await commit(store, 'group', 'g', 0, [row('a', '1'), row('b', '2')])
    const second = await commit(store, 'group', 'g', first.version, [row('b', null), row('c', '3'), row('a', '9')])
    assert.ok(second.version > first.version)
    const document = await store.load('group', 'g')
    assert.ok(document !== null)
    assert.deepEqual([document.kind, document.name, document.version], ['group', 'g', second.version])
    assert.deepEqual(plain(document.fields), { a: '9', c: '3' })
  })

  check('version returns the version of the last commit, and 0 if the document does not exist', async ({ store }) => {
    assert.equal(await store.version('group', 'g'), 0)
    const first = await commit(store, 'group', 'g', 0, [row('a', '1')])
    assert.equal(await store.version('group', 'g'), first.version)
    const second = await commit(store, 'group', 'g', first.version, [])
    assert.equal(await store.version('group', 'g'), second.version)
    await store.commit({ kind: 'group', name: 'g', expect: second.version, changes: [], remove: true })
    assert.equal(await store.version('group', 'g'), 0)
  })

  check('a commit names the life of the store, which is the same while the store loses nothing', async ({ store }) => {
    const asked = { kind: 'group', name: 'g', changes: [row('a', '1')], isAcknowledged: true, isSynced: true }
    const first = await store.commit({ ...asked, expect: 0 })
    assert.ok(first.kind === 'committed' && first.incarnation !== undefined && first.incarnation.length > 0)
    const second = await commit(store, 'group', 'g', first.version, [])
    assert.equal(second.incarnation, first.incarnation)
    assert.deepEqual(plain((await store.load('group', 'g'))!.fields), { a: '1' })
  })

  check('a commit that expects another version conflicts and changes nothing', async ({ store }) => {
    const { version } = await commit(store, 'group', 'g', 0, [row('a', '1')])
    assert.deepEqual(await store.commit({ kind: 'group', name: 'g', expect: 0, changes: [row('a', 'x')] }), {
      kind: 'conflict',
      version,
    })
    assert.deepEqual(await store.commit({ kind: 'group', name: 'h', expect: 5, changes: [] }), {
      kind: 'conflict',
      version: 0,
    })
    assert.deepEqual(plain((await store.load('group', 'g'))!.fields), { a: '1' })
    assert.equal(await store.load('group', 'h'), null)
  })

  check('an empty commit raises the version and so fences older writers', async ({ store }) => {
    const first = await commit(store, 'group', 'g', 0, [row('a', '1')])
    const second = await commit(store, 'group', 'g', first.version, [])
    assert.ok(second.version > first.version)
    const late = await store.commit({ kind: 'group', name: 'g', expect: first.version, changes: [] })
    assert.deepEqual(late, { kind: 'conflict', version: second.version })
  })

  check('a document that was deleted and created again never repeats a version', async ({ store }) => {
    const first = await commit(store, 'group', 'g', 0, [row('a', '1'), row('old', 'x')])
    const gone = expectKind(
      await store.commit({ kind: 'group', name: 'g', expect: first.version, changes: [], remove: true }),
      'committed',
    )
    assert.equal(await store.load('group', 'g'), null)
    const again = await commit(store, 'group', 'g', 0, [row('a', '2')])
    assert.ok(first.version < gone.version && gone.version < again.version)
    assert.deepEqual(plain((await store.load('group', 'g'))!.fields), { a: '2' })
    assert.equal(
      (await store.commit({ kind: 'group', name: 'g', expect: first.version, changes: [] })).kind,
      'conflict',
    )
  })

  check('a document name may be any string, and list returns the documents of one kind only', async ({ store }) => {
    const names = ['', 'g', 'g:1', 'a/b\\c\n\0', 'ü'.repeat(300), 'x'.repeat(5000), `${'x'.repeat(5000)}y`]
    for (const name of names) await commit(store, 'group', name, 0, [row('k'.repeat(4000), name), row('k', 'v')])
    await commit(store, 'grou', 'pg', 0, [])
    const listed = await store.list('group')
    assert.deepEqual(listed.map(document => document.name).sort(), [...names].sort())
    for (const document of listed) {
      assert.deepEqual(plain(document.fields), { ['k'.repeat(4000)]: document.name, k: 'v' })
    }
    assert.deepEqual([...(await store.names('group'))].sort(), [...names].sort())
    assert.deepEqual([await store.list('nothing'), await store.names('nothing')], [[], []])
  })

  check('when one turn commits a document several times, the first commit that matches wins', async ({ store }) => {
    const outcomes = await Promise.all(
      ['1', '2', '3'].map(value => store.commit({ kind: 'k', name: 'n', expect: 0, changes: [row('a', value)] })),
    )
    assert.deepEqual(
      outcomes.map(outcome => outcome.kind),
      ['committed', 'conflict', 'conflict'],
    )
    assert.deepEqual(plain((await store.load('k', 'n'))!.fields), { a: '1' })
  })

  check('opening again keeps everything', async under => {
    let { store } = under
    await led(store)
    await led(store, B)
    await append(store, exampleAppend(A, 1, 0, [exampleBatch(0, 5, 300), exampleBatch(9, 1, 400)], [row('p', 'x')]))
    await store.open(A, 1, 20)
    const last = exampleAppend(A, 2, 20, [exampleBatch(20, 1, 500, 2)], [row('q', 'y')])
    await append(store, last)
    await store.trim(A, 2, 6, [row('p', null)])
    const kept = await commit(store, 'group', 'g', 0, [row('a', '1')])
    const dropped = await commit(store, 'group', 'dropped', 0, [row('a', '1')])
    await store.commit({ kind: 'group', name: 'dropped', expect: dropped.version, changes: [], remove: true })
    await store.create(['x:0'])
    await store.remove(['x:0'])
    for (let round = 0; round < 2; round++) {
      store = await under.reopen()
      assert.deepEqual([...(await store.streams())].sort(), [A, B])
      assert.deepEqual(await store.read(A, 5, EVERYTHING), { kind: 'trimmed', start: 6 })
      assert.deepEqual(
        (await read(store, 6)).batches.map(batch => Buffer.from(batch.bytes)),
        [exampleBatch(9, 1, 400).bytes, exampleBatch(20, 1, 500, 2).bytes],
      )
      const opened = expectKind(await store.open(A, 2 + round, 0), 'opened')
      assert.deepEqual([opened.epoch, opened.start, opened.end, opened.bytes], [3 + round, 6, 21, 900])
      assert.deepEqual(opened.epochs, [
        { epoch: 1, startOffset: 0 },
        { epoch: 2, startOffset: 20 },
        { epoch: 3 + round, startOffset: 21 },
      ])
      assert.deepEqual(plain(opened.rows), { q: 'y' })
      assert.equal(opened.lastAttempt, last.attempt)
      assert.deepEqual(
        (await store.list('group')).map(document => [document.name, document.version, plain(document.fields)]),
        [['g', kept.version, { a: '1' }]],
      )
    }
    const next = await commit(store, 'group', 'dropped', 0, [])
    assert.ok(next.version > dropped.version)
  })

  check('appends that were accepted before close are finished', async under => {
    await led(under.store)
    const appended = Promise.all([0, 1, 2].map(at => under.store.append(exampleAppend(A, 1, at))))
    const store = await under.reopen()
    assert.deepEqual(
      (await appended).map(outcome => outcome.kind),
      ['appended', 'appended', 'appended'],
    )
    assert.deepEqual(offsets(await read(store, 0)), [0, 1, 2])
  })

  async function commit(store: Store, kind: string, name: string, expect: number, changes: Row[]): Promise<Committed> {
    return expectKind(await store.commit({ kind, name, expect, changes }), 'committed')
  }
}
