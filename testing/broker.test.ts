import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../src/base/clock.ts'
import { startBroker } from '../src/broker.ts'
import { loadSettings } from '../src/settings/load.ts'
import { createMemoryStore } from './sim/memory-store.ts'

test('the log begins with the store engine and the key that chose it, then names each overridden value', async t => {
  const settings = loadSettings({
    argv: ['--svc.broker.port=0', '--svc.broker.host=127.0.0.1', '--svc.admin.password=hunter2'],
    env: { SVC_BROKER_PORT: '9999', SVC_ADMIN_PASSWORD: 'hunter3' },
    cwd: '/',
    readFile: () => new Uint8Array(),
  })
  const lines: string[] = []
  const openStore = () => Promise.resolve(createMemoryStore(systemClock))
  const broker = await startBroker({ settings, openStore, write: line => lines.push(line) })
  t.after(() => broker.close())
  assert.match(lines[0]!, /the embedded store, as svc\.storage\.local\.engine says .* origin=default/)
  const beaten = lines.filter(line => line.includes(' overrides '))
  assert.deepEqual(beaten.map(line => line.match(/svc\.broker {2}(.*)\n/)?.[1]).sort(), [
    'svc.admin.password: command line overrides environment variable SVC_ADMIN_PASSWORD',
    'svc.broker.port: command line overrides environment variable SVC_BROKER_PORT',
  ])
  assert(!lines.join('').includes('hunter'))
})
