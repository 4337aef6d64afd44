import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testSettings } from '../../settings/settings.ts'
import { readConsoleClaims } from './console-claims.ts'

const groups = { 'admin.oauth.roles.admin-group': 'admins', 'admin.oauth.roles.viewer-group': 'viewers' }
const settings = testSettings(groups)
const read = (claims: Readonly<Record<string, unknown>>, of = settings) => {
  const found = readConsoleClaims({ preferred_username: 'ada', ...claims }, of)
  return found.kind === 'claims' ? found.role : found.kind
}

test('the groups give the role, ADMIN before VIEWER', () => {
  assert.deepEqual(readConsoleClaims({ preferred_username: 'Ada Lovelace', groups: ['x', 'admins'] }, settings), {
    kind: 'claims',
    username: 'Ada Lovelace',
    role: 'ADMIN',
  })
  assert.equal(read({ groups: ['viewers'] }), 'VIEWER')
  assert.equal(read({ groups: ['viewers', 'admins'] }), 'ADMIN')
  assert.equal(read({ groups: 'viewers' }), 'VIEWER')
  assert.equal(read({ groups: 'admins' }), 'ADMIN')
})

test('a user in neither group gets no role', () => {
  for (const claims of [{}, { groups: null }, { groups: [] }, { groups: '' }, { groups: ['ADMINS', 'admins '] }])
    assert.equal(read(claims), 'no-role')
  assert.equal(read({ groups: 'admins viewers' }), 'no-role')
  assert.equal(read({ roles: ['admins'] }), 'no-role')
})

test('a group that is not set has no members', () => {
  const onlyViewers = testSettings({ 'admin.oauth.roles.viewer-group': 'viewers' })
  assert.equal(read({ groups: ['null', 'undefined', ''] }, onlyViewers), 'no-role')
  assert.equal(read({ groups: 'viewers' }, onlyViewers), 'VIEWER')
})

test('only the claims that the settings name are read, and no property that every object has', () => {
  const others = testSettings({
    ...groups,
    'admin.oauth.username-claim': 'email',
    'admin.oauth.roles.claim': 'https://ketch.example/roles',
  })
  assert.deepEqual(readConsoleClaims({ email: 'a@b', 'https://ketch.example/roles': ['admins'] }, others), {
    kind: 'claims',
    username: 'a@b',
    role: 'ADMIN',
  })
  const inherited = testSettings({ ...groups, 'admin.oauth.username-claim': 'toString' })
  assert.equal(readConsoleClaims({ groups: 'admins' }, inherited).kind, 'unusable')
})

test('a name is text of up to 256 characters without colons and controls', () => {
  const named = (preferred_username: unknown) =>
    readConsoleClaims({ preferred_username, groups: ['admins'] }, settings).kind
  for (const name of ['a', 'ada@example.com', 'Ада', 'a'.repeat(256), '🙂'.repeat(256), 'x y'])
    assert.equal(named(name), 'claims', name)
  for (const name of [
    ...[undefined, null, 7, true, {}, ['ada'], '', ' ', 'a'.repeat(257)],
    ...['group:admins', 'a:b', 'a\nb', 'a\0', '\u001b[31m', '\u202eada', 'a\u2028b', '\ud800'],
    ...['ada\ufe0f', 'a\u034fda', 'ada\u115f', 'ada\u17b4', 'ada\u{e0100}', 'ada\u2800'],
  ])
    assert.equal(named(name), 'unusable', String(name))
})

test('groups are a text or a list of at most 1,000 texts', () => {
  const many = (count: number) => Array.from({ length: count }, (_, at) => `g${at}`)
  assert.equal(read({ groups: [...many(999), 'admins'] }), 'ADMIN')
  for (const value of [7, true, {}, { 0: 'admins', length: 1 }, [['admins']], ['admins', 7], [null, 'admins']])
    assert.equal(read({ groups: value }), 'unusable', JSON.stringify(value))
  assert.equal(read({ groups: [...many(1_000), 'admins'] }), 'unusable')
})
