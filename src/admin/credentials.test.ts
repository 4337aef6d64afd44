import assert from 'node:assert/strict'
import { createHmac, pbkdf2Sync } from 'node:crypto'
import { test } from 'node:test'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { credentialOf, KIND } from '../auth/clients/credential-record.ts'
import { systemClock } from '../base/clock.ts'
import { seededRandom } from '../base/random.ts'
import { changeCredential, storeCredential } from './credentials.ts'

const OLD = 'correct horse'
const NEW = 'correct horse anew'

async function openAda() {
  const rooms = { store: createMemoryStore(systemClock), clock: systemClock, random: seededRandom(1) }
  const ada = { username: 'ada', mechanism: 'SCRAM-SHA-256', iterations: 200_000, tenantId: 'red' } as const
  await storeCredential(rooms, { ...ada, password: OLD })
  const stored = async () => credentialOf('ada', (await rooms.store.load(KIND, 'ada'))!.fields)
  return { rooms, ada, stored }
}

test('a slow change of the password keeps the tenant that another operator sets meanwhile', async () => {
  const { rooms, ada, stored } = await openAda()
  const slow = changeCredential(rooms, { username: 'ada', password: NEW })
  const quick = await changeCredential(rooms, { username: 'ada', tenantId: 'blue' })
  assert.deepEqual(quick, { kind: 'changed', credential: { ...ada, tenantId: 'blue' } })
  assert.deepEqual(await slow, { kind: 'changed', credential: { ...ada, tenantId: 'blue' } })
  const { tenantId, salt, iterations, serverKey } = await stored()
  assert.equal(tenantId, 'blue')
  const salted = pbkdf2Sync(NEW, Buffer.from(salt, 'base64'), iterations, 32, 'sha256')
  assert.equal(serverKey, createHmac('sha256', salted).update('Server Key').digest('base64'))
})

test('a slow change of the password uses the mechanism that another operator sets meanwhile', async () => {
  const { rooms, ada, stored } = await openAda()
  const slow = changeCredential(rooms, { username: 'ada', password: NEW, tenantId: null })
  const plain = { mechanism: 'PLAIN', iterations: 4_096 } as const
  await changeCredential(rooms, { username: 'ada', password: OLD, ...plain })
  assert.deepEqual(await slow, { kind: 'changed', credential: { ...ada, ...plain, tenantId: null } })
  const { mechanism, salt, iterations, passwordHash } = await stored()
  assert.deepEqual([mechanism, iterations], ['PLAIN', 4_096])
  const salted = pbkdf2Sync(NEW, Buffer.from(salt, 'base64'), iterations, 32, 'sha256')
  assert.equal(passwordHash, salted.toString('base64'))
})
