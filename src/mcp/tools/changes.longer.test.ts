// Tests the tools that change something: the refusals and answers of each, and one of them from the preview to the
// change. changes.all.test.ts tests all of them that way.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cases, openFull as open, stateOf, testCase } from '../../../testing/agent-changes.ts'
import { openAgentWorld, orderSchema } from '../../../testing/agent-world.ts'
import { append, enter } from '../../../testing/group-calls.ts'
import { contentsOf } from '../../../testing/store-contents.ts'
import { isChanging } from '../tool.ts'
import { allTools } from './all.ts'

test('each tool that changes something has a case', () => {
  const changing = allTools.filter(isChanging).map(({ name }) => name)
  assert.deepEqual(cases.map(({ tool }) => tool).sort(), changing.sort())
})

testCase(cases.find(({ tool }) => tool === 'delete_topic')!)

test('records that are written after the preview do not change what it does', async t => {
  const world = await open(t)
  const { agent, ask, wire } = world
  const deletion = { topic: 'orders', offsets: [{ partition: 0, before: 'end' }] }
  const reset = { group: 'readers', to: 'latest' }
  const [deleting, resetting] = [await agent.call('delete_records', deletion), await agent.call('reset_offsets', reset)]
  await append(wire, 0, ['later', 'and later'])
  const { confirm } = deleting.structured
  assert.deepEqual(
    (await agent.call('delete_records', { ...deletion, confirm })).structured.untrusted_data.partitions,
    {
      total: 1,
      rows: [{ partition: 0, start: 10 }],
    },
  )
  const moved = await agent.call('reset_offsets', { ...reset, confirm: resetting.structured.confirm })
  assert.deepEqual(moved.structured.untrusted_data.offsets.rows[0], {
    topic: 'orders',
    partition: 0,
    before: 5,
    after: 10,
  })
  const { leaders } = await ask('GET', '/topics/orders')
  assert.deepEqual([leaders[0].start, leaders[0].end], [10, 12])
})

test('on a topic that is written all the time each change can be made', async t => {
  const { agent, wire } = await open(t)
  const topic = 'orders'
  for (const [tool, args] of [
    ['produce', { topic, messages: [{ key: { text: 'k' } }] }],
    ['alter_topic', { topic, set: { 'retention.ms': '60000000' } }],
    ['add_partitions', { topic, count: 3 }],
    ['delete_topic', { topic }],
  ] as const) {
    const { confirm } = (await agent.call(tool, args)).structured
    await append(wire, 0, ['meanwhile'])
    const { structured, isError } = await agent.call(tool, { ...args, confirm })
    assert.equal(isError, false, JSON.stringify(structured))
  }
})

test('a record without a key goes to the partition of the preview, and with the schema of the preview', async t => {
  const { agent, ask } = await open(t)
  for (let n = 0; n < 8; n++) {
    const args = { topic: 'orders', messages: [{ value: { text: `${n}` } }] }
    const { confirm, untrusted_data } = (await agent.call('produce', args)).structured
    const { records } = (await agent.call('produce', { ...args, confirm })).structured.untrusted_data
    assert.equal(records.rows[0].partition, untrusted_data.records.rows[0].partition)
  }
  const args = {
    topic: 'orders',
    messages: [{ partition: 0, value: { text: '{"id": 1}', schema: { subject: 'orders-value' } } }],
  }
  const { confirm } = (await agent.call('produce', args)).structured
  await ask('POST', '/schemas/subjects/orders-value/versions', { type: 'AVRO', schema: orderSchema('note') })
  const { structured } = await agent.call('produce', { ...args, confirm })
  assert.equal(structured.error, 'CONFIRM_OUTDATED')
  assert.equal(structured.untrusted_data.records.rows[0].valueSchemaId, 2)
})

