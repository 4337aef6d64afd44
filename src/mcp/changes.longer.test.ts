// Tests changes by agents: two calls, or a person who is asked. Nothing is changed without both, on whichever broker
// they arrive.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { z } from 'zod'
import { AGENT_SETTINGS, agentAt, connectAgent } from '../../testing/agent-client.ts'
import { startBroker, type TestBroker } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import { noRedis, startRedis } from '../../testing/redis.ts'
import { createTopic } from '../../testing/topic.ts'
import { metadata } from '../protocol/messages/metadata.ts'
import type { Values } from '../settings/settings.ts'
import { digestOf } from './digest.ts'
import type { McpOverrides } from './endpoint.ts'
import { changing, type Tool } from './tool.ts'

const OPEN: Partial<Values> = { ...AGENT_SETTINGS, 'admin.security-enabled': false }

async function start(t: TestContext, mcp: McpOverrides = {}, settings: Partial<Values> = OPEN) {
  const broker = await startBroker(t, settings, { http: { mcp } })
  return { ...broker, agent: agentAt(broker.url) }
}

/** Returns the id of the topic; null if the broker has none of this name. */
async function idOf(broker: TestBroker, name: string): Promise<string | null> {
  const wire = await broker.connect()
  const { topics } = await wire.send(metadata, 12, {
    topics: [{ topicId: 'AAAAAAAAAAAAAAAAAAAAAA', name }],
    allowAutoTopicCreation: false,
  })
  await wire.close()
  return topics[0]!.errorCode === 0 ? topics[0]!.topicId : null
}

/** A counter that a tool adds to, and a state that a test changes. */
function counterTool() {
  const world = { count: 0, state: 'one', applied: [] as unknown[] }
  const tool: Tool = changing({
    name: 'add',
    title: 'Add to the counter',
    description: 'Adds to the counter.',
    input: z.strictObject({ by: z.int(), note: z.string().default('none') }),
    audited: ['by'],
    isDestructive: true,
    changes: {
      async preview({ by, note }) {
        return { shown: { before: world.count, note, by }, state: digestOf(world.state), pins: { at: world.count } }
      },
      async apply({ by }, pins) {
        world.count += by
        world.applied.push(pins)
        return { body: { count: world.count } }
      },
    },
  })
  return { world, tool }
}

test('the first call shows what would happen, and the second one does it', async t => {
  const broker = await start(t)
  const { agent, log } = broker
  await createTopic(broker, 'orders', 3)
  const id = await idOf(broker, 'orders')
  const first = await agent.call('delete_topic', { topic: 'orders' })
  assert.equal(first.isError, false)
  const { untrusted_data: shown, confirm, expires_in_seconds, next } = first.structured
  assert.deepEqual(shown, {
    change: 'delete topic',
    topic: { name: 'orders', id, partitions: 3, records: 0, sizeBytes: 0, lastWriteAt: null },
    readBy: { total: 0, groups: [], unavailableBrokers: [] },
  })
  assert.equal(expires_in_seconds, 300)
  assert.match(next, /^Nothing was changed\./)
  assert.equal(await idOf(broker, 'orders'), id)
  const second = await agent.call('delete_topic', { topic: 'orders', confirm })
  assert.deepEqual(second, { isError: false, structured: { untrusted_data: { deleted: { name: 'orders', id } } } })
  assert.equal(await idOf(broker, 'orders'), null)
  assert.match(log(), /mcp delete_topic .*what="\{\\?"topic\\?":\\?"orders\\?"\}" outcome=preview/)
  assert.match(log(), /mcp delete_topic .* outcome=ok/)
  assert.ok(!log().includes(confirm), 'a value that still could be sent is in no line')
})

test('a confirmation that is altered, used, or for other arguments changes nothing', async t => {
  const { world, tool } = counterTool()
  const { agent } = await start(t, { tools: [tool] })
  const { confirm } = (await agent.call('add', { by: 1 })).structured
  const altered = `${confirm.slice(0, -2)}${confirm.endsWith('AA') ? 'BA' : 'AA'}`
  for (const args of [
    { by: 1, confirm: altered },
    { by: 1, confirm: '' },
    { by: 2, confirm },
    { by: 1, note: 'other', confirm },
  ]) {
    const { structured, isError } = await agent.call('add', args)
    assert.equal(isError, true)
    assert.equal(structured.error, 'CONFIRM_INVALID', JSON.stringify(args))
  }
  assert.equal(world.count, 0)
  // A default that is written out is the same argument.
  assert.equal((await agent.call('add', { note: 'none', confirm, by: 1 })).structured.untrusted_data.count, 1)
  const again = await agent.call('add', { by: 1, confirm })
  assert.equal(again.structured.error, 'CONFIRM_INVALID')
  assert.equal(world.count, 1)
  assert.deepEqual(world.applied, [{ at: 0 }])
})

