// Tests every kind of document with bytes of a wrong form, of a later version, and without the field. Running brokers
// continue and new brokers start. Each document is named and counted, requests that need it are refused by its name,
// and no broker overwrites it. A kind without a case does not compile. A run tests each kind on one of the stores,
// which the seed draws; `npm test` leaves Redis out. KETCH_LONG=1 tests each kind on each store.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { suite, type TestContext, test } from 'node:test'
import { signInAt } from '../../testing/admin-client.ts'
import { atLength, isLong } from '../../testing/at-length.ts'
import { startBroker, type TestBroker } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import { batchOf } from '../../testing/kafka.ts'
import { noRedis, startRedis } from '../../testing/redis.ts'
import { openTestStore } from '../../testing/redis-store.ts'
import { seed } from '../../testing/seed.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import type { Wire } from '../../testing/wire.ts'
import { systemClock } from '../base/clock.ts'
import { alterClientQuotas } from '../protocol/messages/alter-client-quotas.ts'
import { createTopics } from '../protocol/messages/create-topics.ts'
import { deleteGroups } from '../protocol/messages/delete-groups.ts'
import { deleteTopics } from '../protocol/messages/delete-topics.ts'
import { describeClientQuotas } from '../protocol/messages/describe-client-quotas.ts'
import { fetch as fetchApi } from '../protocol/messages/fetch.ts'
import { findCoordinator } from '../protocol/messages/find-coordinator.ts'
import { initProducerId } from '../protocol/messages/init-producer-id.ts'
import { metadata } from '../protocol/messages/metadata.ts'
import { offsetCommit } from '../protocol/messages/offset-commit.ts'
import { produce } from '../protocol/messages/produce.ts'
import type { Values } from '../settings/settings.ts'
import { type DocumentKind, documentKinds } from './document-kinds.ts'
import { openEmbeddedStore } from './embedded/embedded-store.ts'
import { type Store, streamId } from './store.ts'

const NO_TRANSACTION = { transactionalId: null, transactionTimeoutMs: 1_000 }
const PASSWORD = 'correct horse'
const QUICK = { memoryKiB: 512, passes: 1, lanes: 1 }
const STORAGE_ERROR = 56
const TOPIC_EXISTS = 36
const COORDINATOR_AWAY = 15

/** `wrong` and `none` are the same for all kinds; the form of a later version depends on the kind. */
const FORMS = ['wrong', 'later', 'none'] as const
type Form = (typeof FORMS)[number]

interface World {
  /** The store whose documents the test overwrites, as another program would. */
  readonly store: Store
  readonly isShared: boolean
  /** A broker that runs while the documents are overwritten. */
  readonly running: TestBroker
  /** All running brokers. */
  readonly brokers: readonly TestBroker[]
  /** Starts another broker afterwards. If the store allows only one broker, the running broker ends first. */
  startAnother(): Promise<TestBroker>
  /** All brokers that have run in the test. */
  readonly everybody: readonly TestBroker[]
}

interface Spot {
  readonly name: string
  readonly field: string
}

interface Case {
  /** Creates the documents that are overwritten, and returns their places. */
  seed(world: World): Promise<Record<Form, Spot>>
  /** The form of a later version; null if it cannot be distinguished from any other wrong form. */
  readonly later: string | Buffer | null
  /** True if there is only one document of this kind: the forms are tested one after the other. */
  readonly isOnePlace?: boolean
  /** True if the document may be overwritten: by its owner, or because no data is lost with it. */
  readonly isRepaired?: boolean
  /** Returns false if no broker reads the document; true by default. */
  isRead?(world: World): boolean
  /**
   * Checks the answers to clients and operators, both of a broker that had read the document before and of one that
   * had not.
   */
  check(broker: TestBroker, world: World): Promise<void>
}

const spots = (name: string, field: (form: Form) => string): Record<Form, Spot> => ({
  wrong: { name, field: field('wrong') },
  later: { name, field: field('later') },
  none: { name, field: field('none') },
})
const documents = (name: (form: Form) => string, field: string): Record<Form, Spot> => ({
  wrong: { name: name('wrong'), field },
  later: { name: name('later'), field },
  none: { name: name('none'), field },
})

