// Tests the face of the schema registry as clients of Confluent's REST API meet it: spellings of paths, media types,
// bodies, errors, and its own port. schema-registry-access.longer.test.ts tests who may call it.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startBroker } from '../../../testing/broker.ts'
import { makeCertificate, noOpenssl } from '../../../testing/certificate.ts'
import { eventually } from '../../../testing/eventually.ts'
import { freePort } from '../../../testing/free-port.ts'
import { sendRaw } from '../../../testing/http.ts'
import { askRegistry, echoRoutes, type RegistryAsk, SUBJECTS } from '../../../testing/registry-face.ts'
import { ListenFailed } from '../../settings/listen-failed.ts'
import type { Values } from '../../settings/settings.ts'
import { reply } from '../route.ts'
import { REGISTRY_BODY_BYTES, registryRoute } from './schema-registry-route.ts'

const V1 = 'application/vnd.schemaregistry.v1+json'
const OPEN: Partial<Values> = { 'schema-registry.authentication': 'none', 'schema-registry.port': 0 }

async function start(t: TestContext, settings: Partial<Values> = {}, routes = echoRoutes) {
  const broker = await startBroker(t, { ...OPEN, ...settings }, { http: { registryRoutes: routes } })
  const below = `${broker.url}/schema-registry`
  const alone = `http://127.0.0.1:${broker.broker.registryPort}`
  const ask = (path: string, asked?: RegistryAsk) => askRegistry(below, path, asked)
  return { ...broker, below, alone, ask }
}

test('the constant routes answer what tools and serializers ask first, below the HTTP port and on the own port', async t => {
  const { below, alone, ask } = await start(t)
  const id = (await ask('/v1/metadata/id')).body.scope.clusters['kafka-cluster']
  assert.match(id, /^[\w-]{22}$/)
  for (const url of [below, alone]) {
    const answers = {
      '': {},
      '/schemas/types': ['JSON', 'PROTOBUF', 'AVRO'],
      '/contexts?offset=0&limit=-1': ['.'],
      '/v1/metadata/id': {
        id: '',
        scope: { path: [], clusters: { 'kafka-cluster': id, 'schema-registry-cluster': 'schema-registry' } },
      },
      '/associations/resources/-/orders?resourceType=topic&associationType=value': [],
      '/associations/resources/-/a%2Fb': [],
      '/associations/subjects/orders-value': [],
    }
    for (const [path, body] of Object.entries(answers)) {
      const answer = await askRegistry(url, path)
      assert.deepEqual([answer.status, answer.body], [200, body], path)
      assert.equal(answer.headers.get('content-type'), V1, path)
      assert.equal(answer.headers.get('cache-control'), 'no-cache, no-store, must-revalidate', path)
    }
    assert.deepEqual((await askRegistry(url, '/', { method: 'POST' })).body, {})
    assert.deepEqual((await askRegistry(url, '/', { method: 'POST', body: { more: 1 } })).body, {})
    assert.match((await askRegistry(url, '/v1/metadata/version')).body.version, /^\d+\.\d+\.\d+/)
  }
})

test('what this registry does not have is answered 404, as an unknown path is', async t => {
  const { ask } = await start(t)
  for (const path of [
    '/nothing',
    '/dek-registry/v1/keks',
    '/exporters',
    '/associations',
    '/v1/metadata/deployment',
    '/contexts/.other',
    '/subjects//versions',
  ]) {
    const { status, body } = await ask(path)
    assert.deepEqual([status, body], [404, { error_code: 404, message: 'HTTP 404 Not Found' }], path)
  }
  assert.equal((await ask('/contexts/.other', { method: 'DELETE' })).status, 404)
})

