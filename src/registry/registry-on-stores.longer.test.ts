// The registry on each store: several brokers register, delete and look up at once, and end in the midst of it.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { atLength, isLong } from '../../testing/at-length.ts'
import { eventually } from '../../testing/eventually.ts'
import { startForgetfulRedis } from '../../testing/forgetful-redis.ts'
import { noRedis, startRedis, startRedisCluster } from '../../testing/redis.ts'
import { openTestStore } from '../../testing/redis-store.ts'
import { auditRegistry } from '../../testing/registry-audit.ts'
import { accepted, type OpenedRegistry, openTestRegistry, refusedWith } from '../../testing/registry-world.ts'
import { seed } from '../../testing/seed.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { newFolder } from '../../testing/store-folder.ts'
import { toy } from '../../testing/toy-format.ts'
import { sleep, systemClock } from '../base/clock.ts'
import { seededRandom } from '../base/random.ts'
import { openEmbeddedStore } from '../store/embedded/embedded-store.ts'
import type { Store } from '../store/store.ts'
import { isRefusal } from './refusals.ts'

interface StoreForTest {
  readonly name: string
  readonly skip: string | false
  /** Opens the store of one more broker. */
  open(t: TestContext): Promise<{ readonly isShared: boolean; another(): Promise<Store> }>
}

const stores: readonly StoreForTest[] = [
  {
    name: 'the store in memory',
    skip: false,
    async open() {
      const store = createMemoryStore(systemClock)
      return { isShared: true, another: async () => store.beside() }
    },
  },
  {
    name: 'the embedded store',
    skip: false,
    async open(t) {
      const path = newFolder(t)
      let last: Store | null = null
      const another = async () => {
        await last?.close()
        const rest = { fsync: 'interval', fsyncIntervalMs: 50, journalFileBytes: 1 << 24 } as const
        last = await openEmbeddedStore({ path, ...rest, clock: systemClock, report: () => {} })
        return last
      }
      t.after(() => last?.close())
      return { isShared: false, another }
    },
  },
  {
    name: 'Redis',
    skip: noRedis,
    async open(t) {
      const { uri } = await startRedis(t)
      return { isShared: true, another: async () => (await openTestStore(t, { 'redis.uri': uri })).store }
    },
  },
  {
    name: 'a Redis Cluster',
    skip: noRedis,
    async open(t) {
      const settings = { 'redis.uri': (await startRedisCluster(t)).uri, 'redis.cluster': true }
      return { isShared: true, another: async () => (await openTestStore(t, settings)).store }
    },
  },
]

/** The seed of each run draws other steps. */
const STEPS = isLong ? 600 : atLength(250, 150)

/** Makes one random request. Returns the id and guid that were answered. */
async function randomStep(registry: OpenedRegistry, random: { below(limit: number): number }) {
  const subject = `s${random.below(4)}`
  const schema = toy(`R${random.below(6)}`, random.below(3) === 0 ? {} : { [`f${random.below(4)}`]: 'int?' })
  const kind = random.below(10)
  if (kind === 0) await registry.deleteVersion(subject, 'latest')
  else if (kind === 1) await registry.deleteSubject(subject, { isPermanent: random.below(2) === 0 })
  else if (kind === 2) await registry.putConfig(subject, { compatibility: 'NONE' })
  if (kind < 3) return null
  const references = random.below(4) === 0 ? [{ name: 'X', subject: `s${random.below(4)}`, version: -1 }] : []
  const answer = await registry.register(subject, { schema, references })
  return isRefusal(answer) ? null : { id: answer.id, guid: answer.guid }
}

