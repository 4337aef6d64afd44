// Tests who may do what in the schema registry: every kind of caller, in every way in which the registry asks for a
// password. The expected matrix is written here once more, from the rules of access.
// schema-registry-hostile.longer.test.ts has the callers that do not play by the rules.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeCertificate, noOpenssl } from '../../../testing/certificate.ts'
import { eventually } from '../../../testing/eventually.ts'
import { freePort } from '../../../testing/free-port.ts'
import {
  askRegistry,
  CALLERS,
  type CallerName,
  makeCallers,
  type RegistryAsk,
  SUBJECTS,
} from '../../../testing/registry-face.ts'
import {
  ACLS,
  BASIC,
  ELSEWHERE,
  RIGHTS,
  requests,
  SASL,
  SCHEMA,
  startRegistry,
} from '../../../testing/registry-face-world.ts'
import type { RegistryRight } from '../route.ts'

/** Asks as the caller for every right on every subject. Resolves with the subjects of each answer, by right. */
async function rowOf(
  url: string,
  as: CallerName,
  headers = {},
): Promise<Record<RegistryRight, Record<string, number>>> {
  const row = {} as Record<RegistryRight, Record<string, number>>
  for (const right of RIGHTS) {
    row[right] = {}
    for (const subject of SUBJECTS) {
      const [path, asked] = requests[right](subject)
      const { status, body, headers: said } = await askRegistry(url, path, { ...asked, headers, as: CALLERS[as] })
      if (status !== 200) assert.equal(body.error_code, status === 403 ? 40301 : status)
      assert.equal(said.has('www-authenticate'), status === 401)
      row[right][subject] = status
    }
  }
  return row
}

function all(status: number): Readonly<Record<string, number>> {
  return Object.fromEntries(SUBJECTS.map(subject => [subject, status]))
}

/** Returns 200 for these subjects, 403 for the others. */
function only(...subjects: readonly string[]): Readonly<Record<string, number>> {
  return { ...all(403), ...Object.fromEntries(subjects.map(subject => [subject, 200])) }
}

const NOTHING = { read: all(401), lookup: all(401), register: all(401), administer: all(401) }
const EVERYTHING = { read: all(200), lookup: all(200), register: all(200), administer: all(200) }
const READER = { read: all(200), lookup: all(200), register: all(403), administer: all(403) }
const CLIENT = { read: all(200), lookup: all(200), register: all(200), administer: all(403) }

test('with SASL and ACLs every caller has the rights of its role or of its rules', async t => {
  const { below, alone } = await startRegistry(t, ACLS)
  await makeCallers(below.replace('/schema-registry', ''))
  const written = ['orders-key', 'orders-value', 'com.acme.Order']
  const readable = [...written, 'logs-key', 'logs-value']
  const rows: Readonly<Record<CallerName, object>> = {
    unsigned: NOTHING,
    VIEWER: READER,
    ADMIN: EVERYTHING,
    client: { read: only(...readable), lookup: only(...readable), register: only(...written), administer: all(403) },
    stranger: { read: all(403), lookup: all(403), register: all(403), administer: all(403) },
    superUser: CLIENT,
  }
  for (const url of [below, alone])
    for (const caller of Object.keys(rows) as CallerName[])
      assert.deepEqual(await rowOf(url, caller), rows[caller], `${caller} at ${url}`)

  // A list shows what the caller may read, and only that.
  const list = async (as: CallerName) => (await askRegistry(below, '/subjects', { as: CALLERS[as] })).body
  assert.deepEqual(
    await list('client'),
    SUBJECTS.filter(each => readable.includes(each)),
  )
  assert.deepEqual(await list('stranger'), [])
  for (const as of ['VIEWER', 'ADMIN', 'superUser'] as const) assert.deepEqual(await list(as), SUBJECTS)
})

