import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testSettings } from '../../settings/settings.ts'
import { readAccessToken } from './access-token.ts'

const settings = testSettings({
  'broker.sasl.oauth.groups-claim': 'groups',
  'broker.sasl.oauth.tenant-claim': 'tenant',
})

function read(
  claims: Readonly<Record<string, unknown>>,
  of = settings,
  header: Readonly<Record<string, unknown>> = {},
) {
  const token = { header: { alg: 'ES256', ...header }, claims: { exp: 1_700_000_060, sub: 'ada', ...claims } }
  return readAccessToken({ kind: 'good', ...token }, of)
}

/** Returns the client, or why there is no client. */
function outcome(...args: Parameters<typeof read>) {
  const found = read(...args)
  return found.kind === 'good' ? found.client : found.why
}

test('the client is the subject, with the groups and the tenant of its token, until the token expires', () => {
  assert.deepEqual(outcome({ groups: ['staff', 'urn:example:ops'], tenant: 't-1' }), {
    name: 'ada',
    groups: ['staff', 'urn:example:ops'],
    tenant: 't-1',
    validUntilMs: 1_700_000_060_000,
  })
  assert.deepEqual(outcome({ exp: 1_700_000_060.0015 }), {
    name: 'ada',
    groups: [],
    tenant: null,
    validUntilMs: 1_700_000_060_001,
  })
})

test('only the claims that the settings name are read, by their whole name', () => {
  const others = testSettings({
    'broker.sasl.oauth.principal-claim': 'azp',
    'broker.sasl.oauth.groups-claim': 'realm_access.roles',
    'broker.sasl.oauth.tenant-claim': 'https://ketch.example/tenant',
  })
  const claims = { azp: 'orders', groups: ['a'], realm_access: { roles: ['b'] }, 'https://ketch.example/tenant': 'eu' }
  assert.deepEqual(outcome(claims, others), {
    name: 'orders',
    groups: [],
    tenant: 'eu',
    validUntilMs: 1_700_000_060_000,
  })
  assert.deepEqual(
    outcome({ ...claims, 'realm_access.roles': 'c' }, others),
    { name: 'orders', groups: ['c'], tenant: 'eu', validUntilMs: 1_700_000_060_000 },
    'a dot leads into no object',
  )
  assert.deepEqual(outcome({ groups: ['staff'], tenant: 't' }, testSettings()), {
    name: 'ada',
    groups: [],
    tenant: null,
    validUntilMs: 1_700_000_060_000,
  })
  assert.match(String(outcome({}, testSettings({ 'broker.sasl.oauth.principal-claim': 'toString' }))), /toString takes/)
})

test('a principal is text of up to 256 characters without colons, controls and what cannot be seen', () => {
  for (const sub of ['a', 'ada@example.com', 'Ада', 'a'.repeat(256), '🙂'.repeat(256), 'auth0|1', 'x y', '=,'])
    assert.equal(read({ sub }).kind, 'good', sub)
  const bad = [
    ...[undefined, null, 7, true, {}, ['ada'], '', ' ', 'a'.repeat(257), 'a'.repeat(16_000)],
    ...['group:admins', 'a:b', 'a\nb', 'a\0', '\u001b[31m', '\u202eada', 'a\u2028b', 'a\u200bb', '\ud800', '\u0085'],
  ]
  for (const sub of bad) assert.match(String(outcome({ sub })), /^the claim sub takes 1 to 256/, JSON.stringify(sub))
})

test('groups are a text or up to 1,000 texts of 1 to 256 characters, and anything else is refused', () => {
  const groupsOf = (groups: unknown) => {
    const found = read({ groups })
    return found.kind === 'good' ? found.client.groups : found.why
  }
  assert.deepEqual(groupsOf('staff'), ['staff'])
  assert.deepEqual(groupsOf('a b,c'), ['a b,c'], 'one text is one group')
  for (const none of [undefined, null, []]) assert.deepEqual(groupsOf(none), [])
  const many = Array.from({ length: 1_001 }, (_, at) => `g${at}`)
  assert.deepEqual(groupsOf(many.slice(1)), many.slice(1))
  assert.deepEqual(groupsOf(['g'.repeat(256), '/a/b', 'a:b']), ['g'.repeat(256), '/a/b', 'a:b'])
  const bad = [
    ...[many, 7, true, {}, { 0: 'a', length: 1 }, '', [''], [7], [null], ['a', ['b']], ['a', { name: 'b' }]],
    ...[['g'.repeat(257)], ['a\nb'], ['a\0'], ['\ud800'], 'a\u001b'],
  ]
  for (const groups of bad) assert.match(String(groupsOf(groups)), /^the claim groups takes/, JSON.stringify(groups))
})

test('a token without a tenant claim has no tenant, and a tenant that is no text is refused', () => {
  const tenantOf = (tenant: unknown) => {
    const found = read({ tenant })
    return found.kind === 'good' ? found.client.tenant : found.why
  }
  for (const tenant of ['eu', 'urn:example:eu', 't'.repeat(256)]) assert.equal(tenantOf(tenant), tenant)
  for (const none of [undefined, null]) assert.equal(tenantOf(none), null)
  for (const tenant of [7, false, {}, ['eu'], '', 't'.repeat(257), 'a\nb', '\ud800'])
    assert.match(String(tenantOf(tenant)), /^the claim tenant takes/, JSON.stringify(tenant))
})

test('a token of another type is refused, an id_token above all', () => {
  const why = (header: unknown, claims: Readonly<Record<string, unknown>> = {}) => {
    const found = read(claims, settings, { typ: header })
    return found.kind === 'good' ? 'good' : found.why
  }
  for (const typ of [undefined, 'JWT', 'jwt', 'at+jwt', 'AT+JWT', 'application/at+jwt', 'application/jwt'])
    assert.equal(why(typ), 'good', typ)
  for (const typ of ['logout+jwt', 'dpop+jwt', 'secevent+jwt', 'id_token', '', 7, null, ['JWT']])
    assert.match(why(typ), /^the type in its header/, String(typ))
  for (const typ of ['Bearer', 'JWT']) assert.equal(why('JWT', { typ }), 'good', typ)
  for (const typ of ['ID', 'Refresh', 'Offline', 'Logout', 'DPoP', '', 7, null, ['Bearer']])
    assert.match(why('JWT', { typ }), /^the type in its claims/, String(typ))
  assert.match(why('at+jwt', { typ: 'ID' }), /^the type in its claims/)
  assert.match(why('JWT', { nonce: 'n' }), /it is an id_token/)
  assert.match(why(undefined, { nonce: '', typ: 'JWT' }), /it is an id_token/)
  assert.equal(why('JWT', { nonce: 'n', typ: 'Bearer' }), 'good', 'an access token of an older Keycloak')
  assert.equal(why('at+jwt', { nonce: 'n' }), 'good')
})
