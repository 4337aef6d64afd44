// Signing in to the console through the identity provider: two redirects that a browser follows. This file has the
// cookies and the addresses; auth/console/single-sign-on.ts decides who signs in.

import { z } from 'zod'
import { LOGIN_MS } from '../../auth/console/sealed-login.ts'
import type { SignOnFailed } from '../../auth/console/single-sign-on.ts'
import { isStoreFailure } from '../../store/store.ts'
import { ownPath } from '../own-path.ts'
import { problem } from '../problems.ts'
import { type HttpRequest, type Reply, reply, route } from '../route.ts'
import { sessionCookie } from '../session-cookie.ts'

const LOGIN_PATH = '/api/v1/auth/oidc/login'
const CALLBACK_PATH = '/api/v1/auth/oidc/callback'

/** The cookie of the browser while its user is at the provider. The browser sends it to these two routes only. */
const LOGIN_COOKIE = 'svc-admin-sso'
const COOKIE_PATH = '/api/v1/auth/oidc'

const once = z.string()
const many = z.union([once, z.array(once)]).optional()

export const oidcRoutes = [
  route({
    method: 'GET',
    path: LOGIN_PATH,
    needs: 'anybody',
    verb: 'begin single sign-on',
    tag: 'auth',
    doc: 'Sends the browser to the identity provider. It comes back with a session to `returnTo`, a path of this server.',
    query: z.object({ returnTo: z.string().default('/') }),
    answers: { 302: null },
    headers: { 302: ['Location', 'Set-Cookie'] },
    problems: { 404: 'NOT_FOUND' },
    async answer(request, { singleSignOn, settings }) {
      if (singleSignOn === null) return problem('NOT_FOUND', 'Single sign-on is not enabled.')
      const returnTo = ownPath(request.query.returnTo)
      if (returnTo === null) {
        const why = 'takes a path of this server, as /topics'
        return problem('INVALID_REQUEST', `returnTo ${why}.`, { fields: { returnTo: why } })
      }
      const redirectUri = settings.get('admin.oauth.redirect-uri') ?? derivedRedirectUri(request)
      if (redirectUri === null) return problem('INVALID_REQUEST', 'The Host header does not name a host.')
      const outcome = await singleSignOn.begin(redirectUri, returnTo)
      if (outcome.kind === 'failed') return toLogin(outcome, request)
      const cookie = `${LOGIN_COOKIE}=${outcome.login}; ${attributes(request)}; Max-Age=${LOGIN_MS / 1000}`
      return reply(302, undefined, { location: outcome.url, 'set-cookie': cookie })
    },
  }),
  route({
    method: 'GET',
    path: CALLBACK_PATH,
    needs: 'anybody',
    verb: 'finish single sign-on',
    tag: 'auth',
    doc:
      'The identity provider sends the browser back here. It gets the session cookie and goes to `returnTo`, or goes to ' +
      '`/login?error=` and one of `sso-unavailable`, `sso-expired`, `sso-refused`, `sso-invalid`, `sso-no-role`.',
    query: z.looseObject({ code: many, state: many, iss: many, error: many }),
    answers: { 302: null },
    headers: { 302: ['Location', 'Set-Cookie'] },
    problems: { 404: 'NOT_FOUND' },
    async answer(request, { singleSignOn, accounts, logger, clock }) {
      if (singleSignOn === null) return problem('NOT_FOUND', 'Single sign-on is not enabled.')
      const log = logger.named('audit')
      try {
        const outcome = await singleSignOn.finish(request.cookies[LOGIN_COOKIE] ?? null, asSent(request.query))
        if (outcome.kind === 'failed') return toLogin(outcome, request)
        const { username, role, returnTo } = outcome
        const session = await accounts.issueSession(username, role)
        log.info('sign in by single sign-on', {
          who: username,
          role,
          from: request.address,
          requestId: request.requestId,
        })
        return reply(302, undefined, {
          location: returnTo,
          'set-cookie': [sessionCookie(session, request.scheme, clock.now()), forgetLogin(request)],
        })
      } catch (error) {
        if (!isStoreFailure(error)) throw error
        logger.named('http').limited('store', 5_000).warn('a single sign-on could not be finished', { error })
        return toLogin({ error: 'sso-unavailable', isOther: false }, request)
      }
    },
  }),
]

type Browser = Pick<HttpRequest<unknown, unknown, unknown>, 'scheme' | 'host'>

/**
 * Sends the browser to the login page. Failures differ only in the error word. A failure ends the login of this
 * browser, unless the answer belongs to another login.
 */
function toLogin({ error, isOther }: Pick<SignOnFailed, 'error' | 'isOther'>, request: Browser): Reply {
  const location = `/login?error=${error}`
  // A user who signs in in two tabs has the cookie of the second tab. The answer to the first tab must not delete it.
  return reply(302, undefined, isOther ? { location } : { location, 'set-cookie': forgetLogin(request) })
}

function forgetLogin(request: Browser): string {
  return `${LOGIN_COOKIE}=; ${attributes(request)}; Max-Age=0`
}

/**
 * Returns the attributes of the cookie. It is Lax, because the browser comes back from another site by a navigation.
 */
function attributes({ scheme }: Browser): string {
  return `Path=${COOKIE_PATH}; HttpOnly; SameSite=Lax${scheme === 'https' ? '; Secure' : ''}`
}

/**
 * Returns the address to come back to, on this server as the browser sees it; null if the Host header is not a host
 * with an optional port.
 */
function derivedRedirectUri({ scheme, host }: Browser): string | null {
  if (!/^([\w.-]{1,255}|\[[\da-f:.]{2,45}\])(:\d{1,5})?$/i.test(host)) return null
  const uri = `${scheme}://${host}${CALLBACK_PATH}`
  return URL.canParse(uri) ? uri : null
}

/**
 * Returns the query as it was sent. A parameter that was sent twice stays twice, so that single-sign-on.ts can refuse
 * it.
 */
function asSent(query: Readonly<Record<string, unknown>>): URLSearchParams {
  const sent = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) for (const each of [value].flat()) sent.append(name, String(each))
  return sent
}
