// Records with schemas in a shell: ketch produce, tail and export.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CleanUp, startBroker } from '../../testing/broker.ts'
import { ketch, type Typed } from '../../testing/run-ketch.ts'
import {
  ORDER_AVRO,
  ORDER_AVRO_TEXT,
  ORDER_JSON,
  ORDER_JSON_TEXT,
  ORDER_PROTOBUF,
  REFUND_TEXT,
  registerAt,
} from '../../testing/schema-formats.ts'

async function started(t: CleanUp) {
  const broker = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true })
  const run = (args: readonly string[], typed: Typed = {}) => ketch([...args, `--url=${broker.url}`], typed)
  await registerAt(broker.url, 'orders-key', 'JSON', ORDER_JSON)
  await registerAt(broker.url, 'orders-value', 'AVRO', ORDER_AVRO)
  await registerAt(broker.url, 'refunds-value', 'PROTOBUF', ORDER_PROTOBUF)
  for (const topic of ['orders', 'refunds', 'again']) await run(['topics', 'create', topic])
  return { run }
}

test('values and keys that are JSON are produced with their schemas, and a tail shows them with these', async t => {
  const { run } = await started(t)
  const one = await run([
    ...['produce', 'orders', `--key=${ORDER_JSON_TEXT}`, '--key-schema=orders-key'],
    ...[`--value=${ORDER_AVRO_TEXT}`, '--schema=orders-value:1'],
  ])
  assert.deepEqual([one.status, one.err], [0, ''])
  const lines = await run(
    ['produce', 'orders', '--key-separator=|', '--key-schema=1', '--schema=orders-value:latest'],
    {
      input: ['{"id":1}|{"id":2}\n{"id":3}|{"id":4,"note":{"string":"n"}}\n'],
    },
  )
  assert.deepEqual([lines.status, lines.err], [0, ''])
  const tailed = await run(['tail', 'orders', '--decode=registry', '--key-decode=registry', '--last=3', '--count=3'])
  const [key, value] = [' [orders-key 1, id 1, JSON]', ' [orders-value 1, id 2, AVRO]']
  assert.deepEqual(
    tailed.out
      .trimEnd()
      .split('\n')
      .map(line => line.split('  ').slice(1)),
    [
      ['0@0', ORDER_JSON_TEXT + key, ORDER_AVRO_TEXT + value],
      ['0@1', `{"id":1}${key}`, `{"id":2,"note":null,"lines":[]}${value}`],
      ['0@2', `{"id":3}${key}`, `{"id":4,"note":{"string":"n"},"lines":[]}${value}`],
    ],
  )
  // A newcomer sees why the records are no text, and how to produce one.
  const blind = await run(['tail', 'orders', '--last=3', '--count=3'])
  assert.equal(
    blind.err,
    'ketch: values begin as those with a schema do; --decode=registry shows these as JSON\n',
    'once, not for each record',
  )
  assert.equal((await run(['tail', 'orders', '--last=1', '--count=1', '--decode=utf8'])).err, '')
  const plain = await run(['produce', 'orders', '--value=hello'])
  assert.match(plain.err, /no-schema-id: .*\n {2}--schema encodes JSON, for example with --schema=orders-value\n$/)
  const keyed = await run(['produce', 'orders', '--key=the key', '--schema=orders-value', '--value={"id":2}'])
  assert.match(
    keyed.err,
    /no-schema-id: .*\n {2}--key-schema encodes JSON, for example with --key-schema=orders-key\n$/,
  )
  const refund = await run(['produce', 'refunds', `--value=${REFUND_TEXT}`, '--schema=3', '--message=shop.Refund'])
  assert.deepEqual([refund.status, refund.err], [0, ''])
  const json = await run(['tail', 'refunds', '--decode=registry', '--last=1', '--count=1', '--json'])
  assert.deepEqual(JSON.parse(json.out).value.schema, {
    ...{ id: 3, subject: 'refunds-value', version: 1, type: 'PROTOBUF', message: 'shop.Refund' },
  })
  const unknown = await run(['produce', 'again', '--ndjson'], { input: ['{"value":{"base64":"AAAAAGMA"}}\n'] })
  assert.equal(unknown.status, 0)
  const lost = await run(['tail', 'again', '--decode=registry', '--last=1', '--count=1'])
  assert.ok(
    lost.out.endsWith('base64:AAAAAGMA [schema-not-found: The schema registry has no schema with the id 99.]\n'),
    lost.out,
  )
})

