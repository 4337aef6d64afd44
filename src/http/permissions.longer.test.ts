// Tests the permissions: calls every route of the table as ADMIN, as VIEWER, without a sign-in and with security off,
// on a running broker. A new route is tested automatically.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startBroker } from '../../testing/broker.ts'
import { operationOf, type Role, requestsFor } from '../../testing/contract.ts'
import { eventually } from '../../testing/eventually.ts'
import { ADMIN_PASSWORD, type Roles, roleSettings, signInRoles } from '../../testing/http-roles.ts'
import { pages } from '../api/pages.ts'
import { describeRoutes, problemsOf } from './openapi.ts'
import { type AnyRoute, isAudited, isMutation, type Needs } from './route.ts'
import { allRoutes } from './routes/all.ts'

const document = describeRoutes(allRoutes)
const nameOf = ({ method, path }: AnyRoute) => `${method} ${path}`

/**
 * The routes for every client. The specification opens the probes, a session must begin somewhere, the console shows
 * nothing before a user signs in, and the other routes only name the paths of other things.
 */
const OPEN_TO_ANYBODY = [
  'GET /actuator/health',
  'GET /actuator/health/liveness',
  'GET /actuator/health/readiness',
  'GET /api/v1/auth/oidc/callback',
  'GET /api/v1/auth/oidc/login',
  'GET /api/v1/auth/status',
  'GET /swagger-ui',
  'GET /swagger-ui.html',
  'GET /swagger-ui/',
  'POST /api/v1/auth/login',
  'POST /api/v1/auth/setup',
  'GET /assets/:file',
  ...Object.values(pages).map(({ path }) => `GET ${path}`),
]

/** A forged request of another site gains nothing here: it ends the session that it comes with. */
const CHANGES_FOR_VIEWERS = ['POST /api/v1/auth/logout']

test('without a sign-in only the routes that the specification names are open', () => {
  const open = allRoutes.filter(({ needs }) => needs === 'anybody').map(nameOf)
  assert.deepEqual(
    open.filter(name => !OPEN_TO_ANYBODY.includes(name)),
    [],
  )
})

test('every route has a rule, and the rule fits its path', () => {
  const rules: Readonly<Record<Needs, (route: AnyRoute) => boolean>> = {
    anybody: route => OPEN_TO_ANYBODY.includes(nameOf(route)),
    viewer: route =>
      route.path.startsWith('/api/v1/') &&
      (!isMutation(route) || route.onlyAsks === true || CHANGES_FOR_VIEWERS.includes(nameOf(route))),
    admin: ({ path }) => path.startsWith('/api/v1/'),
    'basic-viewer': route => /^\/(actuator|v3|swagger-ui)\//.test(route.path) && !isMutation(route),
    'basic-admin': ({ path }) => path.startsWith('/actuator/'),
    scrape: ({ path }) => path === '/actuator/prometheus',
    // faces/schema-registry-contract.longer.test.ts tests the routes of the registry.
    'registry-read': () => false,
    'registry-lookup': () => false,
    'registry-register': () => false,
    'registry-administer': () => false,
  }
  for (const route of allRoutes) {
    assert.ok(Object.hasOwn(rules, route.needs), `${nameOf(route)} needs "${route.needs}"`)
    assert.ok(rules[route.needs](route), `${nameOf(route)} may not need "${route.needs}" alone`)
  }
})

/** Returns the code of a refusal, or null if the caller was let in, whatever the result. */
async function refusalOf(
  url: string,
  route: AnyRoute,
  headers: Readonly<Record<string, string>>,
): Promise<string | null> {
  const { path, body } = requestsFor(route, operationOf(document, route))[0]!
  const hasBody = isMutation(route) && body !== undefined
  const response = await fetch(url + path, {
    method: route.method,
    redirect: 'manual',
    // No route takes this body, so that a caller who is let in changes nothing.
    ...(hasBody ? { body: '"nothing"' } : {}),
    headers: { ...headers, ...(hasBody ? { 'content-type': 'application/json' } : {}) },
  })
  const isProblem = response.headers.get('content-type') === 'application/problem+json'
  if (!isProblem) {
    await response.body?.cancel()
    return null
  }
  const { code, status } = (await response.json()) as { code: string; status: number }
  assert.ok(
    problemsOf(route)[status]?.includes(code),
    `${nameOf(route)} answered ${status} ${code}, which it does not document`,
  )
  return ['UNAUTHENTICATED', 'FORBIDDEN', 'PASSWORD_CHANGE_REQUIRED'].includes(code) ? code : null
}

