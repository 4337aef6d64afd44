// A broker ends before or after each write of a request, and another one repeats the request.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditRegistry } from '../../../testing/registry-audit.ts'
import { accepted, type OpenedRegistry, openTestRegistry, refusedWith } from '../../../testing/registry-world.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { toy } from '../../../testing/toy-format.ts'
import { systemClock } from '../../base/clock.ts'
import type { Store } from '../../store/store.ts'

class Stopped extends Error {}

/** A store that a broker uses until it ends, before or after its commit of this number. */
function stopping(store: Store, at: number, when: 'before' | 'after') {
  let commits = 0
  let isStopped = false
  const stop = (): never => {
    isStopped = true
    throw new Stopped('the broker has ended')
  }
  const guarded =
    <A extends readonly unknown[], T>(verb: (...args: A) => Promise<T>) =>
    (...args: A): Promise<T> =>
      isStopped ? Promise.reject(new Stopped('the broker has ended')) : verb(...args)
  const stopped: Store = {
    ...store,
    load: guarded(store.load),
    version: guarded(store.version),
    list: guarded(store.list),
    commit: guarded(async commit => {
      if (commits++ !== at) return await store.commit(commit)
      if (when === 'after') await store.commit(commit)
      return stop()
    }),
  }
  return { store: stopped, commits: () => commits }
}

const requests: readonly {
  readonly name: string
  seed?(registry: OpenedRegistry): Promise<void>
  run(registry: OpenedRegistry): Promise<unknown>
  check(registry: OpenedRegistry): Promise<void>
}[] = [
  {
    name: 'the first registration',
    run: registry => registry.register('s', { schema: toy('R') }),
    async check(registry) {
      const { id, version } = accepted(await registry.byVersion('s', 'latest'))
      assert.equal(version, 1)
      assert.equal(accepted(await registry.byId(id)).schema, toy('R'))
    },
  },
  {
    name: 'a version that replaces a deleted one',
    async seed(registry) {
      accepted(await registry.register('s', { schema: toy('R') }))
      accepted(await registry.deleteSubject('s'))
    },
    run: registry => registry.register('s', { schema: toy('R') }),
    async check(registry) {
      const { id, version } = accepted(await registry.byVersion('s', 'latest'))
      assert.deepEqual([id, version], [1, 2])
    },
  },
  {
    name: 'a registration with a given id',
    seed: async registry => void accepted(await registry.putMode('s', 'IMPORT')),
    run: registry => registry.register('s', { schema: toy('R'), id: 50 }),
    async check(registry) {
      assert.equal(accepted(await registry.byVersion('s', 1)).id, 50)
      assert.ok((await registry.maxId()) >= 50)
    },
  },
  {
    name: 'a registration with a reference',
    seed: async registry => void accepted(await registry.register('money', { schema: toy('Money') })),
    run: registry =>
      registry.register('s', {
        schema: toy('R', {}, { uses: ['Money'] }),
        references: [{ name: 'Money', subject: 'money', version: 1 }],
      }),
    async check(registry) {
      const { id } = accepted(await registry.byVersion('s', 1))
      assert.deepEqual(await registry.referencedBy('money', 1), [id])
      assert.match(refusedWith(await registry.deleteSubject('money')), /^42206 /)
    },
  },
  {
    name: 'a permanent deletion',
    async seed(registry) {
      accepted(await registry.register('s', { schema: toy('R') }))
      accepted(await registry.deleteSubject('s'))
    },
    run: registry => registry.deleteSubject('s', { isPermanent: true }),
    async check(registry) {
      assert.deepEqual(await registry.subjects({ isDeletedToo: true }), ['other'])
      assert.equal(accepted(await registry.byId(1)).schema, toy('R'))
      assert.deepEqual(await registry.formerSubjectsOfId(1), ['s'])
    },
  },
]

for (const { name, seed, run, check } of requests) {
  for (const when of ['before', 'after'] as const) {
    test(`a broker that ends ${when} a write of ${name} leaves nothing inconsistent`, async t => {
      for (let at = 0, isOver = false; !isOver; at++) {
        const store = createMemoryStore(systemClock)
        const before = openTestRegistry(t, store.beside())
        await seed?.(before)
        const ending = stopping(store.beside(), at, when)
        const first = openTestRegistry(t, ending.store)
        await run(first).catch(error => assert.ok(error instanceof Stopped, String(error)))
        await first.close()
        isOver = ending.commits() <= at
        assert.ok(at < 20, 'the request ends')
        await auditRegistry(store)
        // Another schema that comes first does not get the id that was left behind.
        const next = openTestRegistry(t, store.beside())
        accepted(await next.register('other', { schema: toy('Other') }))
        // A deletion may have been made already.
        assert.match(refusedWith(await run(next)), /^(not refused|40401 )/)
        await auditRegistry(store)
        for (const registry of [next, before, openTestRegistry(t, store.beside())]) await check(registry)
      }
    })
  }
}

test('a registration whose every write has an unknown outcome is answered once, and nothing is made twice', async t => {
  for (const fault of ['unknown-lost', 'unknown-done'] as const) {
    for (let at = 0; at < 5; at++) {
      const store = createMemoryStore(systemClock)
      const face = store.beside()
      let commits = 0
      const registry = openTestRegistry(t, {
        ...face,
        commit(commit) {
          if (commits++ === at) face.faults.failNext('commit', fault)
          return face.commit(commit)
        },
      })
      const { id } = accepted(await registry.register('s', { schema: toy('R') }))
      assert.deepEqual(accepted(await registry.versions('s')), [1])
      const owners = await auditRegistry(store)
      assert.equal(owners.get(id), accepted(await registry.byId(id)).guid)
      assert.equal(owners.size, 1)
    }
  }
})