test('a schema that a version has already is answered with that version, and nothing is added', async t => {
  const world = await open(t)
  const args = { subject: 'orders-value', schema: orderSchema() }
  const first = (await world.agent.call('register_schema', args)).structured
  assert.deepEqual(first.untrusted_data, {
    change: 'none: a version has this schema already',
    ...{ subject: 'orders-value', type: 'AVRO', level: 'BACKWARD', comparedWithVersions: { total: 1, rows: [1] } },
    ...{ version: 1, id: 1 },
  })
  const before = await stateOf(world)
  const { registered } = (await world.agent.call('register_schema', { ...args, confirm: first.confirm })).structured
    .untrusted_data
  assert.deepEqual([registered.version, registered.id], [1, 1])
  assert.deepEqual(await stateOf(world), before)
})

test('a level of a subject is set, and taken back', async t => {
  const { agent, ask } = await open(t)
  const subject = 'orders-value'
  for (const [level, before, after] of [
    ['NONE', { level: 'BACKWARD', origin: 'default' }, { level: 'NONE', origin: 'subject' }],
    [null, { level: 'NONE', origin: 'subject' }, { level: 'BACKWARD', origin: 'default' }],
  ] as const) {
    const { untrusted_data, confirm } = (await agent.call('set_compatibility', { subject, level })).structured
    assert.deepEqual([untrusted_data.before, untrusted_data.after], [before, after])
    assert.equal((await agent.call('set_compatibility', { subject, level, confirm })).isError, false)
    const now = await ask('GET', `/schemas/subjects/${subject}/level`)
    assert.deepEqual({ level: now.level, origin: now.origin }, after)
  }
})

test('a change that would be refused is refused at once, with no value to confirm it', async t => {
  const world = await open(t)
  const { agent, ids } = world
  const strange = orderSchema().replace('"long"', '"string"')
  const job = (base: number) => `${ids.done.slice(0, 22)}:0:${base}`
  const rows: readonly (readonly [string, Record<string, unknown>, string])[] = [
    ['create_topic', { topic: 'orders' }, 'TOPIC_ALREADY_EXISTS'],
    ['create_topic', { topic: 'a/b' }, 'INVALID_TOPIC_EXCEPTION'],
    ['create_topic', { topic: 'new', configs: { 'no.such': '1' } }, 'INVALID_CONFIG'],
    ['create_topic', { topic: 'new', replicationFactor: 3 }, 'INVALID_REPLICATION_FACTOR'],
    ['create_topic', { topic: 'new', partitions: 1_000_000 }, 'INVALID_PARTITIONS'],
    ['create_topic', { topic: 'new', partitions: 0 }, 'INVALID_ARGUMENTS'],
    ['alter_topic', { topic: 'orders' }, 'INVALID_ARGUMENTS'],
    ['alter_topic', { topic: 'orders', set: { 'retention.ms': 'soon' } }, 'INVALID_CONFIG'],
    ['alter_topic', { topic: 'none', delete: ['retention.ms'] }, 'UNKNOWN_TOPIC_OR_PARTITION'],
    ['alter_topic', { topic: 'orders', set: { 'no.such': '1' } }, 'INVALID_CONFIG'],
    ['add_partitions', { topic: 'orders', count: 2 }, 'INVALID_PARTITIONS'],
    ['add_partitions', { topic: 'none', count: 2 }, 'UNKNOWN_TOPIC_OR_PARTITION'],
    ['delete_topic', { topic: 'none' }, 'UNKNOWN_TOPIC_OR_PARTITION'],
    ['delete_records', { topic: 'orders', offsets: [{ partition: 0, before: 11 }] }, 'OFFSET_OUT_OF_RANGE'],
    ['delete_records', { topic: 'orders', offsets: [{ partition: 2, before: 1 }] }, 'UNKNOWN_TOPIC_OR_PARTITION'],
    ['produce', { topic: 'orders', messages: [{ partition: 2 }] }, 'UNKNOWN_TOPIC_OR_PARTITION'],
    ['produce', { topic: 'orders', messages: [] }, 'INVALID_ARGUMENTS'],
    ['produce', { topic: 'orders', messages: [{ value: { text: '{}', schema: { id: 99 } } }] }, 'INVALID_REQUEST'],
    ['produce', { topic: 'orders', messages: [{ value: { text: '{}', schema: { id: 1 } } }] }, 'INVALID_REQUEST'],
    ['reset_offsets', { group: 'none', to: 'earliest' }, 'GROUP_ID_NOT_FOUND'],
    ['reset_offsets', { group: 'readers', to: 'offset' }, 'INVALID_REQUEST'],
    ['reset_offsets', { group: 'readers', to: 'offset', offset: 11 }, 'INVALID_REQUEST'],
    ['reset_offsets', { group: 'readers' }, 'INVALID_ARGUMENTS'],
    ['delete_group', { group: 'none' }, 'GROUP_ID_NOT_FOUND'],
    ['register_schema', { subject: 'orders-value', schema: strange }, 'INCOMPATIBLE_SCHEMA'],
    ['register_schema', { subject: 'orders-value', schema: '{' }, 'INVALID_SCHEMA'],
    ['register_schema', { subject: '..', schema: orderSchema() }, 'INVALID_REQUEST'],
    ['set_compatibility', { subject: 'orders-value', level: null }, 'NOT_FOUND'],
    ['set_compatibility', { level: 'NONE' }, 'INVALID_ARGUMENTS'],
    ['retry_offload_job', { id: ids.done }, 'CONFLICT'],
    ['retry_offload_job', { id: job(77) }, 'NOT_FOUND'],
    ['cancel_offload_job', { id: ids.done }, 'CONFLICT'],
    ['cancel_offload_job', { id: 'orders:0:0' }, 'INVALID_ARGUMENTS'],
  ]
  const before = await contentsOf(world.store)
  for (const [tool, args, code] of rows) {
    const { structured, isError } = await agent.call(tool, args)
    assert.deepEqual(
      [structured.error, isError],
      [code, true],
      `${tool} ${JSON.stringify(args)}: ${JSON.stringify(structured)}`,
    )
    assert.equal(structured.confirm, undefined)
  }
  assert.deepEqual(await contentsOf(world.store), before)
})