async function put(store: Store, kind: DocumentKind, name: string, field: string, value: string | Uint8Array) {
  const changes = [{ key: field, value: Buffer.from(value) }]
  // The owner of the document may write it at the same time.
  for (let kindOfAnswer = ''; kindOfAnswer !== 'committed'; ) {
    const expect = (await store.load(kind, name))?.version ?? 0
    kindOfAnswer = (await store.commit({ kind, name, expect, changes })).kind
  }
}

async function create(wire: Wire, ...names: readonly string[]) {
  const topics = names.map(name => ({ name, numPartitions: 1, replicationFactor: 1, assignments: [], configs: [] }))
  const { topics: rows } = await wire.send(createTopics, 5, { topics, timeoutMs: 5_000, validateOnly: false })
  return rows.map(({ errorCode }) => errorCode)
}

async function topicError(wire: Wire, name: string) {
  const { topics } = await wire.send(metadata, 9, { topics: [{ name }], allowAutoTopicCreation: true })
  return topics[0]!.errorCode
}

async function commitError(wire: Wire, groupId: string) {
  const partitions = [{ partitionIndex: 0, committedOffset: 9, committedMetadata: null }]
  const asked = { groupId, memberId: '', generationIdOrMemberEpoch: -1, topics: [{ name: 'orders', partitions }] }
  return (await wire.send(offsetCommit, 8, asked)).topics[0]!.partitions[0]!.errorCode
}

async function alterQuota(wire: Wire, client: string, remove = false) {
  const ops = [{ key: 'producer_byte_rate', value: 1_000_000, remove }]
  const entries = [{ entity: [{ entityType: 'client-id', entityName: client }], ops }]
  return (await wire.send(alterClientQuotas, 1, { entries, validateOnly: false })).entries[0]!.errorCode
}

const quotaKey = (client: string) => JSON.stringify({ 'client-id': client })
const admin = (broker: TestBroker) => signInAt(broker.url, 'admin', PASSWORD)

