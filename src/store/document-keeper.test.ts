import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMemoryStore, type MemoryStore, type StoreFault } from '../../testing/sim/memory-store.ts'
import { withRival } from '../../testing/sim/rival.ts'
import { seededRandom } from '../base/random.ts'
import { changeDocument, keepDocument } from './document-keeper.ts'
import { type Document, OutcomeUnknown, type Store, StoreContended, StoreUnavailable } from './store.ts'

const PLACE = { kind: 'quotas', name: 'n', what: 'the list' } as const

function open() {
  const clock = new SimulatedClock()
  return { clock, random: seededRandom(7), store: createMemoryStore(clock) }
}

function wordsIn(document: Document | null): readonly string[] {
  return [...(document?.fields.keys() ?? [])].sort()
}

/** Adds a word with `changeDocument`. Resolves to true if the word was new. */
function add(rooms: Parameters<typeof changeDocument>[0], word: string): Promise<boolean> {
  return changeDocument(rooms, PLACE, now => {
    if (now?.fields.has(word)) return { answer: false }
    return { answer: true, write: { changes: [{ key: word, value: Buffer.from('x') }] } }
  })
}

/** A store that becomes unavailable with the next commit. */
function awayAfterCommit(store: MemoryStore): Store {
  return Object.assign(Object.create(store) as Store, {
    async commit(commit: Parameters<Store['commit']>[0]) {
      store.faults.failNext('load', 'unavailable')
      return await store.commit(commit)
    },
  })
}

interface Words {
  readonly version: number
  readonly words: readonly string[]
}

interface KeepOptions {
  readonly isShared?: boolean
  readonly adopting?: (next: Words, before: Words) => Promise<void>
}

/** Keeps the words of the document, as another broker on the same store does. */
async function keep(rooms: ReturnType<typeof open>, store: Store, { isShared = true, adopting }: KeepOptions = {}) {
  const load = async () => {
    const document = await store.load(PLACE.kind, PLACE.name)
    return { version: document?.version ?? 0, words: wordsIn(document) }
  }
  const kept = { ...PLACE, isShared, load, ...(adopting === undefined ? {} : { adopting }) }
  const keeper = keepDocument<Words>({ ...rooms, store }, kept, await load())
  const words = () => keeper.current().words
  return {
    words,
    catchUp: keeper.catchUp,
    add: (word: string) =>
      keeper.change(now => {
        if (now.words.includes(word)) return { answer: false }
        const after = (version: number) => ({ version, words: [...now.words, word].sort() })
        const changes = [{ key: word, value: Buffer.from('x') }]
        return { answer: true, write: { changes, after, isMade: later => later.words.includes(word) } }
      }),
  }
}

test('a change that loses a race is decided again on the content that the other writer wrote', async () => {
  const rooms = open()
  await add(rooms, 'first')
  assert.equal(await rooms.clock.passing(add({ ...rooms, store: withRival(rooms.store, 40) }, 'second')), true)
  const [one, other] = [await keep(rooms, rooms.store), await keep(rooms, rooms.store.beside())]
  await one.add('third')
  assert.deepEqual(other.words(), ['first', 'second'])
  assert.equal(await other.add('third'), false)
  assert.equal(await other.add('fourth'), true)
  assert.deepEqual(other.words(), ['first', 'fourth', 'second', 'third'])
})

test('contention that lasts ends with StoreContended, and nothing was written', async () => {
  const rooms = open()
  await add(rooms, 'first')
  const store = withRival(rooms.store)
  const keeper = await keep(rooms, store)
  for (const change of [add({ ...rooms, store }, 'second'), keeper.add('second')]) {
    await assert.rejects(rooms.clock.passing(change), (error: Error) => {
      assert.ok(error instanceof StoreContended)
      assert.match(error.message, /^the list was changed by others \d+ times within 1[5-6] s/)
      return true
    })
  }
  assert.deepEqual(wordsIn(await rooms.store.load(PLACE.kind, PLACE.name)), ['first'])
})

