// Creates a user for each role of the admin API and signs each in at a broker.

import assert from 'node:assert/strict'
import type { Needs } from '../src/http/route.ts'
import type { Values } from '../src/settings/settings.ts'
import type { Role } from './contract.ts'

export const ADMIN_PASSWORD = 'correct horse battery'
const VIEWER_PASSWORD = 'only looking around'

/** Settings for the broker of the test: with the default password the broker would require a new password. */
export const roleSettings: Partial<Values> = {
  'admin.password': ADMIN_PASSWORD,
  'management.endpoints.web.exposure.include': ['*'],
}

export interface Roles {
  /** Returns the headers of a request of the role for a route that needs `needs`. */
  headers(role: Role, needs: Needs): Readonly<Record<string, string>>
  /** Returns the user name and password for Basic authentication. */
  basic(role: Exclude<Role, 'anonymous'>): readonly [username: string, password: string]
  /** Creates another session, so that a test can end it. Resolves with its headers. */
  signIn(role: Exclude<Role, 'anonymous'>): Promise<Readonly<Record<string, string>>>
}

export async function signInRoles(url: string): Promise<Roles> {
  const users = { ADMIN: ['admin', ADMIN_PASSWORD], VIEWER: ['vic', VIEWER_PASSWORD] } as const
  const post = (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
    fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const signIn = async (role: Exclude<Role, 'anonymous'>) => {
    const [username, password] = users[role]
    const response = await post('/api/v1/auth/login', { username, password })
    assert.equal(response.status, 200, await response.text())
    return { cookie: response.headers.get('set-cookie')!.split(';', 1)[0]! }
  }
  const admin = await signIn('ADMIN')
  const [username, password] = users.VIEWER
  const made = await post('/api/v1/users', { username, password, role: 'VIEWER' }, admin)
  assert.equal(made.status, 201, await made.text())
  const sessions = { ADMIN: admin, VIEWER: await signIn('VIEWER') }
  const basic = (role: Exclude<Role, 'anonymous'>) => ({
    authorization: `Basic ${Buffer.from(users[role].join(':')).toString('base64')}`,
  })
  return {
    signIn,
    basic: role => users[role],
    headers(role, needs) {
      if (role === 'anonymous') return {}
      return needs.startsWith('basic-') || needs === 'scrape' ? basic(role) : sessions[role]
    },
  }
}
