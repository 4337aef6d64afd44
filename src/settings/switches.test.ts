import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadSettings } from './load.ts'
import { testSettings } from './settings.ts'
import { capabilityStates } from './switches.ts'

const load = (...argv: readonly string[]) => loadSettings({ argv, env: {}, cwd: '/', readFile: () => new Uint8Array() })

test('a capability is on, or off with the place of its setting', () => {
  const states = (...argv: readonly string[]) =>
    Object.fromEntries(capabilityStates(load(...argv)).map(({ id, state, because }) => [id, because ?? state]))
  assert.deepEqual(states(), {
    tls: 'svc.broker.tls is false (default).',
    sasl: 'svc.broker.sasl.enabled is false (default).',
    acls: 'svc.broker.acl.enabled is false (default).',
    export: 'on',
    'remote-tier': 'svc.storage.remote.path is unset (default).',
    compaction: 'on',
    'schema-registry': 'on',
    mcp: 'svc.mcp.enabled is false (default).',
  })
  const sasl = ['--svc.broker.sasl.enabled=true', '--svc.broker.acl.enabled=true']
  const more = ['--svc.storage.remote.path=/tables', '--svc.mcp.enabled=true', '--svc.mcp.token=a-token']
  assert.deepEqual(states(...sasl, '--svc.admin.message-export-enabled=false', ...more), {
    tls: 'svc.broker.tls is false (default).',
    sasl: 'on',
    acls: 'on',
    export: 'svc.admin.message-export-enabled is false (command line).',
    'remote-tier': 'on',
    compaction: 'on',
    'schema-registry': 'on',
    mcp: 'on',
  })
})

test('one listener with TLS and SASL is enough for both to be on', () => {
  const inside = { name: 'IN', host: null, port: 9093, advertisedHost: null, advertisedPort: null } as const
  const settings = testSettings({ 'broker.listeners': [{ ...inside, security: 'sasl-tls' }] })
  const states = capabilityStates(settings).map(({ id, state }) => `${id} ${state}`)
  assert.deepEqual(states.slice(0, 3), ['tls on', 'sasl on', 'acls off'])
})
