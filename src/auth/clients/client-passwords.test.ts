import assert from 'node:assert/strict'
import { createHook } from 'node:async_hooks'
import { type TestContext, test } from 'node:test'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import type { Mechanism } from '../../api/words.ts'
import { seededRandom } from '../../base/random.ts'
import { openClientPasswords } from './client-passwords.ts'
import { KIND, makeCredential, rowsOf } from './credential-record.ts'

const ADDRESS = '192.0.2.1'

async function open(t: TestContext) {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  const random = seededRandom(1)
  const clients = openClientPasswords({ store, clock, random })
  const versions = new Map<string, number>()
  async function give(name: string, password: string | null, mechanism: Mechanism = 'SCRAM-SHA-256') {
    const asked = { mechanism, iterations: 4_096, tenantId: null }
    const expect = versions.get(name) ?? 0
    const { version } =
      password === null
        ? await store.commit({ kind: KIND, name, expect, changes: [], remove: true })
        : await store.commit({
            kind: KIND,
            name,
            expect,
            changes: rowsOf(await makeCredential(asked, password, random)),
          })
    versions.set(name, version)
  }
  let hashes = 0
  const hook = createHook({
    init(_id, type) {
      if (type === 'PBKDF2REQUEST') hashes++
    },
  }).enable()
  t.after(() => hook.disable())
  const isRight = async (name: string, password: string, beside = '') =>
    await (await clients.find(name)).isRight(password, beside, ADDRESS)
  const isRemembered = async (name: string, password: string, beside = '') =>
    (await clients.find(name)).isRemembered(password, beside)
  return { clock, clients, give, isRight, isRemembered, hashes: () => hashes }
}

test('the password of a SCRAM and of a PLAIN credential is right, and every other one is wrong', async t => {
  const { give, isRight, clients } = await open(t)
  for (const mechanism of ['SCRAM-SHA-256', 'PLAIN'] as const) {
    await give(mechanism, 'right \0 ü', mechanism)
    assert.equal(await isRight(mechanism, 'right \0 ü'), true, mechanism)
    for (const wrong of ['', 'right', 'right \0 u', 'right \0 ü\0', 'x'.repeat(10_000)])
      assert.equal(await isRight(mechanism, wrong), false, wrong)
    const { isKnown, found } = await clients.find(mechanism)
    assert.deepEqual([isKnown, found], [true, { name: mechanism, groups: [] }])
  }
})

test('an unknown name costs a hash as a known one does, and is never right', async t => {
  const { give, isRight, clients, hashes } = await open(t)
  await give('ada', 'right')
  const before = hashes()
  assert.equal(await isRight('ada', 'wrong'), false)
  assert.equal(hashes() - before, 1)
  for (const name of ['ghost', '', 'group:a', 'a\0b', '\ufffd', 'x'.repeat(10_000)]) {
    const started = hashes()
    assert.equal(await isRight(name, 'right'), false, name.slice(0, 20))
    assert.equal(hashes() - started, 1, name.slice(0, 20))
    assert.equal((await clients.find(name)).isKnown, false)
  }
})

test('a right password is remembered for a minute, for its credential and the console user beside it', async t => {
  const { clock, give, isRight, isRemembered, hashes } = await open(t)
  await give('ada', 'right')
  assert.equal(await isRemembered('ada', 'right'), false)
  const before = hashes()
  for (let i = 0; i < 1_000; i++) assert.equal(await isRight('ada', 'right'), true)
  assert.equal(hashes() - before, 1)
  assert.equal(await isRemembered('ada', 'right'), true)
  assert.equal(await isRemembered('ada', 'wrong'), false)
  assert.equal(await isRemembered('ada', 'right', '$argon2id$'), false)
  await clock.advance(60_000)
  assert.equal(await isRemembered('ada', 'right'), false)
})

test('another password, or a deletion, ends the memory at once', async t => {
  const { give, isRight, isRemembered } = await open(t)
  await give('ada', 'right')
  assert.equal(await isRight('ada', 'right'), true)
  await give('ada', 'other')
  assert.equal(await isRemembered('ada', 'right'), false)
  assert.deepEqual([await isRight('ada', 'right'), await isRight('ada', 'other')], [false, true])
  // The same password with another salt is another credential.
  await give('ada', 'right')
  assert.equal(await isRemembered('ada', 'right'), false)
  assert.equal(await isRight('ada', 'right'), true)
  await give('ada', null)
  assert.equal(await isRemembered('ada', 'right'), false)
  assert.equal(await isRight('ada', 'right'), false)
})
