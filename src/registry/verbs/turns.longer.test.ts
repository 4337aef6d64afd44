// The verbs of the registry while many slow checks of one caller wait, with threads.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { accepted, openTestRegistry, refusedWith } from '../../../testing/registry-world.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { toy } from '../../../testing/toy-format.ts'
import { systemClock } from '../../base/clock.ts'
import { SchemaWork } from '../work/schema-work.ts'

function open(t: TestContext, mostWaitingOfCaller: number) {
  const script = new URL('../../../testing/toy-schema-worker.ts', import.meta.url)
  const work = new SchemaWork({ clock: systemClock, script, cpuMs: 300, mostWaitingOfCaller })
  return openTestRegistry(t, createMemoryStore(systemClock), { work })
}

test('a registration of one caller does not wait for the slow checks of another one', async t => {
  const registry = open(t, 20)
  const slow = registry.of('a')
  let ended = 0
  const checks = Array.from({ length: 12 }, (_, i) =>
    slow.checkSubject('s', { schema: toy(`S${i}`, {}, { spin: true }) }).finally(() => ended++),
  )
  const settled = Promise.allSettled(checks)
  accepted(await registry.of('b').register('s', { schema: toy('R') }))
  assert.ok(ended <= 3, `${ended} checks ended first`)
  await registry.close()
  await settled
})

test('beyond the bound each verb that needs a thread is refused with 50002 and status 503, and then works again', async t => {
  const registry = open(t, 1)
  const caller = registry.of('a')
  const { id } = accepted(await caller.register('p', { schema: toy('P'), type: 'PROTOBUF' }))
  accepted(await caller.register('p', { schema: toy('P', { a: 'int?' }), type: 'PROTOBUF' }))
  const one = accepted(await caller.byId(id))
  const slow = ['A', 'B'].map(name => caller.explain('s', { schema: toy(name, {}, { spin: true }) }))
  const request = { schema: toy('N') }
  const verbs = [
    () => caller.checkSubject('s', request),
    () => caller.checkVersion('p', 1, request),
    () => caller.lookUp('s', request, {}),
    () => caller.explain('s', request),
    () => caller.formatted(one, 'serialized'),
    () => caller.compareVersions('p', 2, 1),
  ] as const
  for (const verb of verbs)
    assert.match(refusedWith(await verb()), /^50002 The registry has no time for more checks: too many of this caller/)
  accepted(await caller.register('s', request))
  await Promise.all(slow)
  accepted(await caller.formatted(one, 'serialized'))
})
