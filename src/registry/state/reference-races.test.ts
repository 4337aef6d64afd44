// A version is deleted at the moment at which a schema is registered that refers to it. One of the two is refused.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { auditRegistry } from '../../../testing/registry-audit.ts'
import { accepted, type OpenedRegistry, openTestRegistry, refusedWith } from '../../../testing/registry-world.ts'
import { seed } from '../../../testing/seed.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { toy } from '../../../testing/toy-format.ts'
import { systemClock } from '../../base/clock.ts'
import { type Random, seededRandom } from '../../base/random.ts'
import type { Store } from '../../store/store.ts'
import { isRefusal } from '../refusals.ts'

async function turns(many: number): Promise<void> {
  for (let turn = 0; turn < many; turn++) await new Promise(resolve => setImmediate(resolve))
}

/** A store each of whose calls takes its own time on the way there and back. */
function dawdling(store: Store, random: Random): Store {
  const wait = () => turns(random.below(6))
  const slowly =
    <A extends readonly unknown[], T>(verb: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      await wait()
      const answer = await verb(...args)
      await wait()
      return answer
    }
  const { load, version, names, commit } = store
  return { ...store, load: slowly(load), version: slowly(version), names: slowly(names), commit: slowly(commit) }
}

const TYPE = { schema: toy('Money') }
const referring = (name: string, subject: string) => ({
  schema: toy(name, {}, { uses: ['Money'] }),
  references: [{ name: 'Money', subject, version: 1 }],
})

const deletions: Readonly<Record<string, (registry: OpenedRegistry, subject: string) => Promise<unknown>>> = {
  'a version': (registry, subject) => registry.deleteVersion(subject, 1),
  'a subject': (registry, subject) => registry.deleteSubject(subject),
  'a subject for good': async (registry, subject) => {
    const deleted = await registry.deleteSubject(subject)
    return isRefusal(deleted) ? deleted : await registry.deleteSubject(subject, { isPermanent: true })
  },
}
const ROUNDS = 40

for (const isShared of [true, false])
  for (const [what, remove] of Object.entries(deletions))
    test(`${what} is deleted, or a schema is registered that refers to it, never both, ${isShared ? 'by two brokers' : 'by one broker'} (seed ${seed})`, async t => {
      const random = seededRandom(seed)
      const store = createMemoryStore(systemClock)
      const open = () => openTestRegistry(t, dawdling(store.beside(), random), { isShared })
      const one = open()
      const other = isShared ? open() : one
      const won = { registration: 0, deletion: 0 }
      for (let round = 0; round < ROUNDS; round++) {
        const [type, order] = [`money-${round}`, `order-${round % 3 === 0 ? 'same' : round}`]
        accepted(await one.register(type, TYPE))
        const request = referring(`Order${round}`, type)
        const [deleted, registered] = await Promise.all([
          turns(random.below(isShared ? 20 : 60)).then(() => remove(one, type)),
          other.register(order, request),
        ])
        const answers = `${refusedWith(deleted)}; ${refusedWith(registered)}`
        assert.ok(isRefusal(deleted) || isRefusal(registered), `both were answered: ${answers}`)
        if (isRefusal(deleted)) assert.equal(deleted.code, 42206, answers)
        if (isRefusal(registered)) assert.equal(registered.code, 42201, answers)
        assert.ok(!isRefusal(deleted) || !isRefusal(registered), `neither was made: ${answers}`)
        won[isRefusal(deleted) ? 'registration' : 'deletion']++
        await auditRegistry(store)
      }
      assert.ok(won.registration > 0 && won.deletion > 0, JSON.stringify(won))
      for (const { fields } of await store.list('schema-subject'))
        assert.deepEqual(
          [...fields.keys()].filter(key => key.startsWith('hold-')),
          [],
          'no hold is left',
        )
    })

/** A registration that has made its hold, and ends before it writes its version. */
async function abandoned(t: TestContext) {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  const registry = openTestRegistry(t, store.beside(), { clock })
  accepted(await registry.register('money', TYPE))
  const face = store.beside()
  const began = Promise.withResolvers<void>()
  const ending = openTestRegistry(
    t,
    {
      ...face,
      commit(commit) {
        if (commit.kind !== 'schema-subject' || commit.name !== 'order') return face.commit(commit)
        began.resolve()
        return new Promise(() => {})
      },
    },
    { clock },
  )
  void ending.register('order', referring('Order', 'money'))
  await began.promise
  return { clock, store, registry }
}

test('the hold of a broker that has ended stops no deletion, and shows nowhere', async t => {
  const { store, registry } = await abandoned(t)
  assert.deepEqual(accepted(await registry.deleteSubject('money')).versions, [1])
  assert.deepEqual(await registry.subjects({ isDeletedToo: true }), ['money'])
  const { subjects } = await registry.surveyAll()
  assert.deepEqual(
    subjects.map(({ subject }) => subject.name),
    ['money'],
  )
  assert.match(refusedWith(await registry.versions('order')), /^40401 /)
  assert.match(refusedWith(await registry.register('order', referring('Order', 'money'))), /^42201 /)
  accepted(await registry.deleteSubject('money', { isPermanent: true }))
  accepted(await registry.register('order', TYPE))
  await auditRegistry(store)
})

test('an old hold is left out, and goes with the next registration', async t => {
  const { clock, store, registry } = await abandoned(t)
  const holds = async () =>
    [...(await store.load('schema-subject', 'money'))!.fields.keys()].filter(key => key.startsWith('hold-'))
  assert.equal((await holds()).length, 1)
  await clock.advance(2 * 3_600_000)
  accepted(await clock.passing(registry.register('bill', referring('Bill', 'money'))))
  assert.deepEqual(await holds(), [])
  assert.match(refusedWith(await registry.deleteSubject('money')), /^42206 /)
  accepted(await registry.deleteSubject('bill'))
  accepted(await registry.deleteSubject('money'))
  assert.equal(await store.load('schema-subject', 'order'), null)
})