const cases: Record<DocumentKind, Case> = {
  acl: {
    later: '{"topics":[],"version":2}',
    async seed({ store }) {
      for (const form of FORMS) await put(store, 'acl', form, 'document', '{"topics":{}}')
      return documents(form => form, 'document')
    },
    async check(broker, { running, isShared }) {
      // This broker is the only writer of its store, so it does not read the document again.
      if (!isShared && broker === running) return
      const session = await admin(broker)
      assert.deepEqual((await session.ask('GET', '/api/v1/acls')).body.unreadable, ['later', 'none', 'wrong'])
      assert.equal((await session.ask('GET', '/api/v1/acls/wrong')).code, 'UNREADABLE')
    },
  },
  'agent-confirmations': {
    later: JSON.stringify({ format: 2, way: 'telepathy' }),
    // It confirms nothing, so nothing is lost with it.
    isRepaired: true,
    seed: async () => spots('pending', form => form),
    async check(broker, { store }) {
      const wire = await broker.connect()
      await eventually('the topic is there', async () => (await topicError(wire, 'orders')) === 0)
      const asked = { topic: 'orders' }
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'delete_topic', arguments: asked } }
      const answer = await fetch(`${broker.url}/mcp`, {
        method: 'POST',
        headers: {
          accept: 'application/json, text/event-stream',
          authorization: `Bearer ${AGENTS_TOKEN}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify(body),
      })
      assert.match(await answer.text(), /confirm/)
      const { fields } = (await store.load('agent-confirmations', 'pending'))!
      for (const form of FORMS) assert.equal(fields.has(form), false)
    },
  },
  broker: {
    later: '{"shard":1}',
    isRepaired: true,
    isRead: ({ isShared }) => isShared,
    seed: async ({ isShared }) => documents(form => (isShared && form === 'wrong' ? '1' : form), 'broker'),
    async check(broker, { store, isShared }) {
      if (!isShared) return
      await eventually('what gives no sign of life is removed', async () =>
        (await store.list('broker')).every(({ name }) => /^\d+$/.test(name)),
      )
      const wire = await broker.connect()
      await eventually('broker 1 is there', async () => {
        const { brokers } = await wire.send(metadata, 9, { topics: [] })
        return brokers.some(({ nodeId }) => nodeId === 1)
      })
    },
  },
  catalogue: {
    later: JSON.stringify({ id: 'AAAAAAAAAAAAAAAAAAAAbQ', shards: 3, createdAtMs: 1 }),
    async seed({ running, store }) {
      const wire = await running.connect()
      assert.deepEqual(await create(wire, 'wrong', 'none'), [0, 0])
      await put(store, 'catalogue', 'topics', 'cluster-id', 'no id')
      return spots('topics', form => `topic:${form}`)
    },
    async check(broker, { store, running }) {
      const wire = await broker.connect()
      assert.deepEqual(await create(wire, ...FORMS), [TOPIC_EXISTS, TOPIC_EXISTS, TOPIC_EXISTS])
      assert.equal(await topicError(wire, 'later'), STORAGE_ERROR)
      if (broker === running) return
      // No stream is removed, and the name is free once an operator deletes the document.
      assert((await store.streams()).length >= 3)
      assert.equal(await topicError(wire, 'wrong'), STORAGE_ERROR)
      const { responses } = await wire.send(deleteTopics, 5, { topicNames: ['wrong'], timeoutMs: 5_000 })
      assert.equal(responses[0]!.errorCode, 0)
      assert.deepEqual(await create(wire, 'wrong'), [0])
    },
  },
  console: {
    later: JSON.stringify({ role: 'OWNER', passwordHash: 'x', stamp: 'y' }),
    async seed({ running }) {
      const session = await admin(running)
      for (const username of FORMS)
        await session.ask('POST', '/api/v1/users', { username, password: PASSWORD, role: 'ADMIN' })
      return spots('users', form => `user:${form}`)
    },
    async check(broker, { running, isShared }) {
      // This broker is the only writer of its store, so it does not read the document again.
      if (!isShared && broker === running) return
      const session = await admin(broker)
      for (const username of FORMS) {
        const asked = { username, password: PASSWORD }
        assert.equal((await session.ask('POST', '/api/v1/auth/login', asked)).status, 401)
        assert.equal((await session.ask('POST', '/api/v1/users', { ...asked, role: 'ADMIN' })).status, 409)
        assert.equal((await session.ask('GET', `/api/v1/users/${username}`)).code, 'UNREADABLE')
        assert.equal((await session.ask('PUT', `/api/v1/users/${username}`, { role: 'VIEWER' })).code, 'UNREADABLE')
      }
      assert.deepEqual((await session.ask('GET', '/api/v1/users')).body.unreadable, [...FORMS].sort())
    },
  },
  credential: {
    later: 'SCRAM-SHA-1024',
    async seed({ store }) {
      for (const form of FORMS) await put(store, 'credential', form, 'mechanism', 'PLAIN')
      return documents(form => form, 'mechanism')
    },
    async check(broker) {
      const session = await admin(broker)
      assert.deepEqual((await session.ask('GET', '/api/v1/credentials')).body.unreadable, ['later', 'none', 'wrong'])
      assert.equal((await session.ask('GET', '/api/v1/credentials/later')).code, 'UNREADABLE')
    },
  },
  dictionaries: {
    later: '{"parts":[1,2]}',
    async seed({ store, running }) {
      const wire = await running.connect()
      return await packedTopics(wire, store, (id, form) => ({ name: id, field: form === 'none' ? 'v2' : '1' }))
    },
    check: readsAndWrites,
  },
  dictionary: {
    later: null,
    async seed({ store, running }) {
      const wire = await running.connect()
      return await packedTopics(wire, store, id => ({ name: `${id}:1`, field: 'content' }))
    },
    check: readsAndWrites,
  },
  'ended-session': {
    later: '2 1700000000000',
    async seed({ store }) {
      for (const form of FORMS) await put(store, 'ended-session', form, 'until', '99999999999999')
      return documents(form => form, 'until')
    },
    async check(_broker, { store }) {
      for (const form of FORMS) assert((await store.version('ended-session', form)) > 0)
    },
  },
  group: {
    later: Buffer.from([0, 9, 1, 2, 3]),
    async seed({ brokers }) {
      // A coordinator that has just begun may still load the group.
      for (const form of FORMS)
        await eventually(`group ${form} is made`, async () => {
          return (await commitError(await coordinatorOf(brokers, form), form)) === 0
        })
      return documents(form => form, 'head')
    },
    async check(broker, { store, brokers, running }) {
      for (const form of FORMS) {
        const wire = await coordinatorOf(brokers, form)
        await eventually(`group ${form} is refused`, async () => (await commitError(wire, form)) === COORDINATOR_AWAY)
        assert.equal((await store.load('group', form))!.fields.size, 2)
      }
      if (broker === running) return
      // The broker that has just started may become the coordinator, and may still load the group.
      await eventually('the group is deleted', async () => {
        const wire = await coordinatorOf(brokers, 'wrong')
        return (await wire.send(deleteGroups, 2, { groupsNames: ['wrong'] })).results[0]!.errorCode === 0
      })
      await eventually('the deleted group is there again', async () => {
        return (await commitError(await coordinatorOf(brokers, 'wrong'), 'wrong')) === 0
      })
    },
  },
  leads: {
    later: Buffer.from([1, 2, 3, 4, 5]),
    async seed({ store }) {
      for (const form of FORMS) await put(store, 'leads', '1', form, Buffer.from([0, 0, 0, 1]))
      return spots('1', form => form)
    },
    async check(broker) {
      assert.equal(await topicError(await broker.connect(), 'orders'), 0)
    },
    // Each broker reads the documents of the others.
    isRead: ({ isShared }) => isShared,
    isRepaired: true,
  },
  offload: {
    later: JSON.stringify({ format: 2, topicName: 'orders' }),
    // A broker reads it only for topics of the remote tier; src/tier/offload/job-documents.test.ts tests the reader.
    isRead: () => false,
    seed: async () => documents(form => form, 'offload'),
    async check(broker) {
      assert.equal(await topicError(await broker.connect(), 'orders'), 0)
    },
  },
  'producer-ids': {
    later: 'next=7',
    isRead: () => false,
    async seed({ running }) {
      await (await running.connect()).send(initProducerId, 1, NO_TRANSACTION)
      return spots('blocks', form => form)
    },
    async check(broker) {
      const wire = await broker.connect()
      const [one, two] = [
        await wire.send(initProducerId, 1, NO_TRANSACTION),
        await wire.send(initProducerId, 1, NO_TRANSACTION),
      ]
      assert.deepEqual([one.errorCode, two.errorCode], [0, 0])
      assert.notEqual(one.producerId, two.producerId)
    },
  },
  quotas: {
    later: '{"producer_byte_rate":{"burst":1}}',
    async seed({ running }) {
      const wire = await running.connect()
      for (const form of FORMS) assert.equal(await alterQuota(wire, form), 0)
      return spots('clients', form => quotaKey(form))
    },
    async check(broker, { running, store }) {
      const wire = await broker.connect()
      for (const form of FORMS) assert.equal(await alterQuota(wire, form), STORAGE_ERROR)
      assert.equal(await alterQuota(wire, `new-${broker === running}`), 0)
      const { entries } = await wire.send(describeClientQuotas, 1, {
        components: [{ entityType: 'client-id', matchType: 2, match: null }],
        strict: false,
      })
      assert(!entries!.some(({ entity }) => FORMS.includes(entity[0]!.entityName as Form)))
      if (broker === running) return
      assert.equal(await alterQuota(wire, 'wrong', true), 0)
      assert.equal((await store.load('quotas', 'clients'))!.fields.has(quotaKey('wrong')), false)
      assert.equal(await alterQuota(wire, 'wrong'), 0)
    },
  },
  // Brokers read these when a client names them; src/registry/state/unreadable-state.test.ts tests the readers.
  'schema-content': unread('schema-content', 'content'),
  'schema-id': unread('schema-id', 'schema'),
  'schema-subject': unread('schema-subject', 'head'),
  schemas: unread('schemas', 'counter'),
  segments: {
    later: JSON.stringify({ format: 2, epoch: 1, tail: 3 }),
    async seed({ running, store }) {
      const wire = await running.connect()
      const result: Partial<Record<Form, Spot>> = {}
      for (const form of FORMS) {
        const configs = [{ name: 'segment.ms', value: '1' }, KEEP_ALL]
        const topics = [{ name: `packed-${form}`, numPartitions: 1, replicationFactor: 1, assignments: [], configs }]
        const made = await wire.send(createTopics, 7, { topics, timeoutMs: 5_000, validateOnly: false })
        const name = streamId(made.topics[0]!.topicId, 0)
        const field = form === 'wrong' ? '0' : 'sealed'
        await put(store, 'segments', name, 'sealed', JSON.stringify({ format: 1, epoch: 1, end: 0 }))
        result[form] = { name, field }
      }
      return result as Record<Form, Spot>
    },
    async check(broker, world) {
      await readsAndWrites(broker, world)
      for (const form of FORMS) {
        const line = new RegExp(`the segments of packed-${form}-0 cannot be read .* goes on without segments`)
        await eventually(`the document of ${form} is named`, async () =>
          world.everybody.some(each => line.test(each.log())),
        )
      }
    },
  },
  'sign-in-failures': {
    later: '3;1700000000000;10.0.0.7',
    isOnePlace: true,
    isRepaired: true,
    async seed({ store, running }) {
      await wrongPassword(running)
      const [{ name, fields } = assert.fail()] = await store.list('sign-in-failures')
      const [field] = fields.keys()
      return documents(() => name, field!)
    },
    async check(broker) {
      await wrongPassword(broker)
      await admin(broker)
    },
  },
  'signing-key': {
    later: 'ed25519:AAAA',
    isOnePlace: true,
    async seed({ running }) {
      await wrongPassword(running)
      return documents(() => 'sign-in-failures', 'key')
    },
    async check(broker) {
      await wrongPassword(broker)
      await admin(broker)
    },
  },
  tier: {
    later: JSON.stringify({ format: 2 }),
    isOnePlace: true,
    // Only a broker with a remote tier reads it; src/tier/remote/notices.test.ts tests the reader.
    isRead: () => false,
    seed: async () => documents(() => 'notices', 'notices'),
    async check(broker) {
      assert.equal(await topicError(await broker.connect(), 'orders'), 0)
    },
  },
  worker: {
    later: '{"shards":3}',
    isOnePlace: true,
    // It is replaced only after its version has stood still for a lease; src/tier/lease.test.ts tests that.
    isRepaired: true,
    // A store that only one broker can use has no such document.
    isRead: ({ isShared }) => isShared,
    seed: async () => documents(() => 'lease', 'holder'),
    check: runsRound,
  },
}

/** A document that no broker of these tests reads. */
function unread(kind: DocumentKind, field: string): Case {
  return {
    later: JSON.stringify({ format: 2 }),
    isRead: () => false,
    seed: async () => documents(form => `${kind} ${form}`, field),
    async check(broker) {
      assert.equal(await topicError(await broker.connect(), 'orders'), 0)
    },
  }
}

/** Asks any broker to run a round until one holds the lease. */
async function runsRound(broker: TestBroker) {
  const session = await admin(broker)
  await eventually(
    'a round runs',
    async () => (await session.ask('POST', '/api/v1/storage/worker/run')).status === 200,
    60_000,
  )
}

async function wrongPassword(broker: TestBroker) {
  const answer = await fetch(`${broker.url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'admin', password: 'wrong guess' }),
  })
  assert.equal(answer.status, 401)
}