test('a group with members is not changed, and the refusal names them', async t => {
  const { agent, wire } = await open(t)
  const { memberId, leave } = await enter(wire, 'busy')
  for (const [tool, args] of [
    ['reset_offsets', { group: 'busy', to: 'earliest' }],
    ['delete_group', { group: 'busy' }],
  ] as const) {
    const { structured } = await agent.call(tool, args)
    assert.deepEqual([structured.error, structured.confirm], ['NON_EMPTY_GROUP', undefined])
    const { detail, fields } = structured.untrusted_data
    assert.equal(detail, 'The group is Stable with 1 member. Stop its consumers first.')
    assert.deepEqual(Object.keys(fields), [memberId])
    assert.match(fields[memberId], /^client .* at 127\.0\.0\.1$/)
  }
  await leave()
})

test('tools of a part that is switched off say which setting switched it off', async t => {
  const { agent } = await openAgentWorld(t, {
    settings: { 'storage.remote.path': null, 'schema-registry.enabled': false },
  })
  const id = `${'A'.repeat(22)}:0:0`
  for (const [tool, args, code, key] of [
    ['register_schema', { subject: 's', schema: '"int"' }, 'SCHEMA_REGISTRY_OFF', 'svc.schema-registry.enabled'],
    ['set_compatibility', { subject: null, level: 'NONE' }, 'SCHEMA_REGISTRY_OFF', 'svc.schema-registry.enabled'],
    ['retry_offload_job', { id }, 'REMOTE_TIER_OFF', 'svc.storage.remote.path'],
    ['cancel_offload_job', { id }, 'REMOTE_TIER_OFF', 'svc.storage.remote.path'],
  ] as const) {
    const { structured } = await agent.call(tool, args)
    assert.equal(structured.error, code)
    assert.ok(structured.untrusted_data.detail.includes(key), structured.untrusted_data.detail)
  }
})
