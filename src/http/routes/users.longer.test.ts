import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { type AdminAnswer, type AdminClient, adminClient, signInAt } from '../../../testing/admin-client.ts'
import { type CleanUp, startBroker } from '../../../testing/broker.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { systemClock } from '../../base/clock.ts'

const PASSWORD = 'correct horse'

async function startSecured(t: CleanUp) {
  const store = createMemoryStore(systemClock)
  const broker = await startBroker(t, { 'admin.password': PASSWORD }, { hasHttp: true, openStore: async () => store })
  return { ...broker, store, admin: await signInAt(broker.url, 'admin', PASSWORD) }
}

test('a user is made, listed, described, changed and removed', async t => {
  const { admin, url } = await startSecured(t)
  const made = await admin.ask('POST', '/api/v1/users', { username: 'zoë/1', password: PASSWORD, role: 'VIEWER' })
  assert.equal(made.status, 201)
  const path = '/api/v1/users/zo%C3%AB%2F1'
  assert.equal(made.headers.get('location'), path)
  const { createdAt, passwordChangedAt, ...user } = made.body
  assert.deepEqual(user, { username: 'zoë/1', role: 'VIEWER', passwordChangeRequired: false })
  assert.equal(createdAt, passwordChangedAt)
  assert.deepEqual((await admin.ask('GET', path)).body, made.body)
  const listed = (await admin.ask('GET', '/api/v1/users')).body.users as { username: string }[]
  assert.deepEqual(
    listed.map(({ username }) => username),
    ['admin', 'zoë/1'],
  )
  assert.equal((await (await signInAt(url, 'zoë/1', PASSWORD)).ask('GET', path)).status, 200)
  assert.equal((await admin.ask('PUT', path, { role: 'ADMIN' })).body.role, 'ADMIN')
  assert.equal((await admin.ask('DELETE', path)).status, 204)
  for (const method of ['GET', 'PUT', 'DELETE'])
    assert.equal((await admin.ask(method, path, method === 'PUT' ? { role: 'VIEWER' } : undefined)).code, 'NOT_FOUND')
})

test('users are searched, sorted and paged', async t => {
  const { admin } = await startSecured(t)
  for (const [username, role] of [
    ['Zoe', 'VIEWER'],
    ['ada', 'ADMIN'],
    ['zora', 'VIEWER'],
  ])
    await admin.ask('POST', '/api/v1/users', { username, password: PASSWORD, role })
  const list = async (query: string) => {
    const { status, body } = await admin.ask('GET', `/api/v1/users?${query}`)
    assert.equal(status, 200, query)
    const { users, total } = body as { users: { username: string }[]; total: number }
    return [users.map(({ username }) => username).join(), total]
  }
  assert.deepEqual(await list(''), ['Zoe,ada,admin,zora', 4])
  assert.deepEqual(await list('q=ZO&order=desc'), ['zora,Zoe', 2])
  assert.deepEqual(await list('sort=role&order=desc&limit=3'), ['zora,Zoe,admin', 4])
  assert.deepEqual(await list('sort=createdAt&offset=1&limit=2'), ['Zoe,ada', 4])
  assert.deepEqual(await list('offset=9'), ['', 4])
  for (const query of ['limit=0', 'sort=password', 'offset=-1', 'role=ADMIN'])
    assert.equal((await admin.ask('GET', `/api/v1/users?${query}`)).code, 'INVALID_REQUEST', query)
})

test('a user is an ADMIN by default, and a name can have only one user', async t => {
  const { admin } = await startSecured(t)
  const body = { username: 'ada', password: PASSWORD }
  const answers = await Promise.all([1, 2, 3].map(() => admin.ask('POST', '/api/v1/users', body)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409])
  assert.equal(answers.find(({ status }) => status === 201)!.body.role, 'ADMIN')
  assert.equal((await admin.ask('POST', '/api/v1/users', body)).code, 'USER_EXISTS')
  assert.equal((await admin.ask('POST', '/api/v1/users', { ...body, username: 'zoe\u0308' })).status, 201)
  assert.equal((await admin.ask('POST', '/api/v1/users', { ...body, username: 'zo\u00eb' })).status, 409)
})

