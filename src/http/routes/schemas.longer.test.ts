import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adminClient } from '../../../testing/admin-client.ts'
import { type CleanUp, startBroker } from '../../../testing/broker.ts'
import { roleSettings, signInRoles } from '../../../testing/http-roles.ts'
import type { Values } from '../../settings/settings.ts'

async function openApi(t: CleanUp, overrides: Partial<Values> = {}) {
  const { url } = await startBroker(t, { 'admin.security-enabled': false, ...overrides }, { hasHttp: true })
  return adminClient(`${url}/api/v1/schemas`).ask
}

type Ask = Awaited<ReturnType<typeof openApi>>

const record = (name: string, fields: Readonly<Record<string, unknown>>) =>
  JSON.stringify({
    type: 'record',
    name,
    fields: Object.entries(fields).map(([field, type]) => ({ name: field, type })),
  })

const at = (subject: string, rest = '') => `/subjects/${encodeURIComponent(subject)}${rest}`

async function register(api: Ask, subject: string, schema: string, more: object = {}) {
  const { status, body } = await api('POST', at(subject, '/versions'), { schema, ...more })
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

const V1 = record('com.acme.Order', { id: 'long' })
const V2 = JSON.stringify({
  type: 'record',
  name: 'com.acme.Order',
  fields: [
    { name: 'id', type: 'long' },
    { name: 'note', type: 'string', default: '' },
  ],
})

test('a schema is registered, listed, shown with its text in lines, and found by its id', async t => {
  const api = await openApi(t)
  const made = await register(api, 'orders-value', V1)
  assert.deepEqual([made.subject, made.version, made.type, made.deleted], ['orders-value', 1, 'AVRO', false])
  assert.equal((await register(api, 'orders-value', V1)).id, made.id)
  const second = await register(api, 'orders-value', V2)
  const third = await register(api, 'a/b %', '"string"')

  const { body: list } = await api('GET', '/subjects?sort=latestVersion&order=desc&limit=1')
  assert.equal(list.total, 2)
  assert.deepEqual(list.subjects, [
    {
      subject: 'orders-value',
      type: 'AVRO',
      latestVersion: 2,
      latestId: second.id,
      versionCount: 2,
      deletedVersionCount: 0,
      registeredAt: second.registeredAt,
      ...{ level: 'BACKWARD', ownLevel: null, mode: 'READWRITE', ownMode: null },
      deleted: false,
      topics: [],
    },
  ])
  assert.deepEqual(
    (await api('GET', '/subjects?q=A%2FB')).body.subjects.map(({ subject }: { subject: string }) => subject),
    ['a/b %'],
  )

  const { body: subject } = await api('GET', at('orders-value', '?limit=1&offset=1'))
  assert.equal(subject.total, 2)
  assert.deepEqual(
    subject.versions.map(({ version, id }: { version: number; id: number }) => [version, id]),
    [[1, made.id]],
  )
  assert.equal((await api('GET', at('a/b %', '/versions/latest'))).body.schema, '"string"')

  const { body: shown } = await api('GET', at('orders-value', '/versions/latest'))
  assert.equal(shown.pretty, JSON.stringify(JSON.parse(shown.schema), null, 2))
  assert.deepEqual(shown, second)
  const { body: byId } = await api('GET', `/ids/${made.id}`)
  assert.deepEqual([byId.schema, byId.usedBy], [made.schema, [{ subject: 'orders-value', version: 1, deleted: false }]])

  const { body: overview } = await api('GET', '')
  assert.deepEqual(
    [overview.subjects, overview.deletedSubjects, overview.versions, overview.level, overview.mode],
    [2, 0, 3, 'BACKWARD', 'READWRITE'],
  )
  assert.equal(overview.highestId, third.id)
})

test('a check names every version that a schema does not fit, with the path and the reason, and stores nothing', async t => {
  const api = await openApi(t)
  await register(api, 's', V1)
  await register(api, 's', V2)
  const strict = record('com.acme.Order', { id: 'long', amount: 'double' })
  const check = async (body: object) => (await api('POST', at('s', '/check'), body)).body

  const latest = await check({ schema: strict })
  assert.deepEqual([latest.valid, latest.compatible, latest.level, latest.compared], [true, false, 'BACKWARD', [2]])
  const all = await check({ schema: strict, level: 'FULL_TRANSITIVE' })
  assert.deepEqual(all.compared, [2, 1])
  assert.deepEqual(
    all.failing.map(({ version, reasons }: { version: number; reasons: { kind: string; path: string }[] }) => [
      version,
      reasons.map(({ kind, path }) => `${kind} ${path}`),
    ]),
    [
      [2, ['READER_FIELD_MISSING_DEFAULT_VALUE /fields/1']],
      [1, ['READER_FIELD_MISSING_DEFAULT_VALUE /fields/1']],
    ],
  )
  assert.match(all.failing[0].reasons[0].description, /amount/)
  assert.equal(all.nextVersion, 3)

  const known = await check({ schema: V1 })
  assert.equal(known.existing.version, 1)
  const broken = await check({ schema: '{"type":"record"}' })
  assert.deepEqual([broken.valid, broken.compatible, broken.pretty], [false, false, null])
  assert.match(broken.trouble, /Invalid schema of type AVRO/)
  const other = await check({ schema: '{"type":"object"}', type: 'JSON' })
  assert.deepEqual([other.valid, other.compatible, other.failing[0].type], [true, false, 'AVRO'])
  assert.match(other.failing[0].reasons[0].description, /type JSON and the old one of type AVRO/)
  const missing = await check({ schema: '"X"', references: [{ name: 'X', subject: 'none', version: 1 }] })
  assert.match(missing.trouble, /no schema reference found for subject "none" and version 1/)
  assert.equal((await api('GET', at('s'))).body.total, 2)

  const refused = await api('POST', at('s', '/versions'), { schema: strict })
  assert.deepEqual([refused.status, refused.code], [409, 'INCOMPATIBLE_SCHEMA'])
  assert.match(
    refused.body.detail,
    /does not fit version 2 of 's' \(level BACKWARD\)\. Version 2: \/fields\/1: .*amount/,
  )
})

test('two versions are compared in both directions', async t => {
  const api = await openApi(t)
  await register(api, 's', V1)
  assert.equal((await api('PUT', at('s', '/level'), { level: 'NONE' })).status, 200)
  await register(api, 's', record('com.acme.Order', { id: 'long', amount: 'double' }))
  await register(api, 's', '{"type":"object"}', { type: 'JSON' })
  const { body: diff } = await api('GET', at('s', '/versions/2/diff'))
  assert.deepEqual([diff.before.version, diff.after.version, diff.level], [1, 2, 'NONE'])
  assert.match(diff.after.pretty, /\n {6}"name": "amount"/)
  assert.deepEqual([diff.backward.compatible, diff.forward.compatible, diff.forward.reasons], [false, true, []])
  assert.equal(diff.backward.reasons[0].kind, 'READER_FIELD_MISSING_DEFAULT_VALUE')
  const { body: types } = await api('GET', at('s', '/versions/latest/diff?against=1'))
  assert.equal(types.backward.compatible, false)
  assert.match(types.backward.reasons[0].description, /type JSON does not read one of type AVRO/)
  const { body: same } = await api('GET', at('s', '/versions/1/diff?against=1'))
  assert.deepEqual([same.backward.compatible, same.forward.compatible], [true, true])
  const first = await api('GET', at('s', '/versions/1/diff'))
  assert.deepEqual([first.status, first.body.detail], [404, "The subject 's' has no version before 1."])
})

test('levels and modes are set and removed, for one subject and for all', async t => {
  const api = await openApi(t)
  const level = async (subject: string | null) =>
    (await api('GET', subject === null ? '/level' : at(subject, '/level'))).body
  assert.deepEqual(await level(null), { subject: null, level: 'BACKWARD', origin: 'default', fallback: 'BACKWARD' })
  await api('PUT', '/level', { level: 'FULL' })
  const set = await api('PUT', at('s', '/level'), { level: 'NONE' })
  assert.deepEqual(set.body, { subject: 's', level: 'NONE', origin: 'subject', fallback: 'FULL' })
  assert.deepEqual(await level('other'), { subject: 'other', level: 'FULL', origin: 'global', fallback: 'FULL' })
  assert.deepEqual((await api('GET', '/subjects')).body.subjects[0].ownLevel, 'NONE')
  assert.equal((await api('DELETE', at('s', '/level'))).body.origin, 'global')
  assert.equal((await api('DELETE', '/level')).body.origin, 'default')
  const none = await api('DELETE', at('s', '/level'))
  assert.deepEqual([none.status, none.body.detail], [404, "The subject 's' has no level of its own."])

  await register(api, 's', V1)
  const locked = await api('PUT', at('s', '/mode'), { mode: 'READONLY' })
  assert.deepEqual(locked.body, { subject: 's', mode: 'READONLY', origin: 'subject', fallback: 'READWRITE' })
  const refused = await api('POST', at('s', '/versions'), { schema: V2 })
  assert.deepEqual([refused.status, refused.code], [409, 'CONFLICT'])
  assert.equal(refused.body.detail, 'Subject s is in read-only mode.')
  assert.match((await api('POST', at('s', '/check'), { schema: V2 })).body.trouble, /mode READONLY/)
  const imported = await api('PUT', at('s', '/mode'), { mode: 'IMPORT' })
  assert.deepEqual([imported.status, imported.code], [409, 'CONFLICT'])
  assert.equal((await api('PUT', at('s', '/mode'), { mode: 'IMPORT', force: true })).status, 200)
  assert.equal((await api('DELETE', at('s', '/mode'))).body.mode, 'READWRITE')
  assert.match((await api('DELETE', at('s', '/mode'))).body.detail, /no mode of its own/)
  await api('PUT', '/mode', { mode: 'READONLY' })
  assert.deepEqual((await api('GET', at('s', '/mode'))).body.origin, 'global')
  assert.equal((await api('DELETE', '/mode')).body.mode, 'READWRITE')
})

test('references are shown in both directions, and a referenced version is not deleted', async t => {
  const api = await openApi(t)
  const base = await register(api, 'address', record('com.acme.Address', { street: 'string' }))
  await register(api, 'customer', record('com.acme.Customer', { address: 'com.acme.Address' }), {
    references: [{ name: 'com.acme.Address', subject: 'address', version: 1 }],
  })
  const { body: customer } = await api('GET', at('customer', '/versions/1'))
  assert.deepEqual(customer.references, [{ name: 'com.acme.Address', subject: 'address', version: 1 }])
  const { body: address } = await api('GET', at('address', '/versions/1'))
  const referrer = { subject: 'customer', version: 1, id: customer.id, deleted: false }
  assert.deepEqual(address.referrers, [referrer])
  assert.equal((await api('GET', at('address'))).body.versions[0].referrerCount, 1)

  const preview = await api('DELETE', at('address', '?dryRun=true'))
  assert.deepEqual(preview.body, {
    ...{ subject: 'address', applied: false, permanent: false, versions: [1] },
    ...{ referrers: [{ ...referrer, refersTo: 1 }], topics: [], endsJudging: true },
  })
  const refused = await api('DELETE', at('address', '/versions/latest'))
  assert.deepEqual([refused.status, refused.code], [409, 'REFERENCED'])
  assert.match(
    refused.body.detail,
    /version latest of the subject 'address': 'customer' version 1\. Delete them first\./,
  )

  const gone = await api('DELETE', at('customer'))
  assert.deepEqual([gone.body.applied, gone.body.versions], [true, [1]])
  assert.equal((await api('DELETE', at('address', '/versions/1'))).status, 200)
  assert.deepEqual((await api('GET', '/subjects')).body.subjects, [])
  const { body: deleted } = await api('GET', '/subjects?deleted=only')
  assert.deepEqual(
    deleted.subjects.map((each: { subject: string; type: string; deleted: boolean }) => [each.subject, each.deleted]),
    [
      ['address', true],
      ['customer', true],
    ],
  )
  const again = await api('DELETE', at('address'))
  assert.deepEqual([again.status, again.code], [409, 'CONFLICT'])
  assert.match(
    again.body.detail,
    /The subject 'address' is deleted already\. A permanent deletion removes it for good\./,
  )
  const held = await api('DELETE', at('address', '?permanent=true'))
  assert.deepEqual([held.status, held.code], [409, 'REFERENCED'])
  assert.equal((await api('DELETE', at('customer', '?permanent=true'))).status, 200)
  assert.equal((await api('DELETE', at('address', '/versions/1?permanent=true'))).status, 200)
  assert.equal((await api('GET', at('address'))).status, 404)
  assert.deepEqual((await api('GET', `/ids/${base.id}`)).body.usedBy, [])
})

test('topics show how they are judged, by which subject, and how many records were not valid', async t => {
  const { url } = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true })
  const admin = adminClient(`${url}/api/v1`).ask
  const api = adminClient(`${url}/api/v1/schemas`).ask
  for (const name of ['orders', 'a-b', 'plain', 'named'])
    assert.equal((await admin('POST', '/topics', { name, partitions: 1 })).status, 201)
  const configs = {
    'schema.validation.action': 'count',
    'confluent.value.subject.name.strategy': 'io.confluent.kafka.serializers.subject.RecordNameStrategy',
    'confluent.key.schema.validation': 'false',
  }
  assert.equal((await admin('PUT', '/topics/named/configs', { set: configs })).status, 200)
  const judged = async (query = '') =>
    (await api('GET', `/topics${query}`)).body.topics.map(({ topic }: { topic: string }) => topic)
  assert.deepEqual(await judged(), ['named'])
  await register(api, 'orders-value', V1)
  await register(api, 'a-b-key', '"string"')
  await register(api, 'com.acme.Order', V1)
  assert.deepEqual(await judged(), ['a-b', 'named', 'orders'])
  assert.deepEqual(await judged('?all=true&q=PL'), ['plain'])

  const produced = await admin('POST', '/topics/orders/messages', { messages: [{ value: { text: 'no schema' } }] })
  assert.match(JSON.stringify(produced.body), /INVALID_RECORD/)
  assert.deepEqual((await api('GET', '/topics/orders')).body, {
    topic: 'orders',
    key: {
      ...{ judged: false, action: 'reject', required: false },
      ...{ strategy: 'TopicName', subject: 'orders-key', live: false, refused: 0 },
    },
    value: {
      ...{ judged: true, action: 'reject', required: false },
      ...{ strategy: 'TopicName', subject: 'orders-value', live: true, refused: 1 },
    },
    refused: 1,
  })
  assert.deepEqual(await judged('?sort=refused&order=desc&limit=1'), ['orders'])
  const { body: overview } = await api('GET', '')
  assert.deepEqual([overview.judgedTopics, overview.refused], [3, 1])

  const topicsOf = async (subject: string) => (await api('GET', at(subject))).body.topics
  const part = { topic: 'orders', part: 'value', action: 'reject', required: false, refused: 1 }
  assert.deepEqual(await topicsOf('orders-value'), [part])
  assert.deepEqual((await api('GET', '/subjects?q=orders-value')).body.subjects[0].topics, [part])
  assert.deepEqual(await topicsOf('a-b-key'), [
    { topic: 'a-b', part: 'key', action: 'reject', required: false, refused: 0 },
  ])
  assert.deepEqual(await topicsOf('com.acme.Order'), [
    { topic: 'named', part: 'value', action: 'count', required: false, refused: 0 },
  ])
  const { body: preview } = await api('DELETE', at('orders-value', '?dryRun=true'))
  assert.deepEqual([preview.topics, preview.endsJudging], [[part], true])
  assert.equal((await api('DELETE', at('orders-value'))).status, 200)
  assert.deepEqual(await topicsOf('orders-value'), [])
  assert.deepEqual(await judged(), ['a-b', 'named'])
})

