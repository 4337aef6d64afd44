// Records whose keys and values have schemas, over HTTP: pages, single records, exports, live tails, and producing.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adminClient } from '../../../testing/admin-client.ts'
import { type CleanUp, startBroker } from '../../../testing/broker.ts'
import {
  ORDER_AVRO,
  ORDER_AVRO_BODY,
  ORDER_AVRO_TEXT,
  ORDER_JSON,
  ORDER_JSON_TEXT,
  ORDER_PROTOBUF,
  REFUND_BODY,
  REFUND_INDEXES,
  REFUND_TEXT,
  registerAt,
} from '../../../testing/schema-formats.ts'
import type { SchemaType } from '../../registry/format.ts'
import { framed } from '../../registry/payload/framing.ts'
import type { Values } from '../../settings/settings.ts'

/** Values that are wrong on purpose get only into a topic that is not judged. */
const UNJUDGED = { 'confluent.key.schema.validation': 'false', 'confluent.value.schema.validation': 'false' }

async function openApi(t: CleanUp, overrides: Partial<Values> = {}) {
  const broker = await startBroker(t, { 'admin.security-enabled': false, ...overrides }, { hasHttp: true })
  const base = `${broker.url}/api/v1`
  const { ask } = adminClient(base)
  return {
    base,
    api: ask,
    register: (subject: string, type: SchemaType, schema: string) => registerAt(broker.url, subject, type, schema),
  }
}

const base64 = (bytes: Buffer) => ({ base64: bytes.toString('base64') })

test('pages, single records, exports and tails show the JSON of a record, and its schema', async t => {
  const { api, base, register } = await openApi(t)
  const key = await register('orders-key', 'JSON', ORDER_JSON)
  const value = await register('orders-value', 'AVRO', ORDER_AVRO)
  await api('POST', '/topics', { name: 'orders' })
  const produced = {
    key: base64(framed(key, Buffer.from(ORDER_JSON_TEXT))),
    value: base64(framed(value, ORDER_AVRO_BODY)),
  }
  const { body } = await api('POST', '/topics/orders/messages', { messages: [produced] })
  assert.equal(body.messages[0].error, null, JSON.stringify(body))
  const shownKey = {
    status: 'decoded',
    text: ORDER_JSON_TEXT,
    bytes: 5 + Buffer.byteLength(ORDER_JSON_TEXT),
    truncated: false,
    schema: { id: key, subject: 'orders-key', version: 1, type: 'JSON' },
  }
  const shownValue = {
    status: 'decoded',
    text: ORDER_AVRO_TEXT,
    bytes: 5 + ORDER_AVRO_BODY.length,
    truncated: false,
    schema: { id: value, subject: 'orders-value', version: 1, type: 'AVRO' },
  }
  const query = 'decode=registry&keyDecode=registry'
  for (const order of ['oldest', 'newest']) {
    const page = (await api('GET', `/topics/orders/messages?${query}&order=${order}`)).body
    assert.deepEqual([page.messages[0].key, page.messages[0].value], [shownKey, shownValue])
  }
  const only = (await api('GET', '/topics/orders/messages?decode=registry')).body.messages[0]
  // A zero byte is a character too, so UTF-8 shows the key.
  assert.deepEqual([only.key.schema, only.value], [undefined, shownValue])
  const single = (await api('GET', `/topics/orders/messages/0/0?${query}`)).body
  assert.deepEqual([single.key, single.value], [shownKey, shownValue])
  const file = await fetch(`${base}/topics/orders/messages/export?${query}`)
  const line = JSON.parse(await file.text())
  assert.deepEqual([line.key, line.value], [shownKey, shownValue])
  const csv = await (await fetch(`${base}/topics/orders/messages/export?format=csv&${query}`)).text()
  const cell = (value: unknown) => `"${JSON.stringify(value).replaceAll('"', '""')}"`
  assert.ok(csv.endsWith(`,"[]",${cell(shownKey.schema)},${cell(shownValue.schema)}\r\n`), csv)
  const cut = (await api('GET', '/topics/orders/messages?decode=registry&previewBytes=42')).body.messages[0].value
  // The é would be the bytes 42 and 43.
  assert.deepEqual(
    [cut.text, cut.truncated, cut.bytes],
    ['{"id":9007199254740993,"note":{"string":"', true, shownValue.bytes],
  )

  const ending = new AbortController()
  const cursor = (await api('GET', '/topics/orders/messages?order=newest')).body.tailCursor
  const { signal } = ending
  const tail = await fetch(`${base}/topics/orders/messages/tail?${query}&cursor=${cursor}`, { signal })
  await api('POST', '/topics/orders/messages', { messages: [produced] })
  let seen = ''
  for await (const chunk of tail.body!) {
    seen += Buffer.from(chunk).toString()
    if (/event: messages\ndata: .*\n/.test(seen)) break
  }
  ending.abort()
  const data = JSON.parse(/event: messages\ndata: (.*)\n/.exec(seen)![1]!)
  assert.deepEqual([data.messages[0].key, data.messages[0].value], [shownKey, shownValue])
})