test('a base URL may end with a slash, and a path too', async t => {
  const { below, alone } = await start(t)
  for (const base of [below, `${below}/`, `${below}//`, alone, `${alone}/`])
    for (const path of ['/subjects', '/subjects/', '/subjects?offset=0', '/subjects/?offset=0']) {
      const { status, body } = await askRegistry(base, path)
      assert.deepEqual([status, body], [200, SUBJECTS], base + path)
    }
  for (const base of [below, `${below}/`, alone, `${alone}/`]) {
    assert.deepEqual((await askRegistry(base, '')).body, {}, base)
    assert.deepEqual((await askRegistry(base, '?deleted=true')).body, {}, base)
  }
  const absolute = await sendRaw(below, `GET ${below}//contexts HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  assert.deepEqual([absolute.status, absolute.body], [200, '["."]'])
})

test('a subject is decoded exactly once, whatever it holds', async t => {
  const { below, alone } = await start(t)
  const subjects = [
    'a/b',
    'a%2Fb',
    'a%25252fb',
    '%',
    '%41',
    'a b+c',
    '"{\'}:?#&=;@',
    'ü\u{1f4a9}',
    '..',
    'a\\b',
    '\t',
    'null',
  ]
  // fetch would resolve dots.
  const raw = async (path: string) =>
    await sendRaw(below, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  for (const subject of [...subjects, '/'.repeat(500)]) {
    const path = `/subjects/${encodeURIComponent(subject)}/versions`
    const { status, body } = await raw(`/schema-registry${path}`)
    assert.deepEqual([status, Buffer.from(body, 'latin1').toString()], [200, JSON.stringify([subject])], path)
    if (subject !== '..') assert.deepEqual((await askRegistry(alone, path)).body, [subject], path)
  }
  for (const written of ['%', '%2', '%zz', '%ff', '%c3%28', 'a%']) {
    const { status, body, headers } = await raw(`/schema-registry/subjects/${written}/versions`)
    assert.deepEqual([status, JSON.parse(body).error_code, headers['content-type']], [400, 400, V1], written)
  }
})

test('the Accept header chooses the type of answers and errors, and an answer that it refuses is 406', async t => {
  const { ask } = await start(t)
  for (const [accept, type] of [
    ['text/html, image/gif, image/jpeg, */*; q=0.2', V1],
    ['application/json', 'application/json'],
    ['application/vnd.schemaregistry+json', 'application/vnd.schemaregistry+json'],
  ] as const) {
    const headers = { accept }
    const good = await ask('/subjects', { headers })
    const bad = await ask('/nothing', { headers })
    assert.deepEqual([good.status, bad.status], [200, 404])
    assert.deepEqual([good.headers.get('content-type'), bad.headers.get('content-type')], [type, type])
  }
  for (const method of ['GET', 'POST']) {
    const { status, body, headers } = await ask('/', { method, headers: { accept: 'text/html' } })
    assert.deepEqual([status, body], [406, { error_code: 406, message: 'HTTP 406 Not Acceptable' }])
    assert.equal(headers.get('content-type'), V1)
  }
})

test('a body may come in each type that clients send, and without a type', async t => {
  const { below, ask } = await start(t)
  const path = '/subjects/a-value'
  const body = '{"schema":"s","later":{"member":1}}'
  for (const type of [
    V1,
    'application/vnd.schemaregistry+json',
    'application/json',
    'application/octet-stream',
    'Application/JSON; Charset=UTF-8',
    `${V1}; charset=utf-8`,
  ]) {
    const answer = await ask(path, { method: 'POST', body, headers: { 'content-type': type } })
    assert.deepEqual([answer.status, answer.body.schema], [200, 's'], type)
  }
  const head = `POST /schema-registry${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n`
  for (const untyped of [
    `${head}Content-Length: ${body.length}\r\n\r\n${body}`,
    `${head}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  ]) {
    const answer = await sendRaw(below, untyped)
    assert.deepEqual([answer.status, JSON.parse(answer.body).schema], [200, 's'])
  }
  for (const type of [
    'text/plain',
    'application/xml',
    'application/json; charset=iso-8859-1',
    'application/vnd.schemaregistry.v2+json',
    '',
  ]) {
    const answer = await ask(path, { method: 'POST', body, headers: { 'content-type': type } })
    assert.deepEqual(
      [answer.status, answer.body],
      [415, { error_code: 415, message: 'HTTP 415 Unsupported Media Type' }],
      type,
    )
  }
  const zipped = await ask(path, { method: 'POST', body, headers: { 'content-encoding': 'gzip' } })
  assert.equal(zipped.status, 415)
})

test('bodies that are no JSON are 400, and bodies of another shape 422, with a message that names the member', async t => {
  const { ask } = await start(t)
  const post = async (body: string) => await ask('/subjects/a-value', { method: 'POST', body })
  for (const body of [
    '{',
    'null',
    '\ufeff{"schema":"s"}',
    '{"schema":"a","schema":"b"}',
    '{"schema":"\\ud800"}',
    'x'.repeat(1_000),
  ]) {
    const { status, body: said } = await post(body)
    assert.deepEqual([status, said.error_code, Object.keys(said)], [400, 400, ['error_code', 'message']], body)
  }
  for (const body of ['', '{}', '[]', '1', '{"schema":null}', '{"schema":{"type":"string"}}']) {
    const { status, body: said } = await post(body)
    assert.deepEqual([status, said.error_code], [422, 422], body)
    assert.match(said.message, body.startsWith('{') ? /^schema: .*takes a text$/ : /^body: /)
  }
})