test('each bad input gets an answer that names the thing and what was expected', async t => {
  const api = await openApi(t)
  await register(api, 's', V1)
  const says = async (method: string, path: string, body?: object) => {
    const answer = await api(method, path, body)
    return `${answer.status} ${answer.code} ${answer.body.detail}`
  }
  assert.equal(await says('GET', at('none')), "404 NOT_FOUND There is no subject 'none'.")
  assert.equal(await says('GET', at('none', '/versions/1')), "404 NOT_FOUND There is no subject 'none'.")
  assert.equal(await says('GET', at('s', '/versions/7')), "404 NOT_FOUND The subject 's' has no version 7.")
  for (const version of ['0', '-1', 'Latest', '1.0', '01', 'x', '99999999999'])
    assert.equal(
      await says('GET', at('s', `/versions/${version}`)),
      `400 INVALID_REQUEST version: got "${version}", takes the number of a version, from 1, or latest`,
    )
  assert.match(await says('GET', at('s', '/versions/9999999999')), /400 INVALID_REQUEST version: takes a number from 1/)
  assert.match(await says('GET', at('s', '/versions/1/diff?against=0')), /against: got "0", takes the number/)
  assert.match(await says('GET', at('s', '/versions/1/diff?against=3')), /has no version 3/)
  assert.equal(await says('GET', '/ids/4711'), '404 NOT_FOUND There is no schema with the id 4711.')
  assert.match(await says('GET', '/ids/0'), /400 INVALID_REQUEST id: got 0, takes an integer from 1 to 2147483647/)
  assert.match(await says('GET', '/subjects?offset=x'), /400 INVALID_REQUEST offset: got "x", takes an integer from 0/)
  assert.match(await says('GET', '/subjects?limit=1001'), /limit: got 1001, takes an integer from 1 to 1000/)
  assert.match(await says('GET', '/subjects?sort=type'), /400 INVALID_REQUEST sort: got "type"/)
  assert.match(await says('GET', '/subjects?deleted=maybe'), /deleted: got "maybe"/)
  assert.match(await says('POST', at('s', '/versions'), { schema: V2, type: 'XML' }), /type: got "XML", takes .*AVRO/)
  assert.match(await says('POST', at('s', '/versions'), {}), /schema: is missing/)
  assert.match(await says('POST', at('s', '/versions'), { schema: '{' }), /^400 INVALID_SCHEMA .*type AVRO/)
  assert.match(
    await says('POST', at('s', '/versions'), { schema: `"${'x'.repeat(513 * 1_024)}"` }),
    /^400 INVALID_SCHEMA Schema is too large: .*524288/,
  )
  assert.match(await says('POST', at('s', '/check'), { schema: 'x'.repeat(1_200 * 1_024) }), /^413 PAYLOAD_TOO_LARGE/)
  const large = await api('POST', at('s', '/check'), { schema: `"${'x'.repeat(513 * 1_024)}"` })
  assert.match(large.body.trouble, /Schema is too large/)
  assert.match(
    await says('POST', at(':.x', '/versions'), { schema: V1 }),
    /^400 INVALID_REQUEST subject: takes 1 to 762/,
  )
  assert.match(await says('POST', at('a\nb', '/check'), { schema: V1 }), /^400 INVALID_REQUEST subject: takes 1 to 762/)
  assert.match(await says('PUT', at('__GLOBAL', '/level'), { level: 'FULL' }), /^400 INVALID_REQUEST subject: takes/)
  assert.match(
    await says('PUT', at('s', '/level'), { level: 'SOME' }),
    /level: got "SOME", takes .*BACKWARD_TRANSITIVE/,
  )
  assert.match(await says('PUT', '/mode', { mode: 'FORWARD' }), /mode: got "FORWARD", takes .*READONLY/)
  assert.equal(await says('DELETE', at('none')), "404 NOT_FOUND There is no subject 'none'.")
  assert.match(
    await says('DELETE', at('s', '?permanent=true')),
    /^409 CONFLICT The subject 's' is not deleted yet\. Delete it first/,
  )
  assert.match(await says('DELETE', at('s', '?permanent=yes')), /permanent: got "yes"/)
  assert.match(await says('GET', '/topics/none'), /^404 UNKNOWN_TOPIC_OR_PARTITION/)
})