test('each record has its own status, and none of them fails the page', async t => {
  const { api, register } = await openApi(t)
  const avro = await register('orders-value', 'AVRO', ORDER_AVRO)
  const protobuf = await register('refunds-value', 'PROTOBUF', ORDER_PROTOBUF)
  await api('POST', '/topics', { name: 'orders', configs: UNJUDGED })
  const values = [
    framed(avro, ORDER_AVRO_BODY),
    Buffer.from('text'),
    framed(avro + 1000, ORDER_AVRO_BODY),
    framed(avro, Buffer.from([1])),
    framed(protobuf, REFUND_INDEXES, REFUND_BODY),
    framed(avro, Buffer.alloc(600_000, 2)),
    null,
  ]
  const messages = values.map(bytes => ({ value: bytes === null ? null : base64(bytes) }))
  await api('POST', '/topics/orders/messages', { messages })
  const page = (await api('GET', '/topics/orders/messages?decode=registry&previewBytes=8')).body
  assert.deepEqual(
    page.messages.map(({ value }: { value: { status: string; schema?: unknown } | null }) => [
      value?.status ?? null,
      value?.schema ?? null,
    ]),
    [
      ['decoded', { id: avro, subject: 'orders-value', version: 1, type: 'AVRO' }],
      ['raw', null],
      ['schema-not-found', { id: avro + 1000 }],
      ['decode-error', { id: avro, subject: 'orders-value', version: 1, type: 'AVRO' }],
      ['decoded', { id: protobuf, subject: 'refunds-value', version: 1, type: 'PROTOBUF', message: 'shop.Refund' }],
      ['decode-error', { id: avro, subject: 'orders-value', version: 1, type: 'AVRO' }],
      [null, null],
    ],
  )
  const large = page.messages[5].value
  assert.deepEqual([large.base64, large.bytes, large.truncated], ['AAAAAAECAgI=', 600_005, true])
  assert.match(large.reason, /^It has 600005 bytes\. The most that are decoded with a schema are 524288\.$/)
  const { reason } = page.messages[3].value
  assert.match(reason, /^It is not what the schema 1 says: at byte 1, field "note": /)
})

test('a header beyond those that a list shows names the schema', async t => {
  const { api, register } = await openApi(t)
  const avro = await register('orders-value', 'AVRO', ORDER_AVRO)
  await api('POST', '/topics', { name: 'orders', configs: UNJUDGED })
  const headers = Array.from({ length: 60 }, (_, at) => ({ key: `h${at}`, value: { text: 'x' } }))
  const named = { key: '__value_schema_id', value: base64(framed(avro)) }
  const message = { value: base64(ORDER_AVRO_BODY), headers: [...headers, named] }
  await api('POST', '/topics/orders/messages', { messages: [message] })
  const [shown] = (await api('GET', '/topics/orders/messages?decode=registry')).body.messages
  assert.deepEqual([shown.value.text, shown.headers.length, shown.headerCount], [ORDER_AVRO_TEXT, 32, 61])
  assert.equal('undecodedHeaders' in shown, false)
})

