import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idleSwitches } from './capabilities.ts'
import { testSettings } from './settings.ts'

test('switches that are on by default and do nothing yet are named in one sentence', () => {
  const console = { 'ui.enabled': false } as const
  const registry = { 'schema-registry.enabled': false } as const
  assert.equal(
    idleSwitches(testSettings()),
    'svc.ui.enabled and svc.schema-registry.enabled are true and do nothing yet: the web console and the schema registry are not in this version',
  )
  assert.equal(
    idleSwitches(testSettings(console)),
    'svc.schema-registry.enabled is true and does nothing yet: the schema registry is not in this version',
  )
  assert.equal(idleSwitches(testSettings({ ...console, ...registry })), null)
})