/** The records of tests have old timestamps. */
const KEEP_ALL = { name: 'retention.ms', value: '-1' }

/** Creates topics that compress with a dictionary that an operator has added, one topic for each form. */
async function packedTopics(wire: Wire, store: Store, spot: (id: string, form: Form) => Spot) {
  const result: Partial<Record<Form, Spot>> = {}
  for (const form of FORMS) {
    const configs = [{ name: 'storage.compression.type', value: 'zstd' }, KEEP_ALL]
    const topics = [{ name: `packed-${form}`, numPartitions: 1, replicationFactor: 1, assignments: [], configs }]
    const made = await wire.send(createTopics, 7, { topics, timeoutMs: 5_000, validateOnly: false })
    const id = made.topics[0]!.topicId
    const content = Buffer.from('a dictionary for all the orders '.repeat(20))
    await put(store, 'dictionary', `${id}:1`, 'content', content)
    await put(store, 'dictionaries', id, '1', JSON.stringify({ bytes: content.length }))
    result[form] = spot(id, form)
  }
  return result as Record<Form, Spot>
}

async function readsAndWrites(_broker: TestBroker, { brokers }: World) {
  for (const form of FORMS) {
    const name = `packed-${form}`
    const partitionData = [{ index: 0, records: batchOf(['an order for all the orders']) }]
    const asked = { acks: -1, timeoutMs: 5_000, topicData: [{ name, partitionData }] }
    let leader = await brokers[0]!.connect()
    await eventually(`${name} takes records`, async () => {
      leader = (await leaderOf(brokers, name)) ?? leader
      const { responses } = await leader.send(produce, 7, asked)
      return responses[0]!.partitionResponses[0]!.errorCode === 0
    })
    const partitions = [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 1 << 20 }]
    const wanted = { maxWaitMs: 0, minBytes: 0, maxBytes: 1 << 20, topics: [{ topic: name, partitions }] }
    // A broker that has just joined may take the lead of some partitions between two requests.
    await eventually(`${name} gives records`, async () => {
      leader = (await leaderOf(brokers, name)) ?? leader
      const { errorCode, records } = (await leader.send(fetchApi, 11, wanted)).responses[0]!.partitions[0]!
      return errorCode === 0 && records!.length > 0
    })
  }
}