test('JSON with a schema becomes bytes that decode to the same JSON', async t => {
  const { api, register } = await openApi(t)
  const key = await register('orders-key', 'JSON', ORDER_JSON)
  const avro = await register('orders-value', 'AVRO', ORDER_AVRO)
  const protobuf = await register('refunds-value', 'PROTOBUF', ORDER_PROTOBUF)
  await api('POST', '/topics', { name: 'orders' })
  await api('POST', '/topics', { name: 'refunds', partitions: 1 })
  const made = await api('POST', '/topics/orders/messages', {
    messages: [
      {
        key: { text: ORDER_JSON_TEXT, schema: { subject: 'orders-key' } },
        value: { text: ORDER_AVRO_TEXT, schema: { subject: 'orders-value', version: 1 } },
        // Readers would believe it more than the bytes.
        headers: [
          { key: '__value_schema_id', value: base64(framed(protobuf)) },
          { key: 'h', value: { text: 'x' } },
        ],
      },
      { value: { text: '{"id":1}', schema: { name: `${avro}` } } },
      { key: null, value: null },
    ],
  })
  assert.deepEqual([made.status, made.body.messages?.length], [200, 3], JSON.stringify(made.body))
  const { body } = await api('GET', '/topics/orders/messages?decode=raw&keyDecode=raw')
  const bytes = (shown: { base64: string }) => Buffer.from(shown.base64, 'base64')
  assert.deepEqual(bytes(body.messages[0].key), framed(key, Buffer.from(ORDER_JSON_TEXT)))
  assert.deepEqual(bytes(body.messages[0].value), framed(avro, ORDER_AVRO_BODY))
  assert.deepEqual(
    body.messages[0].headers.map((header: { key: string }) => header.key),
    ['h'],
  )
  assert.deepEqual(bytes(body.messages[1].value), framed(avro, Buffer.from([2, 0, 0])))
  assert.equal(body.messages[2].value, null)
  const refund = { text: REFUND_TEXT, schema: { id: protobuf, message: 'shop.Refund' } }
  const refunded = await api('POST', '/topics/refunds/messages', { messages: [{ value: refund }] })
  assert.equal(refunded.status, 200, JSON.stringify(refunded.body))
  const [shown] = (await api('GET', '/topics/refunds/messages?decode=registry')).body.messages
  assert.deepEqual([shown.value.text, shown.value.schema.message], [REFUND_TEXT, 'shop.Refund'])
})