test('while the store is away, change and catchUp throw the error of the store, and the snapshot stays', async () => {
  const rooms = open()
  const keeper = await keep(rooms, rooms.store)
  await keeper.add('first')
  for (const verb of ['load', 'commit'] as const) {
    rooms.store.faults.failNext(verb, 'unavailable')
    await assert.rejects(add(rooms, 'second'), StoreUnavailable)
  }
  rooms.store.faults.failNext('commit', 'unavailable')
  await assert.rejects(keeper.add('second'), StoreUnavailable)
  rooms.store.faults.failNext('version', 'unavailable')
  await assert.rejects(keeper.catchUp(), StoreUnavailable)
  assert.deepEqual(keeper.words(), ['first'])
  assert.equal(await keeper.add('second'), true)
})

for (const fault of ['unknown-lost', 'unknown-done'] satisfies StoreFault[]) {
  test(`a change without an answer (${fault}) is settled by reading the document, and is made only once`, async () => {
    const rooms = open()
    const keeper = await keep(rooms, rooms.store)
    rooms.store.faults.failNext('commit', fault)
    assert.equal(await keeper.add('first'), true)
    rooms.store.faults.failNext('commit', fault)
    assert.equal(await add(rooms, 'second'), true)
    const remove = () =>
      changeDocument(rooms, PLACE, now =>
        now === null ? { answer: false } : { answer: true, write: { remove: true } },
      )
    rooms.store.faults.failNext('commit', fault)
    assert.equal(await remove(), true)
    assert.equal(await remove(), false)
  })

  test(`a change without an answer (${fault}) is unknown if the document cannot be read, and is seen when the store is back`, async () => {
    const rooms = open()
    const keeper = await keep(rooms, rooms.store)
    rooms.store.faults.failNext('commit', fault)
    rooms.store.faults.failNext('load', 'unavailable', 2)
    await assert.rejects(keeper.add('first'), OutcomeUnknown)
    assert.deepEqual(keeper.words(), [])
    await rooms.clock.advance(3_000)
    assert.deepEqual(keeper.words(), fault === 'unknown-done' ? ['first'] : [])
    const store = awayAfterCommit(rooms.store)
    rooms.store.faults.failNext('commit', fault)
    await assert.rejects(add({ ...rooms, store }, 'second'), OutcomeUnknown)
  })
}

test('when several brokers write at the same time, no change is lost', async () => {
  const rooms = open()
  const stores = Array.from({ length: 3 }, () => rooms.store.beside())
  const brokers = await Promise.all(stores.map(store => keep(rooms, store)))
  for (const store of stores) for (const verb of ['load', 'commit'] as const) store.faults.delay(verb, 3)
  const words = brokers.flatMap((_, broker) => Array.from({ length: 5 }, (_, at) => `${broker}.${at}`))
  const changes = words.map((word, at) => brokers[Math.floor(at / 5)]!.add(word))
  changes.push(add({ ...rooms, store: rooms.store.beside() }, 'beside'))
  assert.ok((await rooms.clock.passing(Promise.all(changes))).every(isNew => isNew))
  for (const broker of brokers) {
    await rooms.clock.passing(broker.catchUp())
    assert.deepEqual(broker.words(), [...words, 'beside'].sort())
  }
})

test('an answer without a change is valid for the newest document; it costs one version read if others write', async () => {
  const rooms = open()
  const alone = await keep(rooms, rooms.store, { isShared: false })
  const shared = await keep(rooms, rooms.store)
  await shared.add('first')
  const { version, load } = rooms.store.calls
  assert.equal(await shared.add('first'), false)
  await shared.catchUp()
  await alone.catchUp()
  assert.deepEqual([rooms.store.calls.version - version, rooms.store.calls.load - load], [2, 0])
})

test('adopting is called before a new snapshot is visible', async () => {
  const rooms = open()
  const told: string[] = []
  const keeper = await keep(rooms, rooms.store, {
    async adopting(next, before) {
      told.push(`${before.words} to ${next.words}, seen ${keeper.words()}`)
    },
  })
  await keeper.add('first')
  await add(rooms, 'second')
  await keeper.catchUp()
  assert.deepEqual(told, [' to first, seen ', 'first to first,second, seen first'])
})
