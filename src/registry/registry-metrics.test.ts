import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accepted, openTestRegistry, refusedWith } from '../../testing/registry-world.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { toy } from '../../testing/toy-format.ts'
import { systemClock } from '../base/clock.ts'
import { createMetrics } from '../telemetry/metrics.ts'

test('refusals are counted by their code, and the gauges tell what is kept', async t => {
  const metrics = createMetrics()
  const registry = openTestRegistry(t, createMemoryStore(systemClock), { metrics })
  accepted(await registry.register('s', { schema: toy('R') }))
  accepted(await registry.register('t', { schema: toy('R', { a: 'int?' }) }))
  assert.match(refusedWith(await registry.register('s', { schema: '{}' })), /^42201 /)
  for (const name of ['x', 'y']) assert.match(refusedWith(await registry.versions(name)), /^40401 /)
  assert.deepEqual(await registry.subjects(), ['s', 't'])
  accepted(await registry.versions('s'))
  const text = await metrics.scrape()
  assert.match(text, /^svc_schema_registry_refusals_total\{code="42201"\} 1$/m)
  assert.match(text, /^svc_schema_registry_refusals_total\{code="40401"\} 2$/m)
  assert.match(text, /^svc_schema_registry_subjects 2$/m)
  assert.match(text, /^svc_schema_registry_highest_id 2$/m)
  for (const cache of ['list', 'subjects', 'schemas', 'ids'])
    assert.match(text, new RegExp(`^svc_schema_registry_cache_bytes\\{cache="${cache}"\\} [1-9]`, 'm'))
})
