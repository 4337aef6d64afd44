import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { seededRandom } from '../../base/random.ts'
import { SettingsError, testSettings } from '../../settings/settings.ts'
import { StoreUnavailable } from '../../store/store.ts'
import { openAclKeeper } from './acl-keeper.ts'
import type { Grant } from './acl-rules.ts'
import { ANONYMOUS, openPolicies } from './policies.ts'

const read: Grant = { resourceType: 'TOPIC', resource: 'a', operation: 'READ' }
const ada = { name: 'ada', groups: [] }

async function openRules(overrides: Parameters<typeof testSettings>[0]) {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  const open = (on = store) => openAclKeeper({ store: on, clock, random: seededRandom(1), isShared: true })
  const [acls, other] = [await open(), await open(store.beside())]
  return { store, acls, other, policies: openPolicies({ acls, settings: testSettings(overrides) }) }
}

test('a policy has the rules that another broker has changed until then, and does not change with later ones', async () => {
  const { store, other, policies } = await openRules({ 'broker.acl.enabled': true })
  assert.equal((await policies.resolve(ada))!.allows('READ', 'TOPIC', 'a'), false)
  await other.change('ada', () => [read])
  const first = (await policies.resolve(ada))!
  assert.equal(first.allows('READ', 'TOPIC', 'a'), true)
  await other.change('ada', () => [])
  assert.equal(first.allows('READ', 'TOPIC', 'a'), true)
  assert.equal((await policies.resolve(ada))!.allows('READ', 'TOPIC', 'a'), false)
  store.faults.failNext('load', 'unavailable')
  await assert.rejects(policies.resolve(ada), StoreUnavailable)
})

test('an authentication reads the rules of its own principals only, unless these are many', async () => {
  const { store, other, policies } = await openRules({ 'broker.acl.enabled': true })
  const calls = async (groups: number) => {
    const { list, load } = store.calls
    const names = Array.from({ length: groups }, (_, at) => `g${at}`)
    const policy = (await policies.resolve({ name: 'ada', groups: names }))!
    assert.equal(policy.allows('READ', 'TOPIC', 'a'), groups > 0, `${groups} groups`)
    return { list: store.calls.list - list, load: store.calls.load - load }
  }
  await other.change('group:g0', () => [read])
  assert.deepEqual(await calls(0), { list: 0, load: 1 })
  assert.deepEqual(await calls(3), { list: 0, load: 4 })
  assert.deepEqual(await calls(1000), { list: 1, load: 0 })
})

test('a client without a name has the rules of ANONYMOUS, and everything only while ACLs are off', async () => {
  const on = await openRules({ 'broker.acl.enabled': true })
  assert.equal(on.policies.current(ANONYMOUS)!.allows('READ', 'TOPIC', 'a'), false)
  await on.acls.change('ANONYMOUS', () => [read])
  assert.equal(on.policies.current(ANONYMOUS)!.allows('READ', 'TOPIC', 'a'), true)
  assert.equal((await openRules({})).policies.current(ANONYMOUS), null)
})

test('a super-user that is no principal of a rule ends the start with the entry and the reason', async () => {
  const refusal = async (entry: string) => {
    try {
      await openRules({ 'broker.acl.super-users': [entry] })
    } catch (error) {
      assert.ok(error instanceof SettingsError)
      return error.message
    }
    return null
  }
  assert.equal(
    await refusal('User:ada'),
    "svc.broker.acl.super-users: got User:ada (test), but it begins with 'User:'; takes the name alone, ada",
  )
  assert.match((await refusal('Group:ops'))!, /begins with 'Group:'; takes group:ops$/)
  assert.match((await refusal('a:b'))!, /got a:b .*but it holds ':'/)
  assert.match((await refusal('group:'))!, /names no principal/)
  assert.equal(await refusal('group:ops'), null)
})