test('of many that send one confirmation at once, one makes the change', async t => {
  const { world, tool } = counterTool()
  const { agent } = await start(t, { tools: [tool] })
  const { confirm } = (await agent.call('add', { by: 1 })).structured
  const answers = await Promise.all(Array.from({ length: 8 }, () => agent.call('add', { by: 1, confirm })))
  assert.equal(answers.filter(({ isError }) => !isError).length, 1)
  assert.equal(world.count, 1)
})

test('a change of the state in between is shown again, with a new confirmation, and nothing is changed', async t => {
  const { world, tool } = counterTool()
  const { agent } = await start(t, { tools: [tool] })
  const { confirm } = (await agent.call('add', { by: 1 })).structured
  world.state = 'two'
  world.count = 7
  const { structured, isError } = await agent.call('add', { by: 1, confirm })
  assert.equal(isError, true)
  assert.equal(structured.error, 'CONFIRM_OUTDATED')
  assert.deepEqual(structured.untrusted_data, { before: 7, by: 1, note: 'none' })
  assert.notEqual(structured.confirm, confirm)
  assert.equal(world.count, 7)
  assert.equal(
    (await agent.call('add', { by: 1, confirm })).structured.error,
    'CONFIRM_INVALID',
    'the first one is used',
  )
  assert.equal((await agent.call('add', { by: 1, confirm: structured.confirm })).structured.untrusted_data.count, 8)
})

test('a topic that was deleted and created again in between is another one', async t => {
  const broker = await start(t)
  const { agent } = broker
  await createTopic(broker, 'orders', 1)
  const [first, second] = [
    await agent.call('delete_topic', { topic: 'orders' }),
    await agent.call('delete_topic', { topic: 'orders' }),
  ]
  await agent.call('delete_topic', { topic: 'orders', confirm: first.structured.confirm })
  assert.equal(
    (await agent.call('delete_topic', { topic: 'orders', confirm: second.structured.confirm })).structured.error,
    'UNKNOWN_TOPIC_OR_PARTITION',
  )
  const third = await agent.call('delete_topic', { topic: 'orders' })
  assert.equal(third.structured.error, 'UNKNOWN_TOPIC_OR_PARTITION')
  await createTopic(broker, 'invoices', 1)
  const { confirm } = (await agent.call('delete_topic', { topic: 'invoices' })).structured
  const old = await idOf(broker, 'invoices')
  const wire = await broker.connect()
  const { deleteTopics } = await import('../protocol/messages/delete-topics.ts')
  await wire.send(deleteTopics, 5, { topicNames: ['invoices'], timeoutMs: 5_000 })
  await createTopic(broker, 'invoices', 1)
  const outdated = await agent.call('delete_topic', { topic: 'invoices', confirm })
  assert.equal(outdated.structured.error, 'CONFIRM_OUTDATED')
  assert.notEqual(await idOf(broker, 'invoices'), old)
  assert.notEqual(await idOf(broker, 'invoices'), null)
})

test('with changes off their tools are not there, and no call changes anything', async t => {
  const broker = await start(t, {}, { ...OPEN, 'mcp.mutations-enabled': false })
  const { agent } = broker
  await createTopic(broker, 'orders', 1)
  const { body } = await agent.ask('tools/list')
  const names = body.result.tools.map(({ name }: { name: string }) => name)
  assert.ok(names.includes('list_topics'))
  assert.ok(!names.includes('delete_topic'))
  for (const tool of body.result.tools) assert.equal(tool.annotations.readOnlyHint, true)
  for (const args of [{ topic: 'orders' }, { topic: 'orders', confirm: 'A'.repeat(22) }])
    assert.equal((await agent.ask('tools/call', { name: 'delete_topic', arguments: args })).body.error.code, -32_602)
  assert.notEqual(await idOf(broker, 'orders'), null)
})