test('a refusal says which rule or role is missing, and names no subject that the caller has not named', async t => {
  const { ask, url } = await startRegistry(t, ACLS)
  await makeCallers(url)
  const said = async (path: string, asked: RegistryAsk) => (await ask(path, asked)).body.message
  const as = CALLERS.stranger
  assert.equal(
    await said('/subjects/orders-value/versions', { as }),
    'User:eve needs READ or WRITE on the topic "orders".',
  )
  assert.equal(
    await said('/subjects/com.acme.Order/versions', { method: 'POST', body: SCHEMA, as }),
    'User:eve needs WRITE on the topic "com.acme.Order".',
  )
  assert.equal(
    await said('/subjects/orders-value', { method: 'DELETE', as: CALLERS.client }),
    'User:ada is a Kafka client, and this needs an ADMIN of the console.',
  )
  assert.equal(
    await said('/config', { method: 'PUT', body: { compatibility: 'NONE' }, as: CALLERS.VIEWER }),
    'The role of this user is VIEWER; it must be ADMIN.',
  )
  assert.match(await said('/subjects', {}), /^A username and a password are required, by HTTP Basic/)
})

test('without ACLs a client reads and registers every subject, and deletes none', async t => {
  const { below, url } = await startRegistry(t, { ...SASL, 'admin.login-throttle.max-failures': 1_000 })
  const admin = await makeCallers(url)
  for (const caller of ['client', 'stranger', 'superUser'] as const)
    assert.deepEqual(await rowOf(below, caller), CLIENT, caller)
  assert.deepEqual(await rowOf(below, 'unsigned'), NOTHING)
  await admin.ask('DELETE', '/api/v1/credentials/eve')
  assert.deepEqual(await rowOf(below, 'stranger'), NOTHING)
})

test('auto: while the Kafka port asks no client, reads are free, and registrations from this machine and on the own port', async t => {
  const { below, alone, url } = await startRegistry(t)
  await makeCallers(url)
  const free = { read: all(200), lookup: all(200), register: all(200), administer: all(401) }
  const apart = { ...free, register: all(401) }
  assert.deepEqual(await rowOf(below, 'unsigned'), free)
  assert.deepEqual(await rowOf(alone, 'unsigned'), free)
  assert.deepEqual(await rowOf(alone, 'unsigned', ELSEWHERE), free)
  assert.deepEqual(await rowOf(below, 'unsigned', ELSEWHERE), apart)
  // A name that another machine may have too is not this machine.
  assert.deepEqual(await rowOf(below, 'unsigned', { via: '1.1 proxy' }), apart)

  // A sign-in adds the rights of the user.
  assert.deepEqual(await rowOf(below, 'ADMIN', ELSEWHERE), EVERYTHING)
  assert.deepEqual(await rowOf(below, 'client', ELSEWHERE), CLIENT)
  assert.deepEqual(await rowOf(below, 'VIEWER', ELSEWHERE), READER)
  assert.deepEqual(await rowOf(below, 'VIEWER'), CLIENT)

  const refused = await askRegistry(below, '/subjects/a/versions', { method: 'POST', body: SCHEMA, headers: ELSEWHERE })
  assert.match(
    refused.body.message,
    /svc\.schema-registry\.port, because svc\.schema-registry\.authentication is auto \(default\)/,
  )
  assert.equal(refused.headers.get('www-authenticate'), 'Basic realm="ketch", charset="UTF-8"')
})

test('auto: a wrong password is refused where it asks for more, and costs nothing where reads are free', async t => {
  const { ask, url } = await startRegistry(t)
  await makeCallers(url)
  const as = ['ada', 'wrong'] as const
  assert.equal((await ask('/subjects', { as })).status, 200)
  assert.equal((await ask('/subjects/a', { method: 'POST', body: SCHEMA, as })).status, 200)
  const { status, body } = await ask('/subjects/a/versions', { method: 'POST', body: SCHEMA, as })
  assert.deepEqual([status, body.error_code], [401, 401])
})

