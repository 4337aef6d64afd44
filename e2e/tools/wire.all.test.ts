// Compares responses with those of Apache Kafka on the wire. Kafka's own tools do not show all fields, and sort
// entries in an order of their own.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { alterClientQuotas } from '../../src/protocol/messages/alter-client-quotas.ts'
import { describeClientQuotas } from '../../src/protocol/messages/describe-client-quotas.ts'
import { describeConfigs } from '../../src/protocol/messages/describe-configs.ts'
import { startApacheKafka } from '../../testing/apache-kafka.ts'
import { eventually } from '../../testing/eventually.ts'
import { startBrokerProcess } from '../../testing/process.ts'
import { connect, type Wire } from '../../testing/wire.ts'
import { toolsAbsence } from './tools.ts'

const skip = toolsAbsence() ?? false

const BROKER = 4

type Entity = Readonly<Record<string, string | null>>

const ENTITIES: readonly Entity[] = [
  { user: 'u1', 'client-id': 'c1' },
  { 'client-id': 'c2', user: 'u2' },
  { user: null },
  { 'client-id': null },
  { user: 'ann' },
  { ip: '127.0.0.1' },
  { user: 'zoe', 'client-id': null },
  { 'client-id': 'zoe', user: null },
  { user: 'Ünïcode 日本' },
  ...Array.from({ length: 16 }, (_, i) => ({ user: `user-${i}` })),
]

const entityOf = (entity: Entity) =>
  Object.entries(entity).map(([entityType, entityName]) => ({ entityType, entityName }))

const opsOf = (entity: Entity) =>
  ('ip' in entity
    ? ['connection_creation_rate']
    : ['request_percentage', 'producer_byte_rate', 'consumer_byte_rate']
  ).map((key, i) => ({ key, value: 10 + i, remove: false }))

function alter(wire: Wire, entities: readonly Entity[], validateOnly: boolean) {
  const entries = entities.map(each => ({ entity: entityOf(each), ops: opsOf(each) }))
  return wire.send(alterClientQuotas, 1, { entries, validateOnly })
}

test('responses equal those of Apache Kafka', { skip, timeout: 120_000 }, async t => {
  const brokers = await Promise.all([
    startApacheKafka(t),
    startBrokerProcess(t, { settings: { 'svc.broker.id': '1' } }),
  ])
  const wires = await Promise.all(brokers.map(({ port }) => connect({ port })))
  t.after(() => Promise.all(wires.map(wire => wire.close())))
  const compare = async (ask: (wire: Wire) => Promise<object>) => {
    const [there, here] = await Promise.all(wires.map(ask))
    assert.deepEqual(here, there)
  }

  await t.test('quotas are altered and described in the same order', async () => {
    await compare(wire => alter(wire, [...ENTITIES, { user: 'ann' }, {}], true))
    for (const [at, entity] of ENTITIES.entries()) {
      await compare(wire => alter(wire, [entity], false))
      const describe = async (wire: Wire) =>
        (await wire.send(describeClientQuotas, 1, { components: [], strict: false })).entries!
      // Kafka responds before its metadata image has the change.
      const isShown = async (wire: Wire) => (await describe(wire)).length === at + 1
      for (const wire of wires) await eventually('the quotas are described', () => isShown(wire))
      await compare(describe)
    }
  })

  await t.test("the names that a broker's configs share with Kafka have the same type", async () => {
    const resources = [{ resourceType: BROKER, resourceName: '1', configurationKeys: null }]
    const [there, here] = await Promise.all(
      wires.map(async wire => {
        const { results } = await wire.send(describeConfigs, 4, { resources })
        return new Map(results[0]!.configs.map(({ name, configType }) => [name, configType]))
      }),
    )
    const shared = [...here!].filter(([name]) => !/^(svc|server|logging|management)\./.test(name))
    assert(shared.length > 40, `${shared.length} names`)
    assert.deepEqual(
      shared.map(([name, type]) => `${name}: ${type}`),
      shared.map(([name]) => `${name}: ${there!.get(name)}`),
    )
  })
})