test('a body that is too large is answered 413 in the form of the registry, and the connection goes on', async t => {
  const { ask } = await start(t)
  const post = (bytes: number) => ask('/subjects/a-value', { method: 'POST', body: { schema: 'x'.repeat(bytes) } })
  const schema = await post(512 * 1024)
  assert.equal(schema.status, 200)
  const { status, body } = await post(REGISTRY_BODY_BYTES)
  assert.deepEqual(
    [status, body.error_code, body.message],
    [413, 413, `A body takes ${REGISTRY_BODY_BYTES} bytes at most.`],
  )
  assert.equal((await post(1)).status, 200)
})

test('switches are true in any spelling, every other text is false, and unknown members of a query are ignored', async t => {
  const { ask } = await start(t)
  const normalize = async (query: string) =>
    (await ask(`/subjects/a${query}`, { method: 'POST', body: { schema: 's' } })).body.normalize
  for (const text of ['true', 'True', 'TRUE']) assert.equal(await normalize(`?normalize=${text}`), true, text)
  for (const text of ['false', 'False', '', '1', 'yes'])
    assert.equal(await normalize(`?normalize=${text}`), false, text)
  assert.equal(await normalize('?later=1&__proto__=2&constructor=3'), false)
  assert.equal(await normalize('?normalize=true&normalize=false'), true)
})

test('a text in place of a number in a path or a query is answered 404, and an answer may be a bare number', async t => {
  const { ask } = await start(t)
  for (const id of ['1', '-1', '2147483647', '007'])
    assert.deepEqual((await ask(`/schemas/ids/${id}`)).body, { id: Number(id) })
  for (const id of ['x', '1.5', '2147483648', '99999999999999999999', '1e3', '%31%20', ' ']) {
    const { status, body } = await ask(`/schemas/ids/${encodeURIComponent(id)}`)
    assert.deepEqual([status, body], [404, { error_code: 404, message: 'HTTP 404 Not Found' }], id)
  }
  assert.equal((await ask('/subjects?offset=x')).status, 404)
  assert.deepEqual((await ask('/subjects?offset=5')).body, SUBJECTS.slice(5))
  const bare = await ask('/subjects/a/versions/3', { method: 'DELETE' })
  assert.deepEqual([bare.status, bare.text, bare.headers.get('content-type')], [200, '3', V1])
})

test('another method is 405 with the methods that the path takes, and HEAD is answered as GET is', async t => {
  const { ask, below } = await start(t)
  const { status, body, headers } = await ask('/subjects', { method: 'DELETE' })
  assert.deepEqual([status, body], [405, { error_code: 405, message: 'HTTP 405 Method Not Allowed' }])
  assert.equal(headers.get('allow'), 'GET, HEAD')
  const head = await fetch(`${below}/subjects`, { method: 'HEAD' })
  assert.deepEqual([head.status, await head.text(), head.headers.get('content-type')], [200, '', V1])
  assert.equal((await ask('/subjects', { method: 'OPTIONS' })).status, 405)
})

test('a refusal of the verbs is answered with its code and its text', async t => {
  const { ask } = await start(t)
  const { status, body } = await ask('/schemas/guids/a%2Fb')
  assert.deepEqual([status, body], [404, { error_code: 40403, message: 'Schema a/b not found' }])
})

test('a mistake of the broker is answered 500 with the id of the request, and shows nothing of it', async t => {
  const { ask, log } = await start(t)
  const { status, body } = await ask('/schemas/ids/13')
  assert.deepEqual([status, body.error_code], [500, 500])
  const [, id] = /\(request ([\w-]{16})\)$/.exec(body.message)!
  assert.doesNotMatch(body.message, /registry\.ts/)
  assert.match(log(), new RegExp(`requestId=${id}`))
})

test('only a client that says so gets members that older clients do not know', async t => {
  const { ask } = await start(t)
  const wide = async (headers: Readonly<Record<string, string>>) =>
    (await ask('/subjects/a/versions', { method: 'POST', body: { schema: 's' }, headers })).body.wide
  const name = 'confluent-accept-unknown-properties'
  assert.deepEqual(
    [await wide({}), await wide({ [name]: 'true' }), await wide({ [name]: 'True' }), await wide({ [name]: 'false' })],
    [false, true, true, false],
  )
})

test('a change leaves an audit line with the members that its route names, and a question leaves none', async t => {
  const { ask, log } = await start(t)
  const lines = () =>
    log()
      .split('\n')
      .filter(line => line.includes(' svc.audit '))
  await ask('/subjects/orders%2Fvalue/versions', {
    method: 'POST',
    body: { schema: 'marker-schema', schemaType: 'AVRO' },
  })
  await ask('/subjects/orders-value', { method: 'POST', body: { schema: 'marker-schema' } })
  await ask('/', { method: 'POST' })
  await ask('/subjects')
  await ask('/subjects/orders-value?permanent=true', { method: 'DELETE' })
  await eventually('two lines', () => lines().length >= 2)
  assert.equal(lines().length, 2, lines().join('\n'))
  assert.match(lines()[0]!, /echo registration who=anonymous .*status=200 .*what=.*orders\/value.*AVRO/)
  assert.match(lines()[1]!, /echo deletion .*what=.*orders-value.*permanent.*true/)
  assert.doesNotMatch(log(), /marker-/)
})