/** Returns a connection to the topic's leader, or null while no broker leads it. */
async function leaderOf(brokers: readonly TestBroker[], name: string): Promise<Wire | null> {
  const wire = await brokers[0]!.connect()
  const answer = await wire.send(metadata, 9, { topics: [{ name }], allowAutoTopicCreation: false })
  const leaderId = answer.topics[0]!.partitions[0]?.leaderId
  const port = answer.brokers.find(({ nodeId }) => nodeId === leaderId)?.port
  return (await brokers.find(each => each.port === port)?.connect()) ?? null
}

async function coordinatorOf(brokers: readonly TestBroker[], key: string): Promise<Wire> {
  const wire = await brokers[0]!.connect()
  let port = 0
  await eventually(`group ${key} has a coordinator`, async () => {
    const found = await wire.send(findCoordinator, 1, { key, keyType: 0 })
    port = found.port
    return found.errorCode === 0 && brokers.some(each => each.port === port)
  })
  return await brokers.find(each => each.port === port)!.connect()
}

const AGENTS_TOKEN = 'a token of more than thirty-two characters'

const SETTINGS: Partial<Values> = {
  'admin.password': PASSWORD,
  'mcp.enabled': true,
  'mcp.mutations-enabled': true,
  'mcp.token': AGENTS_TOKEN,
  'broker.expiry': 1_000,
  'broker.drain-timeout': 2_000,
  'storage.worker.lease-duration': 2_000,
  'storage.worker.tick-interval': 500,
}