test('a refused name or password gets the reason at its field, and is never shown', async t => {
  const { admin } = await startSecured(t)
  const refusal = async (body: Readonly<Record<string, unknown>>) => {
    const {
      status,
      code,
      body: answer,
    } = await admin.ask('POST', '/api/v1/users', {
      username: 'ada',
      password: PASSWORD,
      ...body,
    })
    assert.deepEqual([status, code], [400, 'INVALID_REQUEST'], JSON.stringify(body))
    assert(!JSON.stringify(answer).includes('s3cret!'))
    return answer.fields as Record<string, string>
  }
  for (const username of ['', 'a:b', 'a\nb', 'a\u200bb', ' ada', 'x'.repeat(129), '\uff41da'])
    assert.ok((await refusal({ username })).username, JSON.stringify(username))
  for (const unseen of ['\ufe0f', '\u034f', '\u115f', '\u17b4', '\u{e0100}', '\u2800'])
    assert.equal((await refusal({ username: `ada${unseen}` })).username, 'holds a character that cannot be seen')
  for (const username of ['.', '..'])
    assert.equal((await refusal({ username })).username, "is '.' or '..', which no browser can ask for")
  for (const password of ['', 's3cret!', 'é'.repeat(3), 'x'.repeat(1_025), 'change-me-now'])
    assert.ok((await refusal({ password })).password, password)
  // No body may contain such text, so the problem names no field.
  for (const body of [{ username: '\ud800' }, { password: `${'x'.repeat(20)}\ud800` }]) await refusal(body)
  assert.ok(await refusal({ role: 'ROOT' }))
  for (const password of ['éééé', '\u{1F511}\u{1F511}', ' '.repeat(8), 'x'.repeat(1_024)]) {
    const username = `with ${password.codePointAt(0)} ${password.length}`
    assert.equal((await admin.ask('POST', '/api/v1/users', { username, password })).status, 201)
  }
})

test('a VIEWER may read everything and change nothing, not even the own password or role', async t => {
  const { admin, url } = await startSecured(t)
  await admin.ask('POST', '/api/v1/users', { username: 'vic', password: PASSWORD, role: 'VIEWER' })
  const vic = await signInAt(url, 'vic', PASSWORD)
  assert.equal((await vic.ask('GET', '/api/v1/users')).status, 200)
  for (const [method, path, body] of [
    ['POST', '/api/v1/users', { username: 'eve', password: PASSWORD }],
    ['PUT', '/api/v1/users/vic', { role: 'ADMIN' }],
    ['PUT', '/api/v1/users/vic', { password: 'another one', currentPassword: PASSWORD }],
    ['DELETE', '/api/v1/users/admin'],
  ] as const)
    assert.deepEqual((await vic.ask(method, path, body)).code, 'FORBIDDEN', `${method} ${path}`)
  assert.equal((await vic.ask('POST', '/api/v1/auth/logout')).status, 204)
})

test('the own password takes the current one; success ends the sessions of the user', async t => {
  const { admin, url } = await startSecured(t)
  const second = await signInAt(url, 'admin', PASSWORD)
  const missing = await admin.ask('PUT', '/api/v1/users/admin', { password: 'another one' })
  assert.deepEqual([missing.status, Object.keys(missing.body.fields)], [400, ['currentPassword']])
  const wrong = await admin.ask('PUT', '/api/v1/users/admin', { password: 'another one', currentPassword: 'wrong' })
  assert.deepEqual([wrong.status, wrong.code], [403, 'WRONG_CURRENT_PASSWORD'])
  assert.equal((await second.ask('GET', '/api/v1/users')).status, 200)
  const right = { password: 'another one', currentPassword: PASSWORD }
  assert.equal((await admin.ask('PUT', '/api/v1/users/admin', right)).status, 200)
  for (const client of [admin, second]) assert.equal((await client.ask('GET', '/api/v1/users')).status, 401)
  assert.equal(
    (await adminClient(url).ask('POST', '/api/v1/auth/login', { username: 'admin', password: PASSWORD })).status,
    401,
  )
  await signInAt(url, 'admin', 'another one')
})

test('wrong current passwords are throttled like wrong sign-ins', async t => {
  const { admin } = await startSecured(t)
  const change = (currentPassword: string) =>
    admin.ask('PUT', '/api/v1/users/admin', { password: 'another one', currentPassword })
  for (let at = 0; at < 10; at++) assert.equal((await change(`wrong ${at}`)).status, 403)
  const { status, headers } = await change(PASSWORD)
  assert.equal(status, 429)
  assert.ok(Number(headers.get('retry-after')) > 0)
})

test('another role or password ends the sessions of only that user; the same role changes nothing', async t => {
  const { admin, url } = await startSecured(t)
  await admin.ask('POST', '/api/v1/users', { username: 'ada', password: PASSWORD })
  const ada = await signInAt(url, 'ada', PASSWORD)
  const same = await admin.ask('PUT', '/api/v1/users/ada', { role: 'ADMIN' })
  assert.deepEqual([same.status, (await ada.ask('GET', '/api/v1/users')).status], [200, 200])
  assert.equal((await admin.ask('PUT', '/api/v1/users/ada', {})).status, 400)
  assert.equal((await admin.ask('PUT', '/api/v1/users/ada', { role: 'VIEWER' })).status, 200)
  assert.equal((await ada.ask('GET', '/api/v1/users')).status, 401)
  const viewer = await signInAt(url, 'ada', PASSWORD)
  assert.equal((await admin.ask('PUT', '/api/v1/users/ada', { password: 'reset by admin' })).status, 200)
  assert.equal((await viewer.ask('GET', '/api/v1/users')).status, 401)
  const last = await signInAt(url, 'ada', 'reset by admin')
  assert.equal((await admin.ask('DELETE', '/api/v1/users/ada')).status, 204)
  assert.equal((await last.ask('GET', '/api/v1/users')).status, 401)
  assert.equal((await admin.ask('GET', '/api/v1/users')).status, 200)
})

