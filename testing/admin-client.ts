// A client of the admin API for tests. It sends JSON with the session cookie and returns the answers unchanged.

import { assert } from '../src/base/assert.ts'

export interface AdminAnswer {
  readonly status: number
  readonly headers: Headers
  /** The body as JSON; null if there is no body. It has no type, so that a test can read any member. */
  // biome-ignore lint/suspicious/noExplicitAny: every member would have to be asserted before it could be asserted
  readonly body: any
  /** The `code` of a problem; undefined if the answer is not a problem. */
  readonly code: unknown
}

export interface AdminClient {
  /** The cookie of the session as `name=value`; '' without a session. */
  readonly cookie: string
  ask(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<AdminAnswer>
  /** Returns a client of another broker, with the same cookie. */
  at(url: string): AdminClient
}

/** Returns a client that acts as the user of the cookie; without a cookie it is not signed in. */
export function adminClient(url: string, cookie = ''): AdminClient {
  return {
    cookie,
    at: other => adminClient(other, cookie),
    async ask(method, path, body, headers = {}) {
      const response = await fetch(`${url}${path}`, {
        method,
        redirect: 'manual',
        headers: {
          ...(cookie === '' ? {} : { cookie }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      const parsed = text === '' ? null : JSON.parse(text)
      return { status: response.status, headers: response.headers, body: parsed, code: parsed?.code }
    },
  }
}

/** Signs in. Resolves with a client that has the session. */
export async function signInAt(url: string, username: string, password: string): Promise<AdminClient> {
  const answer = await adminClient(url).ask('POST', '/api/v1/auth/login', { username, password })
  const cookie = answer.headers.get('set-cookie')?.split(';', 1)[0]
  assert(answer.status === 200 && cookie !== undefined, `signing in as ${username} was answered ${answer.status}`)
  return adminClient(url, cookie)
}