async function openShared(
  t: TestContext,
  store: Store,
  openStore: (() => Promise<Store>) | null,
  more: Partial<Values>,
) {
  const start = (id: number) =>
    startBroker(
      t,
      { ...SETTINGS, ...more, 'broker.id': id },
      { http: { hashParameters: QUICK }, ...(openStore && { openStore, isShared: true }) },
    )
  const brokers = [await start(1), await start(2)]
  const world: World = {
    store,
    isShared: true,
    running: brokers[0]!,
    brokers,
    async startAnother() {
      brokers.push(await start(3))
      return brokers[2]!
    },
    everybody: brokers,
  }
  return world
}

async function openAlone(t: TestContext): Promise<World> {
  const dir = await temporaryFolder(t, 'ketch-')
  let store: Store | null = null
  const openStore = async () => {
    const rest = { fsync: 'interval', fsyncIntervalMs: 50, journalFileBytes: 1 << 24, clock: systemClock } as const
    store = await openEmbeddedStore({ path: dir, ...rest, report: () => {} })
    return store
  }
  const start = () => startBroker(t, SETTINGS, { dir, openStore, http: { hashParameters: QUICK } })
  const running = await start()
  const brokers = [running]
  const everybody = [running]
  return {
    get store() {
      return store!
    },
    isShared: false,
    running,
    brokers,
    async startAnother() {
      await running.broker.close()
      brokers[0] = await start()
      everybody.push(brokers[0])
      return brokers[0]
    },
    everybody,
  }
}

const stores: readonly {
  readonly name: string
  readonly skip: string | false
  open(t: TestContext): Promise<World>
}[] = [
  { name: 'the embedded store', skip: false, open: openAlone },
  {
    name: 'a store in memory that brokers share',
    skip: false,
    open(t) {
      const contents = createMemoryStore(systemClock)
      return openShared(t, contents.beside(), async () => contents.beside(), {})
    },
  },
  {
    name: 'Redis',
    skip: noRedis,
    async open(t) {
      const { uri } = await startRedis(t)
      const { store } = await openTestStore(t, { 'redis.uri': uri })
      return await openShared(t, store, null, { 'redis.uri': uri })
    },
  },
]