test('without svc.schema-registry.enabled each path of the registry names the setting, and no port of its own opens', async t => {
  const { broker, below } = await start(t, { 'schema-registry.enabled': false })
  assert.equal(broker.registryPort, null)
  const message = 'The schema registry is switched off here: svc.schema-registry.enabled is false (test).'
  for (const [path, asked] of [
    ['', {}],
    ['/subjects', {}],
    ['/schemas/ids/1', { headers: { accept: 'text/html, image/gif, image/jpeg, */*; q=0.2' } }],
    ['/subjects/a%2Fb/versions', { method: 'POST', body: { schema: '"int"' } }],
  ] as const) {
    const { status, body, headers } = await askRegistry(below, path, asked)
    assert.deepEqual([status, body], [404, { error_code: 404, message }], path)
    assert.match(headers.get('content-type') ?? '', /^application\/vnd\.schemaregistry\.v1\+json/)
  }
})

test('without svc.schema-registry.port the registry opens no port, and the own port has no other face', async t => {
  assert.equal((await start(t, { 'schema-registry.port': null })).broker.registryPort, null)
  const { alone, log } = await start(t)
  for (const path of ['/api/v1/topics', '/actuator/health', '/schema-registry/subjects', '/console', '/assets/x']) {
    const { status, body } = await askRegistry(alone, path)
    assert.deepEqual([status, body], [404, { error_code: 404, message: 'HTTP 404 Not Found' }], path)
  }
  assert.ok(log().includes(`the schema registry has a port of its own, ${alone}`))
})

test('a taken port ends the start with a message that names the setting, and leaves no port open', async t => {
  const { broker } = await start(t)
  const taken = broker.registryPort!
  const port = await freePort()
  const settings = { ...OPEN, 'server.port': port, 'schema-registry.port': taken }
  await assert.rejects(startBroker(t, settings, { hasHttp: true }), error => {
    assert.ok(error instanceof ListenFailed)
    const where = `clients of the schema registry on 127.0.0.1:${taken}`
    assert.match(error.message, new RegExp(`^cannot listen for ${where}: the port is taken by another process`))
    assert.match(error.message, /--svc\.schema-registry\.port=\d+ or SVC_SCHEMA_REGISTRY_PORT=\d+$/)
    return true
  })
  await assert.rejects(sendRaw(`http://127.0.0.1:${port}`), /ECONNREFUSED/)
})

test('the own port has the TLS of the HTTP port', { skip: noOpenssl }, async t => {
  const { certificateFile, keyFile } = await makeCertificate(t)
  const { broker } = await start(t, {
    'server.tls': true,
    'server.cert-file': certificateFile,
    'server.key-file': keyFile,
  })
  const plain = await sendRaw(`http://127.0.0.1:${broker.registryPort}`, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n').catch(
    () => null,
  )
  assert.ok(plain === null || plain.status !== 200)
  const { get } = process.getBuiltinModule('node:https')
  const ca = process.getBuiltinModule('node:fs').readFileSync(certificateFile)
  const status = await new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: broker.registryPort!, path: '/contexts', ca, servername: 'localhost' }
    get({ ...options, checkServerIdentity: () => undefined } as object, answer => resolve(answer.statusCode)).on(
      'error',
      reject,
    )
  })
  assert.equal(status, 200)
})

test('both ports finish their requests when the broker drains', async t => {
  const gate = Promise.withResolvers<void>()
  let waiting = 0
  const slow = registryRoute({
    method: 'GET',
    path: '/slow',
    needs: 'read',
    verb: 'echo slowly',
    doc: 'An echo.',
    answers: {},
    async answer() {
      waiting++
      await gate.promise
      return reply(204)
    },
  })
  const { broker, below, alone } = await start(t, {}, [{ ...slow, answers: { 204: null } }])
  const answers = [fetch(`${below}/slow`), fetch(`${alone}/slow`)]
  await eventually('both requests wait', () => waiting === 2)
  const closed = broker.close()
  const isRefused = (url: string) =>
    sendRaw(url).then(
      () => false,
      () => true,
    )
  await eventually('no port takes more connections', async () => (await isRefused(below)) && (await isRefused(alone)))
  gate.resolve()
  assert.deepEqual(
    (await Promise.all(answers)).map(({ status }) => status),
    [204, 204],
  )
  await closed
})
