// Tests the table of the registry's routes: each one answers as it declares, and its right fits what it does. A new
// route is tested automatically.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startBroker } from '../../../testing/broker.ts'
import { ADMIN_PASSWORD } from '../../../testing/http-roles.ts'
import { askRegistry, CALLERS, echoRoutes, makeCallers } from '../../../testing/registry-face.ts'
import { checkRegistryContract, servedBelow } from '../../../testing/registry-walk.ts'
import type { Values } from '../../settings/settings.ts'
import { describeRoutes } from '../openapi.ts'
import { type AnyRoute, isAudited, isMutation } from '../route.ts'
import { registryRoutes } from './schema-registry-routes/all.ts'

const nameOf = ({ method, path }: AnyRoute) => `${method} ${path}`

async function start(t: TestContext, settings: Partial<Values>, routes?: readonly AnyRoute[]): Promise<string> {
  const more = routes === undefined ? {} : { registryRoutes: routes }
  const http = { hashParameters: { memoryKiB: 512, passes: 1, lanes: 1 }, ...more }
  const { url } = await startBroker(t, { 'admin.password': ADMIN_PASSWORD, ...settings }, { http })
  return url
}

async function startBoth(t: TestContext, routes?: readonly AnyRoute[]) {
  const url = await start(t, { 'schema-registry.authentication': 'basic' }, routes)
  await makeCallers(url)
  return { url, open: await start(t, { 'schema-registry.authentication': 'none' }, routes) }
}

test('every route of the registry answers as it declares, whatever is sent to it', async t => {
  await checkRegistryContract(t, await startBoth(t), registryRoutes)
})

test('routes of every right and shape answer as they declare, whatever is sent to them', async t => {
  // The one that makes a mistake makes it for one id, which no request of the walk has.
  await checkRegistryContract(t, await startBoth(t, echoRoutes), echoRoutes)
})

test('every route has a right that fits its method, a path in the table of the face, and a verb of its own', () => {
  for (const routes of [registryRoutes, echoRoutes]) {
    describeRoutes(servedBelow(routes))
    for (const route of routes) {
      const rules: Readonly<Record<string, boolean>> = {
        'registry-read': route.method === 'GET',
        'registry-lookup': route.method === 'POST' && route.onlyAsks === true,
        // A level that is in force may be repeated by a caller who registers.
        'registry-register': ['POST', 'PUT'].includes(route.method),
        'registry-administer': ['PUT', 'DELETE'].includes(route.method),
      }
      assert.ok(rules[route.needs], `${nameOf(route)} needs "${route.needs}"`)
      assert.equal(isAudited(route), isMutation(route) && route.needs !== 'registry-lookup', nameOf(route))
      if (isAudited(route) && route.body !== undefined)
        assert.ok(route.audited !== undefined, `${nameOf(route)} does not say what of its body the audit line shows`)
      assert.ok(route.path.startsWith('/') && (route.path === '/' || !route.path.endsWith('/')), route.path)
    }
  }
})

test('no route answers without a password, a VIEWER changes nothing, and an ADMIN is let in everywhere', async t => {
  for (const routes of [registryRoutes, echoRoutes]) {
    const url = await start(t, { 'schema-registry.authentication': 'basic' }, routes)
    await makeCallers(url)
    for (const route of servedBelow(routes)) {
      const path = route.path.replaceAll(/:\w+/g, '1')
      // No route takes this body, so that a caller who is let in changes nothing.
      const body = isMutation(route) ? { body: '"nothing"' } : {}
      const status = async (as: keyof typeof CALLERS) =>
        (await askRegistry(url, path, { method: route.method, ...body, as: CALLERS[as] })).status
      assert.equal(await status('unsigned'), 401, nameOf(route))
      const mayAsk = route.needs === 'registry-read' || route.needs === 'registry-lookup'
      assert.equal((await status('VIEWER')) === 403, !mayAsk, nameOf(route))
      assert.ok(![401, 403].includes(await status('ADMIN')), nameOf(route))
    }
  }
})

test('the routes are those of the REST API that clients know', () => {
  const endpoints = registryRoutes.map(
    ({ method, path, needs }) => `${method} ${path} ${needs.slice('registry-'.length)}`,
  )
  assert.deepEqual(endpoints, ENDPOINTS)
})

/** Each with the right that it needs. */
const ENDPOINTS = [
  'GET / read',
  'POST / lookup',
  'GET /schemas/types read',
  'GET /contexts read',
  'GET /v1/metadata/id read',
  'GET /v1/metadata/version read',
  'GET /associations/resources/:namespace/:name read',
  'GET /associations/subjects/:subject read',
  'GET /schemas read',
  'GET /schemas/ids/:id read',
  'GET /schemas/ids/:id/schema read',
  'GET /schemas/ids/:id/subjects read',
  'GET /schemas/ids/:id/versions read',
  'GET /schemas/guids/:guid read',
  'GET /schemas/guids/:guid/ids read',
  'GET /subjects read',
  'POST /subjects/:subject lookup',
  'DELETE /subjects/:subject administer',
  'GET /subjects/:subject/metadata read',
  'GET /subjects/:subject/versions read',
  'POST /subjects/:subject/versions register',
  'GET /subjects/:subject/versions/:version read',
  'GET /subjects/:subject/versions/:version/schema read',
  'GET /subjects/:subject/versions/:version/referencedby read',
  'DELETE /subjects/:subject/versions/:version administer',
  'POST /compatibility/subjects/:subject/versions lookup',
  'POST /compatibility/subjects/:subject/versions/:version lookup',
  'GET /config read',
  'PUT /config administer',
  'DELETE /config administer',
  'GET /config/:subject read',
  'PUT /config/:subject register',
  'DELETE /config/:subject administer',
  'GET /mode read',
  'PUT /mode administer',
  'DELETE /mode administer',
  'GET /mode/:subject read',
  'PUT /mode/:subject administer',
  'DELETE /mode/:subject administer',
]