test('a VIEWER reads and checks, and only an ADMIN changes', async t => {
  const { url } = await startBroker(t, roleSettings, { hasHttp: true })
  const viewer = adminClient(url, (await (await signInRoles(url)).signIn('VIEWER')).cookie)
  const ask = (method: string, path: string, body?: object) => viewer.ask(method, `/api/v1/schemas${path}`, body)
  const checked = await ask('POST', at('s', '/check'), { schema: V1 })
  assert.deepEqual([checked.status, checked.body.compatible, checked.body.nextVersion], [200, true, 1])
  assert.equal((await ask('GET', '/subjects')).status, 200)
  for (const [method, path, body] of [
    ['POST', at('s', '/versions'), { schema: V1 }],
    ['PUT', at('s', '/level'), { level: 'NONE' }],
    ['PUT', '/mode', { mode: 'READONLY' }],
    ['DELETE', at('s', '?dryRun=true'), undefined],
  ] as const)
    assert.equal((await ask(method, path, body)).code, 'FORBIDDEN', `${method} ${path}`)
})

test('while the registry is switched off, each route says which setting switched it off', async t => {
  const api = await openApi(t, { 'schema-registry.enabled': false })
  for (const path of ['', '/subjects', '/ids/1', '/level', '/topics']) {
    const answer = await api('GET', path)
    assert.deepEqual([answer.status, answer.code], [404, 'SCHEMA_REGISTRY_OFF'], path)
    assert.match(answer.body.detail, /svc\.schema-registry\.enabled/)
  }
  assert.equal((await api('POST', at('s', '/versions'), { schema: V1 })).code, 'SCHEMA_REGISTRY_OFF')
})
