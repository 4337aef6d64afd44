// Tests every change that operators make through one broker, while other brokers change the same document and are
// always faster.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startBroker } from '../../testing/broker.ts'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { withRival } from '../../testing/sim/rival.ts'
import { openAclKeeper } from '../auth/clients/acl-keeper.ts'
import { openUserStore } from '../auth/console/user-store.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { seededRandom } from '../base/random.ts'
import { openClientQuotas } from '../coordinator/client-quotas.ts'
import { openCatalogue } from '../log/catalogue.ts'
import { isRefusal, REQUEST_TIMED_OUT } from '../protocol/errors.ts'
import { createTopics } from '../protocol/messages/create-topics.ts'
import { metadata } from '../protocol/messages/metadata.ts'
import { testSettings } from '../settings/settings.ts'
import type { Store } from '../store/store.ts'
import { createAcl, deleteAcl, describeAcls } from './acls.ts'
import { changeCredential, deleteCredential, describeCredential, storeCredential } from './credentials.ts'

/** The number of races that one change loses. The broker tries a change for longer than these attempts take. */
const LOST = 70

function open() {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  return { clock, random: seededRandom(7), store, rivalled: () => withRival(store, LOST) }
}

test('topics are created, changed, given more partitions, and deleted', async () => {
  const { clock, random, store } = open()
  await openCatalogue(store, testSettings(), clock, random)
  const join = () => openCatalogue(withRival(store, LOST), testSettings(), clock, random, async () => false)
  const [made] = await clock.passing((await join()).add([{ name: 't', partitions: 1, configs: {} }]))
  assert.ok(made !== undefined && !isRefusal(made))
  const configs = { 'retention.ms': '1000' }
  const change = (await join()).change([made.id], () => ({ configs, partitions: 2 }))
  const [changed] = await clock.passing(change)
  assert.ok(changed !== undefined && !isRefusal(changed))
  assert.deepEqual([changed.configs, changed.partitions], [configs, 2])
  const last = await join()
  await clock.passing(last.remove([made.id]))
  assert.equal(last.current().topics.size, 0)
})

test('quotas are set', async () => {
  const { clock, random, store, rivalled } = open()
  const entity = { user: 'ann' }
  await (await openClientQuotas(store)).alter([{ entity, values: { producer_byte_rate: 1 } }])
  const quotas = await openClientQuotas(rivalled(), { clock, random })
  await clock.passing(quotas.alter([{ entity, values: { producer_byte_rate: 2 } }]))
  assert.deepEqual(
    [...(await openClientQuotas(store)).current().values()],
    [{ entity, values: { producer_byte_rate: 2 } }],
  )
})

test('rules are granted and taken back', async () => {
  const { clock, random, store, rivalled } = open()
  const join = async (on: Store) => ({ acls: await openAclKeeper({ store: on, clock, random, isShared: true }) })
  const rooms = await join(store)
  const rule = (resource: string) =>
    ({ principal: 'ann', resourceType: 'TOPIC', resource, operation: 'READ' }) as Parameters<typeof createAcl>[1]
  await createAcl(rooms, rule('a'))
  await clock.passing(createAcl(await join(rivalled()), rule('b')))
  await clock.passing(deleteAcl(await join(rivalled()), rule('a')))
  assert.deepEqual(
    (await describeAcls(rooms, 'ann')).map(({ resource }) => resource),
    ['b'],
  )
})

test('credentials are changed and deleted', async () => {
  const { clock, random, store, rivalled } = open()
  const rooms = { store, clock, random }
  const ada = { username: 'ada', mechanism: 'SCRAM-SHA-256', iterations: 4_096, tenantId: null } as const
  await storeCredential(rooms, { ...ada, password: 'correct horse' })
  const changed = await clock.passing(
    changeCredential({ ...rooms, store: rivalled() }, { username: 'ada', tenantId: 'red' }),
  )
  assert.equal(changed.kind, 'changed')
  assert.equal(await clock.passing(deleteCredential({ ...rooms, store: rivalled() }, 'ada')), true)
  assert.equal(await describeCredential(rooms, 'ada'), null)
})

test('users are changed', async () => {
  const { clock, random, store, rivalled } = open()
  const rooms = { clock, random, isShared: true, sessionMs: 1_000 }
  const change = { kind: 'change', username: 'ann', user: null } as const
  await (await openUserStore({ ...rooms, store })).change(() => change)
  const users = await openUserStore({ ...rooms, store: rivalled() })
  assert.deepEqual(await clock.passing(users.change(() => change)), change)
})

/** A clock that runs fifty times as fast as the system clock. */
const FAST: Clock = {
  ...systemClock,
  monotonic: () => 50 * systemClock.monotonic(),
  timer: (delayMs, fn) => systemClock.timer(delayMs / 50, fn),
}

test('a change that loses every race is answered with an error that names it, over Kafka and over HTTP', async t => {
  const settings = { 'admin.security-enabled': false, 'broker.response-queue-timeout': 60_000 }
  const openStore = async () => withRival(createMemoryStore(FAST))
  const broker = await startBroker(t, settings, { openStore, clock: FAST, hasHttp: true })
  const wire = await broker.connect()
  const topic = { name: 't', numPartitions: 1, replicationFactor: 1, assignments: [], configs: [] }
  const answer = await wire.send(createTopics, 5, { topics: [topic], timeoutMs: 60_000, validateOnly: false })
  const what = /^the list of topics was changed by others \d+ times within \d+ s, .* may be repeated/
  assert.equal(answer.topics[0]!.errorCode, REQUEST_TIMED_OUT.code)
  assert.match(answer.topics[0]!.errorMessage!, what)
  assert.match(broker.log(), /WARN .*CreateTopics failed: the list of topics was changed by others/)
  const headers = { 'content-type': 'application/json' }
  const refused = await fetch(`${broker.url}/api/v1/topics`, { method: 'POST', headers, body: '{"name":"t"}' })
  const { code, detail } = (await refused.json()) as { code: string; detail: string }
  assert.deepEqual([refused.status, code], [503, 'BUSY'])
  assert.match(detail, what)
  assert.equal((await wire.send(metadata, 9, { topics: null })).topics.length, 0)
})