function expected(needs: Needs, role: Role): string | null {
  if (needs === 'anybody') return null
  if (role === 'anonymous') return 'UNAUTHENTICATED'
  return role === 'VIEWER' && (needs === 'admin' || needs === 'basic-admin') ? 'FORBIDDEN' : null
}

async function columnOf(url: string, roles: Roles, role: Role): Promise<Readonly<Record<string, string | null>>> {
  const column: Record<string, string | null> = {}
  for (const route of allRoutes) {
    const endsSession = route.path.endsWith('/logout') && role !== 'anonymous'
    const headers = endsSession ? await roles.signIn(role) : roles.headers(role, route.needs)
    column[nameOf(route)] = await refusalOf(url, route, headers)
  }
  return column
}

test('every route lets in the callers that its rule names, and refuses the others', async t => {
  const { url } = await startBroker(t, roleSettings, { hasHttp: true })
  const roles = await signInRoles(url)
  for (const role of ['anonymous', 'VIEWER', 'ADMIN'] as const) {
    const rule = Object.fromEntries(allRoutes.map(route => [nameOf(route), expected(route.needs, role)]))
    assert.deepEqual(await columnOf(url, roles, role), rule, role)
  }
  // A session does not work on routes for HTTP Basic, and Basic does not work on the others.
  for (const route of allRoutes.filter(({ needs }) => needs !== 'anybody')) {
    const other = roles.headers('ADMIN', /^basic|scrape/.test(route.needs) ? 'admin' : 'basic-admin')
    assert.equal(await refusalOf(url, route, other), 'UNAUTHENTICATED', nameOf(route))
  }
})

test('with security off every route lets every caller in', async t => {
  const { url } = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true })
  for (const route of allRoutes) assert.equal(await refusalOf(url, route, {}), null, nameOf(route))
})

test('every change writes a line with the user, the address, the change and the result, and no secret', async t => {
  const { url, log } = await startBroker(t, roleSettings, { hasHttp: true })
  const roles = await signInRoles(url)
  const changes = allRoutes.filter(isAudited)
  const lines = () =>
    log()
      .split('\n')
      .filter(line => line.includes(' svc.audit '))
  for (const route of changes) {
    const { body: shape, audited } = route
    assert.ok(
      shape === undefined || audited !== undefined,
      `${nameOf(route)} does not say what of its body the audit line shows`,
    )
    const operation = operationOf(document, route)
    const schema = operation.requestBody?.content['application/json'].schema
    const members = Object.keys(schema?.properties ?? {}).filter(name => !audited?.includes(name))
    const body = schema && JSON.stringify(Object.fromEntries(members.map(name => [name, `marker-${name}`])))
    const headers = route.path.endsWith('/logout') ? await roles.signIn('ADMIN') : roles.headers('ADMIN', route.needs)
    const before = lines().length
    const response = await fetch(url + requestsFor(route, operation)[0]!.path, {
      method: route.method,
      ...(body === undefined ? {} : { body }),
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    })
    await response.body?.cancel()
    await eventually(`a line for ${nameOf(route)}`, () => lines().length > before)
    const line = lines()[before]!
    assert.ok(line.includes(route.verb), line)
    assert.match(
      line,
      new RegExp(
        `who=${route.needs === 'anybody' ? 'null' : 'admin'} sso=false from=127.0.0.1 status=${response.status} `,
      ),
    )
    assert.match(line, /code=\w+ requestId=[\w-]{16} what=/)
  }
  assert.doesNotMatch(log(), /marker-/)
  for (const secret of [ADMIN_PASSWORD, 'svc-admin-session=', 'Basic ']) assert.ok(!log().includes(secret), secret)
})

test('no level that is set while the broker runs prevents the line of a change', async t => {
  const { url, log } = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true })
  const setLevel = async (name: string, level: string | null) => {
    const headers = { 'content-type': 'application/json' }
    return await fetch(`${url}/api/v1/loggers/${name}`, { method: 'PUT', headers, body: JSON.stringify({ level }) })
  }
  assert.equal((await setLevel('root', 'OFF')).status, 200)
  for (const level of ['OFF', null]) {
    const refused = await setLevel('svc.audit', level)
    assert.deepEqual([refused.status, ((await refused.json()) as { code: string }).code], [400, 'INVALID_REQUEST'])
  }
  await fetch(`${url}/api/v1/topics/none`, { method: 'DELETE' })
  const lines = log().split('\n')
  const said = (line: string) => lines.filter(each => each.includes(`svc.audit  ${line}`)).length
  assert.deepEqual([said('change logger level'), said('delete topic')], [3, 1], log())
})
