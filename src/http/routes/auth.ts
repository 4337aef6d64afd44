// The routes that begin and end a session with a password, say who is signed in, and make the first admin. Single
// sign-on has its own routes.

import { authStatusShape, signedInShape, signInShape } from '../../api/auth.ts'
import type { Identity } from '../../auth/console/identity.ts'
import { fromSignIn, sessionOf } from '../access.ts'
import { problem } from '../problems.ts'
import { reply, route } from '../route.ts'
import { noSessionCookie, sessionCookie, visitorOf } from '../session-cookie.ts'

/**
 * The largest body in bytes. It is enough for the longest name and password with each character escaped, and quick to
 * parse, because every caller may send it.
 */
const CREDENTIALS_BYTES = 16 * 1024

function signedIn({ username, role, isFederated, hasShippedPassword, session }: Identity, nowMs: number) {
  const expiresAt = new Date(session?.expiresAtMs ?? nowMs).toISOString()
  return { user: username, role, expiresAt, passwordChangeRequired: hasShippedPassword, federated: isFederated }
}

const SSO_PATH = '/api/v1/auth/oidc/login'

export const authRoutes = [
  route({
    method: 'POST',
    path: '/api/v1/auth/login',
    needs: 'anybody',
    verb: 'sign in',
    tag: 'auth',
    doc: 'Begins a session, which the cookie svc-admin-session carries. Repeated failures lock a name out from an address for a while.',
    body: signInShape,
    bodyLimit: CREDENTIALS_BYTES,
    audited: ['username'],
    answers: { 200: signedInShape },
    headers: { 200: ['Set-Cookie'] },
    problems: { 401: 'INVALID_CREDENTIALS', 429: 'TOO_MANY_REQUESTS', 503: 'BUSY' },
    async answer({ body, address, scheme, headers, ended }, { accounts, clock }) {
      const visitor = visitorOf(address, name => headers[name], ended)
      const session = await accounts.signIn(body.username, body.password, visitor)
      if (session.kind !== 'session') return fromSignIn(session)
      const nowMs = clock.now()
      return reply(200, signedIn(session.identity, nowMs), { 'set-cookie': sessionCookie(session, scheme, nowMs) })
    },
  }),
  route({
    method: 'POST',
    path: '/api/v1/auth/logout',
    needs: 'viewer',
    verb: 'sign out',
    tag: 'auth',
    doc: 'Ends the session, on every broker at once. The one change that a VIEWER may ask for.',
    answers: { 204: null },
    headers: { 204: ['Set-Cookie'] },
    async answer({ identity, scheme }, { accounts }) {
      if (identity?.session) await accounts.endSession(identity.session)
      return reply(204, undefined, { 'set-cookie': noSessionCookie(scheme) })
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/auth/status',
    needs: 'anybody',
    verb: 'describe session',
    tag: 'auth',
    doc: 'The ways to sign in, and the user who is signed in. It answers without a session too.',
    answers: { 200: authStatusShape },
    async answer({ address, headers }, { accounts, singleSignOn, clock }) {
      const identity = accounts.isSecured ? await sessionOf(address, name => headers[name], accounts) : null
      return reply(200, {
        securityEnabled: accounts.isSecured,
        setupRequired: accounts.isSecured && (await accounts.isSetupOpen()),
        sso: {
          enabled: singleSignOn !== null,
          label: singleSignOn?.label ?? null,
          href: singleSignOn === null ? null : SSO_PATH,
        },
        ...(identity === null ? {} : signedIn(identity, clock.now())),
      })
    },
  }),
  route({
    method: 'POST',
    path: '/api/v1/auth/setup',
    needs: 'anybody',
    verb: 'make first admin',
    tag: 'auth',
    doc: 'Makes the first admin and signs it in, while there is no user at all. Of several requests at the same time, one succeeds.',
    body: signInShape,
    bodyLimit: CREDENTIALS_BYTES,
    audited: ['username'],
    answers: { 201: signedInShape },
    headers: { 201: ['Set-Cookie'] },
    problems: { 404: 'NOT_FOUND', 409: 'SETUP_CLOSED', 503: 'BUSY' },
    async answer({ body, address, scheme, headers }, { accounts, clock }) {
      const visitor = visitorOf(address, name => headers[name])
      const made = await accounts.setUp(body.username, body.password, visitor)
      switch (made.kind) {
        case 'switched-off':
          return problem('NOT_FOUND', 'First-run setup is switched off (svc.admin.first-run-setup-enabled).')
        case 'closed':
          return problem('SETUP_CLOSED')
        case 'invalid':
          return problem('INVALID_REQUEST', `The ${made.field} ${made.message}.`, {
            fields: { [made.field]: made.message },
          })
        case 'busy':
          return fromSignIn(made)
        case 'session': {
          const nowMs = clock.now()
          return reply(201, signedIn(made.identity, nowMs), { 'set-cookie': sessionCookie(made, scheme, nowMs) })
        }
      }
    },
  }),
]