// Each world has a store and brokers of its own, and most of its time they wait for each other.
suite('documents that cannot be read', { concurrency: 3 }, () => {
  // Brokers with a shared store in memory behave like brokers on Redis. Only Redis has the case of a key with another
  // type, which is tested below.
  const taken = atLength(stores, stores.slice(0, 2))
  const rows = documentKinds.flatMap(kind =>
    (cases[kind].isOnePlace ? FORMS.map(form => [form]) : [FORMS]).map(forms => ({ kind, forms })),
  )
  for (const [at, { kind, forms }] of rows.entries()) {
    const its = cases[kind]
    for (const { name, skip, open } of isLong ? stores : [taken[(at + seed) % taken.length]!]) {
      test(`a document of kind ${kind} (${forms.join(', ')}) that cannot be read stops no broker on ${name}`, {
        skip,
      }, async t => {
        const world = await open(t)
        await create(await world.running.connect(), 'orders')
        const places = await its.seed(world)
        const bytes = {
          wrong: Buffer.from('garbage'),
          later: Buffer.from(its.later ?? 'garbage'),
          none: Buffer.alloc(0),
        }
        for (const form of forms) await put(world.store, kind, places[form].name, places[form].field, bytes[form])
        await its.check(world.running, world)
        const another = await world.startAnother()
        await its.check(another, world)

        const logs = world.everybody.map(each => each.log())
        const counted = world.everybody.map(each => each.broker.metrics.total('svc.storage.unreadable_documents'))
        const named = logs.map(log => log.match(/ ERROR svc\.store .* cannot be read .*/g) ?? [])
        if (its.isRead?.(world) ?? true) {
          assert(Math.max(...counted) > 0, 'it is counted')
          assert(named.flat().length > 0, 'it is named')
        }
        for (const lines of named) {
          const texts = lines.map(line => line.slice(line.indexOf('svc.store')))
          assert.equal(new Set(texts).size, texts.length, `named more than once: ${texts.join('\n')}`)
        }
        assert.doesNotMatch(logs.join(''), /because of a defect in the broker|an HTTP request failed/)
        if (its.isRepaired) return
        for (const form of forms) {
          // The checks have deleted this document.
          if (form === 'wrong' && forms.length > 1) continue
          const document = await world.store.load(kind, places[form].name)
          assert.deepEqual(Buffer.from(document!.fields.get(places[form].field)!), bytes[form], `${form} is as it was`)
        }
      })
    }
  }
})

test('every kind of document that the code reads or writes is in the table', () => {
  for (const path of globSync('src/*/**/*.ts')) {
    if (path.endsWith('.test.ts') || path.startsWith('src/store/')) continue
    const text = readFileSync(path, 'utf8')
    for (const [, argument] of text.matchAll(/\bstore\.(?:load|list|version)\((\w+|'[^']*')/g))
      assert.match(argument!, /^(KIND|LISTS|CONTENTS|kind)$/, `${path} names the kind of a document ${argument}`)
    for (const [, name, type] of text.matchAll(/const (KIND|LISTS|CONTENTS)(: DocumentKind)? = '/g))
      assert.equal(type, ': DocumentKind', `${path} declares ${name} without the type that the table gives`)
  }
})

test('a key of another type in place of a document stops no broker', { skip: noRedis }, async t => {
  const redis = await startRedis(t)
  const { store } = await openTestStore(t, { 'redis.uri': redis.uri })
  const world = await openShared(t, store, null, { 'redis.uri': redis.uri })
  const wire = await world.running.connect()
  await create(wire, 'orders')
  await eventually('the group is served', async () => {
    return (await commitError(await coordinatorOf(world.brokers, 'g'), 'g')) === 0
  })
  assert.equal(await alterQuota(wire, 'c'), 0)
  for (const kind of ['group', 'quotas', 'console']) {
    for (const key of (await redis.ask('KEYS', `svc:documents:{${kind}:*}:document:*`)) as readonly string[]) {
      await redis.ask('DEL', key)
      await redis.ask('SET', key, 'no hash')
    }
  }
  const another = await world.startAnother()
  // The broker that has just started may become the coordinator of either group, and may still load it.
  await eventually('the group is refused', async () => {
    return (await commitError(await coordinatorOf(world.brokers, 'g'), 'g')) === COORDINATOR_AWAY
  })
  await eventually('another group is served', async () => {
    return (await commitError(await coordinatorOf(world.brokers, 'other'), 'other')) === 0
  })
  assert.equal(await topicError(await another.connect(), 'orders'), 0)
  assert.match(another.log(), / ERROR svc\.store .*the document of all quotas cannot be read/)
  const keys = (await redis.ask('KEYS', 'svc:documents:{quotas:*}:document:*')) as readonly string[]
  assert.equal(await redis.ask('GET', keys[0]!), 'no hash')
})
