// The verb of the agent tools, against a real broker.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AGENT_SETTINGS, agentAt } from '../../testing/agent-client.ts'
import { startBroker } from '../../testing/broker.ts'
import { ketch } from '../../testing/run-ketch.ts'

test('agents shows the tools and the last calls, also as JSON', async t => {
  const settings = { ...AGENT_SETTINGS, 'mcp.mutations-enabled': false, 'admin.security-enabled': false }
  const { url } = await startBroker(t, settings, { hasHttp: true })
  const run = (line: string) => ketch([...line.split(' '), `--url=${url}`])
  const before = await run('agents')
  assert.equal(before.status, 0)
  assert.match(before.out, /^path +\/mcp\ntoken +ignored\nchanges +off\nmessages +on\n/)
  assert.match(before.out, /^list_topics +reads +\S/m)
  assert.match(before.out, /^No agent has called a tool yet\.$/m)

  await agentAt(url).call('list_topics')
  assert.match((await run('agents')).out, /^\d{4}-\S+ +list_topics +\S+ +127\.0\.0\.1 +ok +[\d.]+ (Ki)?B +\d+$/m)
  const { isOn, calls } = JSON.parse((await run('agents --json')).out)
  assert.deepEqual([isOn, calls.length, calls[0].name], [true, 1, 'list_topics'])
})

test('agents says so if the tools are off', async t => {
  const { url } = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true })
  const { status, out } = await ketch(['agents', `--url=${url}`])
  assert.deepEqual([status, out], [0, 'Agents cannot call tools: svc.mcp.enabled is false.\n'])
})
