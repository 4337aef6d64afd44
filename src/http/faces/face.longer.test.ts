// Tests the smallest face that differs in everything that a face may own: paths, a bearer token, a media type, an
// error body. A real server serves it beside the broker's own faces.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { z } from 'zod'
import { startBroker } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { sendRaw } from '../../../testing/http.ts'
import { ANYBODY } from '../../auth/console/accounts.ts'
import { problem } from '../problems.ts'
import { type AnyRoute, reply, route } from '../route.ts'
import { checkFaces, type Face } from './face.ts'

const TYPE = 'application/vnd.example.v1+json'
const TOKEN = 'the token of this test'

const common = { tag: 'examples', doc: 'An example.', needs: 'viewer' } as const

const subjects = route({
  ...common,
  method: 'GET',
  path: '/subjects',
  verb: 'list subjects',
  answers: { 200: z.array(z.string()) },
  answer: () => reply(200, ['orders']),
})

const register = route({
  ...common,
  method: 'POST',
  path: '/subjects/:subject',
  verb: 'register subject',
  params: z.object({ subject: z.string() }),
  body: z.object({ version: z.int() }),
  bodyLimit: 256,
  answers: { 200: z.object({ version: z.int() }) },
  answer({ body }) {
    if (body.version === 13) throw new Error('at /home/ketch/src/registry.ts:13')
    return reply(200, body)
  },
})

function exampleFace(routes: readonly AnyRoute[] = [subjects, register]): Face {
  return {
    name: 'example',
    paths: ['/subjects'],
    routes,
    reads: {
      [TYPE](bytes) {
        try {
          return { value: JSON.parse(bytes.toString()) }
        } catch {
          return { refused: 'no JSON' }
        }
      },
    },
    writes: TYPE,
    admit: async (_route, caller) =>
      caller.header('authorization') === `Bearer ${TOKEN}` ? ANYBODY : problem('UNAUTHENTICATED', 'No token.'),
    errorOf: ({ status, detail }) => ({ contentType: TYPE, body: { error_code: status, message: detail } }),
  }
}

async function start(t: TestContext, face = exampleFace()) {
  const { url, broker } = await startBroker(t, {}, { http: { faces: [face] } })
  const ask = async (path: string, init: RequestInit = {}, token = TOKEN) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(init.body ? { 'content-type': TYPE } : {}),
      ...init.headers,
    }
    const answer = await fetch(`${url}${path}`, { ...init, headers })
    return { status: answer.status, type: answer.headers.get('content-type'), body: await answer.json() }
  }
  return { url, broker, ask }
}

test('a face answers with its own media type, lets in the callers that it knows, and reads its own types of bodies', async t => {
  const { url, ask } = await start(t)
  assert.deepEqual(await ask('/subjects'), { status: 200, type: `${TYPE}; charset=utf-8`, body: ['orders'] })
  const post = { method: 'POST', body: '{"version":1}' }
  assert.deepEqual((await ask('/subjects/a', post)).body, { version: 1 })
  const json = await ask('/subjects/a', { ...post, headers: { 'content-type': 'application/json' } })
  assert.deepEqual([json.status, (json.body as { error_code: number }).error_code], [415, 415])
  assert.deepEqual(await ask('/subjects', {}, 'another'), {
    status: 401,
    type: TYPE,
    body: { error_code: 401, message: 'No token.' },
  })
  // Neither face takes the authentication of the other.
  const { status, headers } = await fetch(`${url}/api/v1/topics`, { headers: { authorization: `Bearer ${TOKEN}` } })
  assert.deepEqual([status, headers.get('content-type')], [401, 'application/problem+json'])
})

test('every error below the paths of a face has its form: 400, 404, 405, 413, 431, 500, and from another site', async t => {
  const { ask } = await start(t)
  const post = (body: string, headers: Record<string, string> = {}) =>
    ask('/subjects/a', { method: 'POST', body, headers })
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`x-${at}`, '1']))
  const answers = {
    'no JSON': [await post('{'), 400],
    'another shape': [await post('{"version":"one"}'), 400],
    'an unknown path': [await ask('/subjects/a/b/c'), 404],
    'an unknown path in another spelling': [await ask('/subjects//'), 404],
    'another method': [await ask('/subjects', { method: 'DELETE' }), 405],
    'too large': [await post(`{"version":1${' '.repeat(300)}}`), 413],
    'too many headers': [await post('{"version":1}', many), 431],
    'a mistake': [await post('{"version":13}'), 500],
    'another site': [await post('{"version":1}', { origin: 'https://evil.example' }), 403],
  } as const
  for (const [what, [{ status, type, body }, expected]] of Object.entries(answers)) {
    assert.deepEqual([status, type], [expected, TYPE], what)
    assert.deepEqual(Object.keys(body as object), ['error_code', 'message'], what)
    assert.equal((body as { error_code: number }).error_code, expected, what)
  }
  assert.doesNotMatch(JSON.stringify(answers['a mistake']), /registry\.ts/)
})

test('a path outside of every face is answered 404', async t => {
  const { url } = await start(t)
  for (const path of ['/nothing', '/subjectsx', '/Subjects']) {
    const answer = await fetch(`${url}${path}`)
    assert.deepEqual([answer.status, answer.headers.get('content-type')], [404, 'application/problem+json'], path)
    assert.equal(((await answer.json()) as { code: string }).code, 'NOT_FOUND')
  }
})

test('while the broker drains a request is refused in the form of its face', async t => {
  const gate = Promise.withResolvers<void>()
  // This connection began before the drain, so it is still good for another request.
  const stream = route({
    ...common,
    method: 'GET',
    path: '/subjects/stream',
    verb: 'stream',
    answers: { 200: z.string() },
    answer() {
      async function* chunks() {
        yield 'first'
        await gate.promise
        yield 'last'
      }
      return { kind: 'streaming', contentType: 'text/event-stream', chunks: chunks() }
    },
  })
  const refused = Promise.withResolvers<void>()
  const face = exampleFace([subjects, stream])
  const { url, broker } = await start(t, {
    ...face,
    errorOf(what, requestId, accept) {
      refused.resolve()
      return face.errorOf(what, requestId, accept)
    },
  })
  const { hostname, port } = new URL(url)
  const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`
  const client = connect({ host: hostname, port: Number(port) })
  let text = ''
  client.setEncoding('utf8').on('data', chunk => (text += chunk))
  client.write(request('/subjects/stream'))
  await eventually('the stream has begun', () => text.includes('first'))
  const closed = broker.close()
  await eventually('the port takes no more connections', () =>
    sendRaw(url).then(
      () => false,
      () => true,
    ),
  )
  const ended = once(client, 'close')
  client.write(request('/subjects'))
  // The broker refuses this request at once, but the answer waits behind the stream.
  await refused.promise
  gate.resolve()
  await Promise.all([closed, ended])
  const [, answer] = text.split(/(?=HTTP\/1\.1 )/)
  assert.match(answer!, /^HTTP\/1\.1 503[\s\S]*\r\ncontent-type: application\/vnd\.example\.v1\+json\r\n/)
  assert.match(answer!, /\{"error_code":503,"message":"The broker is shutting down\."\}$/)
})

test('two faces cannot own one path, and no route lies outside of its face', () => {
  const face = exampleFace()
  assert.throws(
    () => checkFaces([face, { ...face, name: 'other', paths: ['/subjects/a'], routes: [] }]),
    /claim the same path/,
  )
  assert.throws(() => checkFaces([{ ...face, paths: ['/subjectsx'] }]), /is not a path of the face example/)
  checkFaces([face, { ...face, name: 'other', paths: ['/'], routes: [] }])
})