test('a tail says of each record why it is not decoded, also while the registry is switched off', async t => {
  const settings = { 'admin.security-enabled': false, 'schema-registry.enabled': false } as const
  const { url } = await startBroker(t, settings, { hasHttp: true })
  const run = (args: readonly string[], typed: Typed = {}) => ketch([...args, `--url=${url}`], typed)
  await run(['topics', 'create', 'orders'])
  const input = ['{"value":{"base64":"AAAAAGMA"}}\n{"value":{"text":"plain"}}\n']
  assert.equal((await run(['produce', 'orders', '--ndjson'], { input })).status, 0)
  const tailed = await run(['tail', 'orders', '--decode=registry', '--last=2', '--count=2'])
  const lines = tailed.out.trimEnd().split('\n')
  const off = 'The schema registry is switched off here (svc.schema-registry.enabled).'
  assert.ok(lines[0]!.endsWith(`base64:AAAAAGMA [schema-not-found: ${off}]`), lines[0])
  assert.ok(lines[1]!.endsWith('base64:cGxhaW4= [raw: It names no schema.]'), lines[1])
  // Bytes that were asked for need no reason.
  const raw = await run(['tail', 'orders', '--decode=raw', '--last=1', '--count=1'])
  assert.ok(raw.out.endsWith('base64:cGxhaW4=\n'), raw.out)
})

test('an export with the registry is produced again with the same bytes', async t => {
  const { run } = await started(t)
  const key = [`--key=${ORDER_JSON_TEXT}`, '--key-schema=orders-key']
  await run(['produce', 'orders', ...key, `--value=${ORDER_AVRO_TEXT}`, '--schema=orders-value'])
  await run(['produce', 'orders', '--value={"id":5}', '--schema=orders-value', '--header=h=1', ...key])
  const exported = await run(['export', 'orders', '--decode=registry', '--key-decode=registry'])
  const copied = await run(['produce', 'again', '--ndjson'], { input: [exported.out] })
  assert.deepEqual([copied.status, copied.err], [0, ''])
  const raw = async (topic: string) =>
    (await run(['export', topic, '--decode=raw', '--key-decode=raw', '--format=csv'])).out
  assert.equal(await raw('again'), await raw('orders'))
})

test('a line that does not fit its schema is named, with the path and the reason', async t => {
  const { run } = await started(t)
  const input = ['{"id":1}\n{"id":"x"}\n{"idd":1}\n']
  const refused = await run(['produce', 'orders', '--schema=orders-value'], { input })
  assert.equal(refused.status, 1)
  assert.match(refused.err, /line 2: value\.text: It is not what the schema 2 says: at \/id: expected an integer /)
  assert.match(refused.err, /line 3: value\.text: It is not what the schema 2 says: at the top: /)
  const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
    [['--value={}', '--schema=none'], 1, /value 1: value\.schema: Subject 'none' not found\./],
    [['--value={}', '--schema=99'], 1, /value 1: value\.schema: Schema 99 not found\./],
    [['--value={}', '--schema='], 2, /--schema: got "", takes a subject, subject:version, or an id/],
    [['--value={}', '--message=M'], 2, /--message needs --schema/],
    [['--value={}', '--key-message=M'], 2, /--key-message needs --key-schema/],
  ]
  for (const [args, status, expected] of cases) {
    const answer = await run(['produce', 'orders', ...args])
    assert.equal(answer.status, status, answer.err)
    assert.match(answer.err, expected)
  }
  const bytes = await run(['produce', 'orders', '--schema=orders-value'], { input: [Buffer.from([0xff, 0x0a])] })
  assert.equal(bytes.status, 2)
  assert.match(bytes.err, /line 1: the value is not UTF-8, and with a schema it takes JSON/)
})