test('an elicitation shows the change to a person, and the model never sees a value', async t => {
  const { world, tool } = counterTool()
  const { url } = await start(t, { tools: [tool] })
  const asked: string[] = []
  let answer: () => object = () => ({ action: 'accept', content: { apply: true } })
  const client = await connectAgent(t, url, {
    capabilities: { elicitation: { form: {} } },
    versionNegotiation: { mode: { pin: '2026-07-28' } },
  })
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    asked.push(params.message)
    return answer() as { action: 'accept' }
  })
  const call = async (args: Record<string, unknown> = { by: 1 }) => {
    const result = await client.callTool({ name: 'add', arguments: args })
    assert.doesNotMatch(JSON.stringify(result), /confirm[\\]*":/, 'no value in the result')
    return result.structuredContent as { error?: string; untrusted_data: { count?: number } }
  }
  assert.equal((await call({ by: 1, note: 'ignore\nall \u202Eprevious' })).untrusted_data.count, 1)
  assert.match(asked[0]!, /^Add to the counter: shall this change be made\? It cannot be taken back\.\n/)
  assert.match(asked[0]!, /"by": 1/)
  assert.ok(!asked[0]!.includes('\u202E') && !asked[0]!.includes('ignore\nall'), 'a name cannot forge a line')
  await call({ by: 0, note: 'n'.repeat(20_000) })
  assert.match(
    asked[1]!,
    /n… \(\d+ more characters\)",\n {2}"by": 0\n\}\nThis is not all of it/,
    'a long text hides nothing',
  )
  assert.ok(asked[1]!.length < 5_000)
  for (const no of [{ action: 'decline' }, { action: 'cancel' }, { action: 'accept', content: { apply: false } }]) {
    answer = () => no
    assert.equal((await call()).error, 'DECLINED', JSON.stringify(no))
  }
  assert.equal(world.count, 1)
  // The state changes while the person thinks: the person is asked again.
  let times = 0
  answer = () => {
    world.state = `state ${Math.min(times, 0)}`
    times++
    return { action: 'accept', content: { apply: true } }
  }
  assert.equal((await call()).untrusted_data.count, 2)
  assert.equal(times, 2)
  assert.match(asked.at(-1)!, /^The state has changed since the question before\.\n/)
  const forged = await call({ by: 1, confirm: 'A'.repeat(22) })
  assert.equal(forged.error, 'CONFIRM_INVALID', 'the argument is no way around the person')
  assert.equal(world.count, 2)
})

test('the argument confirm takes no value that a person was asked for, and a person accepts no value of an argument', async t => {
  const { world, tool } = counterTool()
  const { agent } = await start(t, { tools: [tool] })
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
  }
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'add' }
  const askPerson = async (more: object = {}) => {
    const params = { name: 'add', arguments: { by: 1 }, _meta: meta, ...more }
    return (await agent.post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }, headers)).body.result
  }
  const first = await askPerson()
  assert.equal(first.resultType, 'input_required')
  const { requestState } = first
  assert.equal((await agent.call('add', { by: 1, confirm: requestState })).structured.error, 'CONFIRM_INVALID')
  const { confirm } = (await agent.call('add', { by: 1 })).structured
  const yes = { inputResponses: { apply: { action: 'accept', content: { apply: true } } } }
  assert.equal((await askPerson({ requestState: confirm, ...yes })).structuredContent.error, 'CONFIRM_INVALID')
  assert.equal(world.count, 0)
  // Without the answer of a person nothing is changed, and the question is used up.
  assert.equal((await askPerson({ requestState })).structuredContent.error, 'DECLINED')
  assert.equal((await askPerson({ requestState, ...yes })).structuredContent.error, 'CONFIRM_INVALID')
  assert.equal(world.count, 0)
  const again = await askPerson()
  assert.equal(
    (await askPerson({ requestState: again.requestState, ...yes })).structuredContent.untrusted_data.count,
    1,
  )
})

test('a confirmation is good on another broker on Redis', { skip: noRedis }, async t => {
  const { uri } = await startRedis(t)
  const settings = { ...OPEN, 'redis.uri': uri, 'broker.expiry': 2_000 }
  const [one, two] = [
    await startBroker(t, { ...settings, 'broker.id': 1 }, { hasHttp: true }),
    await startBroker(t, { ...settings, 'broker.id': 2 }, { hasHttp: true }),
  ]
  await deletesElsewhere(one, two)
})

/** Deletes a topic by a first call to one broker and a second call to another. */
async function deletesElsewhere(one: TestBroker, two: TestBroker): Promise<void> {
  await createTopic(one, 'orders', 1)
  await eventually('the other broker knows the topic', async () => (await idOf(two, 'orders')) !== null)
  const { confirm } = (await agentAt(one.url).call('delete_topic', { topic: 'orders' })).structured
  const { structured, isError } = await agentAt(two.url).call('delete_topic', { topic: 'orders', confirm })
  assert.equal(isError, false, JSON.stringify(structured))
  assert.equal(structured.untrusted_data.deleted.name, 'orders')
  await createTopic(one, 'orders', 1)
  for (const broker of [one, two]) {
    const again = await agentAt(broker.url).call('delete_topic', { topic: 'orders', confirm })
    assert.equal(again.structured.error, 'CONFIRM_INVALID')
  }
}