test('the last ADMIN is neither removed nor demoted, by however many requests at once', async t => {
  const { admin, url } = await startSecured(t)
  await admin.ask('POST', '/api/v1/users', { username: 'vic', password: PASSWORD, role: 'VIEWER' })
  const refused = [
    await admin.ask('DELETE', '/api/v1/users/admin'),
    await admin.ask('PUT', '/api/v1/users/admin', { role: 'VIEWER' }),
  ]
  assert.deepEqual(
    refused.map(({ status, code }) => [status, code]),
    [
      [409, 'LAST_ADMIN'],
      [409, 'LAST_ADMIN'],
    ],
  )
  await admin.ask('POST', '/api/v1/users', { username: 'ada', password: PASSWORD })
  const ada = await signInAt(url, 'ada', PASSWORD)
  const both = await Promise.all([
    admin.ask('DELETE', '/api/v1/users/ada'),
    ada.ask('PUT', '/api/v1/users/admin', { role: 'VIEWER' }),
  ])
  const statuses = both.map(({ status }) => status)
  assert.equal(statuses.filter(status => status < 300).length, 1, statuses.join())
  const survivor = statuses[0]! < 300 ? admin : ada
  const { users } = (await survivor.ask('GET', '/api/v1/users')).body
  assert.equal(users.filter(({ role }: { role: string }) => role === 'ADMIN').length, 1)
})

test('every change writes a line with the user, the address and the change, and without a secret', async t => {
  const { admin, log } = await startSecured(t)
  await admin.ask('POST', '/api/v1/users', { username: 'ada', password: 'a marked secret' })
  await admin.ask('PUT', '/api/v1/users/ada', { password: 'another marked secret' })
  await admin.ask('DELETE', '/api/v1/users/ada')
  for (const verb of ['create user', 'change user', 'delete user'])
    assert.match(log(), new RegExp(`svc\\.audit +${verb} .*who=admin sso=false from=127\\.0\\.0\\.1`))
  assert(!log().includes('marked'))
  assert(!log().includes('argon2'))
})

test('an ADMIN whose session ends while the body of a change is on its way cannot make the change', async t => {
  const { admin, url } = await startSecured(t)
  const ends: Readonly<Record<string, (ada: AdminClient) => Promise<AdminAnswer>>> = {
    'is removed': () => admin.ask('DELETE', '/api/v1/users/ada'),
    'is made a VIEWER': () => admin.ask('PUT', '/api/v1/users/ada', { role: 'VIEWER' }),
    'has another password': () => admin.ask('PUT', '/api/v1/users/ada', { password: `${PASSWORD} anew` }),
    'signs out': ada => ada.ask('POST', '/api/v1/auth/logout'),
  }
  for (const [what, end] of Object.entries(ends)) {
    await admin.ask('POST', '/api/v1/users', { username: 'ada', password: PASSWORD, role: 'ADMIN' })
    const ada = await signInAt(url, 'ada', PASSWORD)
    const body = JSON.stringify({ username: 'backdoor', password: PASSWORD, role: 'ADMIN' })
    const headers = { cookie: ada.cookie, 'content-type': 'application/json', 'content-length': body.length }
    // A request with Expect: 100-continue is let in before the answer tells it to go on.
    const late = request(`${url}/api/v1/users`, { method: 'POST', headers: { ...headers, expect: '100-continue' } })
    // An answer that comes too early must not be missed: the test would wait for it in vain.
    const answered = once(late, 'response') as Promise<[IncomingMessage]>
    late.flushHeaders()
    const first = await Promise.race([once(late, 'continue').then(() => 'continue'), answered.then(() => 'answer')])
    assert.equal(first, 'continue', what)
    assert.ok((await end(ada)).status < 300, what)
    late.end(body)
    const [answer] = await answered
    assert.equal(JSON.parse(await text(answer)).code, 'UNAUTHENTICATED', what)
    assert.equal((await admin.ask('GET', '/api/v1/users/backdoor')).status, 404, what)
    await admin.ask('DELETE', '/api/v1/users/ada')
  }
})