for (const { name, skip, open } of atLength(stores, stores.slice(0, 3))) {
  test(`on ${name} an id that was answered has one schema for ever, on every broker`, { skip }, async t => {
    const { isShared, another } = await open(t)
    const random = seededRandom(seed)
    const answered = new Map<number, string>()
    for (let round = 0; round < 3; round++) {
      const opened: Store[] = []
      for (let broker = 0; broker < (isShared ? 3 : 1); broker++) opened.push(await another())
      const registries = opened.map(each => openTestRegistry(t, each, { isShared }))
      await Promise.all(
        Array.from({ length: 6 }, async (_, client) => {
          for (let step = 0; step < STEPS / 18; step++) {
            const found = await randomStep(registries[client % registries.length]!, random)
            if (found === null) continue
            assert.equal(answered.get(found.id) ?? found.guid, found.guid, `id ${found.id} has two schemas`)
            answered.set(found.id, found.guid)
            for (const each of registries) assert.equal(accepted(await each.byId(found.id)).guid, found.guid)
          }
        }),
      )
      const owners = await auditRegistry(opened[0]!)
      for (const [id, guid] of answered) assert.equal(owners.get(id), guid)
      const lists = await Promise.all(registries.map(each => each.schemas({ isDeletedToo: true })))
      for (const list of lists) assert.deepEqual(list, lists[0])
    }
    assert.ok(answered.size > 10, `${answered.size} ids were answered`)
  })
}

for (const { name, skip, open } of atLength(stores, stores.slice(0, 3))) {
  test(`on ${name} a version is deleted, or a schema is registered that refers to it, never both`, {
    skip,
  }, async t => {
    const { isShared, another } = await open(t)
    const random = seededRandom(seed)
    const opened: Store[] = []
    for (let broker = 0; broker < (isShared ? 2 : 1); broker++) opened.push(await another())
    const registries = opened.map(each => openTestRegistry(t, each, { isShared }))
    const won = { registration: 0, deletion: 0 }
    const race = async (round: number) => {
      const [type, order] = [`money-${round}`, `order-${round % 5}`]
      accepted(await registries[0]!.register(type, { schema: toy('Money') }))
      const references = [{ name: 'Money', subject: type, version: 1 }]
      const schema = toy(`Order${round}`, {}, { uses: ['Money'] })
      const [deleted, registered] = await Promise.all([
        sleep(systemClock, random.below(6)).then(() => registries[0]!.deleteSubject(type)),
        registries.at(-1)!.register(order, { schema, references }),
      ])
      assert.ok(isRefusal(deleted) !== isRefusal(registered), `${refusedWith(deleted)}; ${refusedWith(registered)}`)
      won[isRefusal(deleted) ? 'registration' : 'deletion']++
    }
    for (const subject of [0, 1, 2, 3, 4]) await registries[0]!.putConfig(`order-${subject}`, { compatibility: 'NONE' })
    // Several at once, which compete for their subjects.
    for (let round = 0; round < atLength(200, 60); round += 4)
      await Promise.all([0, 1, 2, 3].map(more => race(round + more)))
    await auditRegistry(opened[0]!)
    t.diagnostic(JSON.stringify(won))
  })
}

test('after a Redis has lost registrations, no id is given to another schema', { skip: noRedis }, async t => {
  const { redis, remember, forget } = await startForgetfulRedis(t)
  const { store } = await openTestStore(t, { 'redis.uri': redis.uri })
  const registry = openTestRegistry(t, store)
  accepted(await registry.register('s', { schema: toy('R') }))
  await remember()
  const lost = accepted(await registry.register('s', { schema: toy('R', { a: 'int?' }) }))
  assert.equal(lost.id, 2)
  await forget()
  const other = openTestRegistry(t, (await openTestStore(t, { 'redis.uri': redis.uri })).store)
  const next = accepted(await other.register('t', { schema: toy('Other') }))
  assert.ok(next.id >= 10_002, `id ${next.id}`)
  // The broker that knows the lost schema stores it again, for all.
  await eventually('it is connected', () =>
    registry.subjects().then(
      () => true,
      () => false,
    ),
  )
  const again = accepted(await registry.register('s', { schema: toy('R', { a: 'int?' }) }))
  assert.equal(accepted(await other.byId(again.id)).guid, lost.guid)
  await auditRegistry(store)
})
