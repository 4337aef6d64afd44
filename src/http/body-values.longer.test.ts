// How many values a body may have, on the routes of the admin API.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startBroker } from '../../testing/broker.ts'

const MIB = 1024 * 1024

const many = (count: number, one: string | ((at: number) => string)) =>
  Array.from({ length: count }, (_, at) => (typeof one === 'string' ? one : one(at))).join()

test('a body of many small values is refused by its number of values, and the largest of each route are taken', async t => {
  const { url } = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true })
  const ask = async (method: string, path: string, body: string) => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${url}/api/v1${path}`, { method, headers, body })
    return { status: response.status, body: JSON.parse(await response.text()) }
  }
  const created = await ask('POST', '/topics', '{"name":"orders","partitions":1}')
  assert.equal(created.status, 201)

  const hostile = [
    ['PUT', '/topics/orders/configs', `{"delete":[${many(MIB / 4, '1')}]}`, 10_000],
    ['PUT', '/topics/orders/configs', `{"set":{${many(60_000, at => `"${at}":""`)}}}`, 10_000],
    ['POST', '/topics', `[${many(MIB / 3, '[]')}]`, 10_000],
    ['POST', '/topics/orders/messages', `{"messages":[${many((2 * MIB) / 4, '{}')}]}`, 110_000],
    ['POST', '/topics/orders/records/delete', `{"offsets":[${many(MIB / 4, '{}')}]}`, 50_010],
    ['POST', '/groups/g/offsets/reset', `{"scope":{"partitions":[${many(MIB, '{}')}]}}`, 501_100],
  ] as const
  for (const [method, path, body, most] of hostile) {
    const { status, body: said } = await ask(method, path, body)
    assert.deepEqual(
      [status, said.code, said.detail],
      [400, 'INVALID_REQUEST', `The body has more than ${most} values.`],
    )
  }

  const header = '{"key":"h","value":{"text":"v"}}'
  const record = `{"partition":0,"key":{"text":"k"},"value":{"text":"${'x'.repeat(500)}"},"headers":[${many(10, header)}],"timestamp":1}`
  const produced = await ask('POST', '/topics/orders/messages', `{"messages":[${many(1_000, record)}]}`)
  assert.deepEqual([produced.status, produced.body.messages?.at(-1)?.offset], [200, 999], produced.body.detail)
  const rows = many(10_000, at => `{"partition":${at},"before":"end"}`)
  const deleted = await ask('POST', '/topics/orders/records/delete', `{"offsets":[${rows}]}`)
  assert.equal(deleted.body.detail, "Topic 'orders' has the partition 0, not 1.")
  const partitions = many(100_000, at => `{"topic":"orders","partition":${at}}`)
  const reset = await ask('POST', '/groups/g/offsets/reset', `{"scope":{"partitions":[${partitions}]},"dryRun":true}`)
  assert.notEqual(reset.body.code, 'INVALID_REQUEST', reset.body.detail)
})
