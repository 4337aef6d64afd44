import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentClients, agentSettings } from './agent-client.ts'

const url = 'http://localhost:8080/mcp'

test('the configuration of a client has the address and a placeholder for the token', () => {
  const [configuration, claude] = agentClients({ url, needsToken: true })
  assert.deepEqual(JSON.parse(configuration!.text), {
    mcpServers: { ketch: { type: 'http', url, headers: { Authorization: 'Bearer <token>' } } },
  })
  assert.equal(claude!.text, `claude mcp add --transport http ketch ${url} --header 'Authorization: Bearer <token>'`)
})

test('a broker without sign-in needs no token', () => {
  const [configuration, ...commands] = agentClients({ url, needsToken: false })
  assert.deepEqual(JSON.parse(configuration!.text), { mcpServers: { ketch: { type: 'http', url } } })
  for (const { text } of commands) assert.doesNotMatch(text, /Authorization|<token>/)
  assert.equal(agentSettings(false), 'svc:\n  mcp:\n    enabled: true\n')
})

test('the settings name the token', () => {
  assert.equal(agentSettings(true), 'svc:\n  mcp:\n    enabled: true\n    token: <token>\n')
})