test('auto asks for a password as soon as one listener has SASL', async t => {
  const inside = { name: 'INSIDE', host: null, port: 0, advertisedHost: null, advertisedPort: null } as const
  const { below } = await startRegistry(t, { 'broker.listeners': [{ ...inside, security: 'sasl-plaintext' }] })
  assert.deepEqual(await rowOf(below, 'unsigned'), NOTHING)
})

test('auto asks for a password if Kafka clients need a certificate', { skip: noOpenssl }, async t => {
  const { certificateFile, keyFile } = await makeCertificate(t)
  const { below } = await startRegistry(t, {
    'broker.tls': true,
    'broker.cert-file': certificateFile,
    'broker.key-file': keyFile,
    'broker.client-auth-required': true,
    'broker.trust-cert-file': certificateFile,
  })
  assert.deepEqual(await rowOf(below, 'unsigned'), NOTHING)
})

test('no caller is asked with none, or while admin security is off, whatever the Kafka port asks', async t => {
  for (const settings of [
    { ...ACLS, 'schema-registry.authentication': 'none' },
    { ...ACLS, ...BASIC, 'admin.security-enabled': false },
  ] as const) {
    const { below, alone } = await startRegistry(t, settings)
    for (const url of [below, alone]) {
      assert.deepEqual(await rowOf(url, 'unsigned', ELSEWHERE), EVERYTHING)
      // A password is not looked at.
      assert.deepEqual(await rowOf(url, 'client'), EVERYTHING)
      assert.deepEqual((await askRegistry(url, '/subjects')).body, SUBJECTS)
    }
  }
})

test('repeating the level in force needs the right to register, and another level an ADMIN', async t => {
  const { ask, url } = await startRegistry(t, ACLS)
  await makeCallers(url)
  const put = async (subject: string, compatibility: string, as: CallerName) =>
    (await ask(`/config/${subject}`, { method: 'PUT', body: { compatibility }, as: CALLERS[as] })).status
  assert.deepEqual(
    [
      await put('orders-value', 'BACKWARD', 'client'),
      await put('orders-value', 'FULL', 'client'),
      await put('logs-value', 'BACKWARD', 'client'),
      await put('orders-value', 'BACKWARD', 'VIEWER'),
      await put('orders-value', 'FULL', 'ADMIN'),
    ],
    [200, 403, 403, 403, 200],
  )
})

test('audit lines name a client with its type, and a refused caller with none', async t => {
  const { ask, url, log } = await startRegistry(t, ACLS)
  await makeCallers(url)
  const change = (as: CallerName) =>
    ask('/subjects/orders-value/versions', { method: 'POST', body: SCHEMA, as: CALLERS[as] })
  for (const as of ['client', 'ADMIN', 'stranger', 'unsigned'] as const) await change(as)
  const lines = () =>
    log()
      .split('\n')
      .filter(line => line.includes(' svc.audit  echo registration'))
  await eventually('four lines', () => lines().length === 4)
  assert.deepEqual(
    lines().map(line => /who=(\S+) .*status=(\d+) code=(\w+)/.exec(line)!.slice(1)),
    [
      ['User:ada', '200', 'null'],
      ['admin', '200', 'null'],
      ['null', '403', 'FORBIDDEN'],
      ['null', '401', 'UNAUTHENTICATED'],
    ],
  )
})

test('the log warns of a registry that asks no caller while the Kafka port asks for a sign-in', async t => {
  const none = {
    'schema-registry.authentication': 'none',
    'server.address': null,
    'server.port': await freePort(),
  } as const
  const warning =
    /WARN {2}svc\.http {2}INSECURE: svc\.schema-registry\.authentication is none .*answers on every interface/
  const ports = { 'schema-registry.port': await freePort() }
  assert.match((await startRegistry(t, { ...SASL, ...none, ...ports })).log(), warning)
  for (const more of [{ ...none, 'server.address': '127.0.0.1', 'server.port': 0 }, {}] as const)
    assert.doesNotMatch((await startRegistry(t, { ...SASL, ...more })).log(), /INSECURE: svc\.schema-registry/)
})