test('a key or value that cannot be made refuses the whole request, with the field, the path and the reason', async t => {
  const { api, register } = await openApi(t)
  await register('orders-value', 'AVRO', ORDER_AVRO)
  await register('json-value', 'JSON', ORDER_JSON)
  await register('refunds-value', 'PROTOBUF', ORDER_PROTOBUF)
  await api('POST', '/topics', { name: 'orders' })
  const value = (text: string, schema: object) => ({ value: { text, schema } })
  const wrong = [
    value(ORDER_AVRO_TEXT, { subject: 'orders-value' }),
    value('{"id":"x"}', { subject: 'orders-value' }),
    { key: { text: '{"id":1.5}', schema: { subject: 'json-value' } }, value: null },
    value('{"idd":1}', { subject: 'refunds-value' }),
    value('{}', { subject: 'none' }),
    value('{}', { subject: 'orders-value', version: 7 }),
    value('{}', { id: 99 }),
    value('{}', { subject: 'refunds-value', message: 'shop.Nothing' }),
    value('{}', { name: 'orders-value:7' }),
    value('{}', { name: '99' }),
    value('{}', { name: '9999999999' }),
    value('{}', { name: '99:latest' }),
    value('{}', { name: 'orders-value:0' }),
    value('{}', { name: 'orders-value:3', message: 'M' }),
  ]
  const refused = await api('POST', '/topics/orders/messages', { messages: wrong })
  assert.equal(refused.status, 400)
  assert.equal(refused.body.code, 'INVALID_REQUEST')
  assert.deepEqual(refused.body.fields, {
    'messages.1.value.text': 'It is not what the schema 1 says: at /id: expected an integer of 64 bits, not "x".',
    'messages.2.key.text': 'It is not what the schema 2 says: at /id: must be integer.',
    'messages.3.value.text': 'It is not what the schema 3 says: $: shop.Order has no field "idd".',
    'messages.4.value.schema': "Subject 'none' not found.",
    'messages.5.value.schema': 'Version 7 not found.',
    'messages.6.value.schema': 'Schema 99 not found.',
    'messages.7.value.schema':
      'The schema 3 has no message shop.Nothing; it has shop.Order, shop.Order.Line, shop.Refund.',
    'messages.8.value.schema': 'Version 7 not found.',
    'messages.9.value.schema': 'Schema 99 not found.',
    'messages.10.value.schema': 'Schema 9999999999 not found.',
    'messages.11.value.schema': "Subject '99' not found.",
    'messages.12.value.schema':
      'The specified version \'0\' is not a valid version id. Allowed values are between [1, 2^31-1] and the string "latest".',
    'messages.13.value.schema': 'Version 3 not found.',
  })
  assert.equal(refused.body.detail, `messages.1.value.text: ${refused.body.fields['messages.1.value.text']}`)
  assert.deepEqual((await api('GET', '/topics/orders/messages')).body.messages, [])
})

test('a schema of another form is refused before anything is looked up', async t => {
  const { api } = await openApi(t)
  await api('POST', '/topics', { name: 'orders' })
  const fields = async (value: unknown) =>
    (await api('POST', '/topics/orders/messages', { messages: [{ value }] })).body.fields
  const form =
    'got an object, takes as schema {"subject": …} with an optional version, {"id": …} or {"name": …}, and for Protobuf a message'
  for (const schema of ['orders-value', 7, {}, { id: 1, subject: 's' }])
    assert.deepEqual(await fields({ text: '{}', schema }), { 'messages.0.value': form }, JSON.stringify(schema))
  const least = 'got 0, takes a number of at least 1'
  assert.deepEqual(await fields({ text: '{}', schema: { id: 0 } }), { 'messages.0.value.schema.id': least })
  const versioned = { subject: 's', version: 0 }
  assert.deepEqual(await fields({ text: '{}', schema: versioned }), { 'messages.0.value.schema.version': least })
  assert.deepEqual(await fields({ base64: '', schema: { id: 1 } }), {
    'messages.0.value.schema': 'is not taken here',
  })
})

test('without the registry no record is made with a schema, and framed values are not found', async t => {
  const { api } = await openApi(t, { 'schema-registry.enabled': false })
  await api('POST', '/topics', { name: 'orders' })
  const messages = [{ value: { text: '{}', schema: { subject: 'orders-value' } } }]
  const refused = await api('POST', '/topics/orders/messages', { messages })
  assert.equal(refused.status, 400)
  assert.deepEqual(refused.body.fields, {
    'messages.0.value.schema': 'The schema registry is switched off here (svc.schema-registry.enabled).',
  })
  await api('POST', '/topics/orders/messages', {
    messages: [{ value: base64(framed(3, ORDER_AVRO_BODY)) }, { value: { text: 'x' } }],
  })
  const page = (await api('GET', '/topics/orders/messages?decode=registry')).body.messages
  assert.deepEqual(page[0].value.reason, 'The schema registry is switched off here (svc.schema-registry.enabled).')
  assert.deepEqual([page[0].value.status, page[0].value.schema], ['schema-not-found', { id: 3 }])
  assert.deepEqual([page[1].value.status, page[1].value.reason], ['raw', 'It names no schema.'])
})
