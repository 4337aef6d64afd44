// Signing in to the console through the identity provider: two redirects that a browser follows. What they bring is decided in
// auth/single-sign-on.ts; here are the cookies and the addresses.

import { z } from 'zod'
import { LOGIN_MS } from '../../auth/sealed-login.ts'
import type { SignOnFailed } from '../../auth/single-sign-on.ts'
import { isStoreFailure } from '../../store/store.ts'
import { ownPath } from '../own-path.ts'
import { problem } from '../problems.ts'
import { type HttpRequest, type Reply, reply, route } from '../route.ts'
import { sessionCookie } from '../session-cookie.ts'

const LOGIN_PATH = '/api/v1/auth/oidc/login'
const CALLBACK_PATH = '/api/v1/auth/oidc/callback'

/** What the browser carries while its user is at the provider; sent to these two routes and to nothing else. */
const LOGIN_COOKIE = 'svc-admin-sso'
const COOKIE_PATH = '/api/v1/auth/oidc'

const once = z.string()
const many = z.union([once, z.array(once)]).optional()

export const oidcRoutes = [
  route({
    method: 'GET',
    path: LOGIN_PATH,
    needs: 'nobody',
    verb: 'begin single sign-on',
    tag: 'auth',
    doc: 'Sends the browser to the identity provider; back at `returnTo`, a path of this server, it has a session.',
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
      if (redirectUri === null) return problem('INVALID_REQUEST', 'The Host header is not a host.')
      const outcome = await singleSignOn.begin(redirectUri, returnTo)
      if (outcome.kind === 'failed') return toLogin(outcome, request)
      const cookie = `${LOGIN_COOKIE}=${outcome.login}; ${attributes(request)}; Max-Age=${LOGIN_MS / 1000}`
      return reply(302, undefined, { location: outcome.url, 'set-cookie': cookie })
    },
  }),
  route({
    method: 'GET',
    path: CALLBACK_PATH,
    needs: 'nobody',
    verb: 'finish single sign-on',
    tag: 'auth',
    doc:
      'Where the identity provider sends the browser back to: on to where the login began with the session cookie, or to ' +
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

/** Every failure looks the same but for the word, and ends the login that was under way unless it is not about that one. */
function toLogin({ error, isOther }: Pick<SignOnFailed, 'error' | 'isOther'>, request: Browser): Reply {
  const location = `/login?error=${error}`
  // Whoever signs in in two tabs has the cookie of the second: the answer to the first must not take it away.
  return reply(302, undefined, isOther ? { location } : { location, 'set-cookie': forgetLogin(request) })
}

function forgetLogin(request: Browser): string {
  return `${LOGIN_COOKIE}=; ${attributes(request)}; Max-Age=0`
}

/** Lax: the browser comes back from another site, by a navigation. */
function attributes({ scheme }: Browser): string {
  return `Path=${COOKIE_PATH}; HttpOnly; SameSite=Lax${scheme === 'https' ? '; Secure' : ''}`
}

/** As the browser sees this server; null where the Host header is no host with an optional port. */
function derivedRedirectUri({ scheme, host }: Browser): string | null {
  if (!/^([\w.-]{1,255}|\[[\da-f:.]{2,45}\])(:\d{1,5})?$/i.test(host)) return null
  const uri = `${scheme}://${host}${CALLBACK_PATH}`
  return URL.canParse(uri) ? uri : null
}

/** Twice the same parameter stays twice, so that whoever reads it can refuse it. */
function asSent(query: Readonly<Record<string, unknown>>): URLSearchParams {
  const sent = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) for (const each of [value].flat()) sent.append(name, String(each))
  return sent
}
