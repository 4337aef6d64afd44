// Sends to every route of the schema registry the requests that testing/contract.ts makes for it: to a broker that asks
// for passwords as ADMIN, as VIEWER and without one, and the unusual ones to an open broker. Each answer must be as the
// route declares: status, error code and shape are documented, the form is Confluent's, and no answer is an internal
// error.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { REGISTRY_PATH } from '../src/http/faces/schema-registry.ts'
import { errorCodeOf } from '../src/http/faces/schema-registry-errors.ts'
import { REGISTRY_TYPES } from '../src/http/faces/schema-registry-media.ts'
import { describeRoutes, problemsOf } from '../src/http/openapi.ts'
import { type AnyRoute, isMutation } from '../src/http/route.ts'
import { type Asked, operationOf, requestsFor } from './contract.ts'
import { insideOf } from './contract-walk.ts'
import { basic, CALLERS } from './registry-face.ts'

const ROLES = ['unsigned', 'VIEWER', 'ADMIN'] as const
const MOST_SHOWN = 300

interface Brokers {
  /** A broker with `schema-registry.authentication=basic` and the callers of registry-face.ts. */
  readonly url: string
  /** A broker that asks no caller. */
  readonly open: string
}

/** Returns the routes as the HTTP port serves them. */
export function servedBelow(routes: readonly AnyRoute[]): readonly AnyRoute[] {
  return routes.map(route => ({ ...route, path: route.path === '/' ? REGISTRY_PATH : `${REGISTRY_PATH}${route.path}` }))
}

/** Fails with every answer that differs from the declaration of its route. */
export async function checkRegistryContract(t: TestContext, { url, open }: Brokers, routes: readonly AnyRoute[]) {
  const served = servedBelow(routes)
  const document = describeRoutes(served)
  /** The first request for each pair of operation and objection. */
  const found = new Map<string, string>()
  let sent = 0
  const send = async (at: string, route: AnyRoute, asked: Asked, role: (typeof ROLES)[number]) => {
    sent++
    const objection = await ask(at, route, asked, CALLERS[role])
    if (objection === null) return
    const key = `${route.method} ${route.path}: ${objection.what}`
    if (!found.has(key)) found.set(key, `${key}, for ${role}, ${asked.what}: ${objection.answer}`)
  }
  for (const route of served) {
    // fetch resolves dots: a subject whose name is `..` would ask for another path.
    const isItself = ({ path }: Asked) => new URL(path, url).pathname === path.split('?', 1)[0]
    const requests = requestsFor(route, operationOf(document, route)).filter(isItself)
    for (const role of ROLES) for (const asked of requests.slice(0, 2)) await send(url, route, asked, role)
    for (const asked of requests) await send(open, route, asked, 'unsigned')
  }
  t.diagnostic(`${sent} requests to ${served.length} routes`)
  assert.deepEqual([...found.values()], [])
}

interface Objection {
  readonly what: string
  readonly answer: string
}

async function ask(
  url: string,
  route: AnyRoute,
  { path, body }: Asked,
  as: readonly [string, string] | undefined,
): Promise<Objection | null> {
  const hasBody = isMutation(route) && body !== undefined
  const response = await fetch(url + path, {
    method: route.method,
    ...(hasBody ? { body } : {}),
    headers: {
      ...(as === undefined ? {} : { authorization: basic(as) }),
      ...(hasBody ? { 'content-type': REGISTRY_TYPES[0] } : {}),
    },
  })
  const answer = await response.text()
  const what =
    objectionToHeaders(response.headers) ??
    (response.ok ? objectionToGood(route, response.status, answer) : objectionToError(route, response.status, answer))
  return what === null ? null : { what, answer: `${response.status} ${answer.slice(0, MOST_SHOWN)}` }
}

function objectionToHeaders(headers: Headers): string | null {
  const type = headers.get('content-type')
  if (type !== REGISTRY_TYPES[0]) return `the type is ${type}`
  const cache = headers.get('cache-control')
  return cache === 'no-cache, no-store, must-revalidate' ? null : `Cache-Control is ${cache}`
}

function objectionToGood(route: AnyRoute, status: number, answer: string): string | null {
  const shape = route.answers[status]
  if (shape === undefined || shape === null) return `undocumented ${status}`
  // A bare text is no JSON, and its route says so.
  const parsed = shape.safeParse(route.contentType === undefined ? JSON.parse(answer) : answer)
  return parsed.success ? null : `another shape: ${parsed.error.message}`
}

function objectionToError(route: AnyRoute, status: number, answer: string): string | null {
  const said = JSON.parse(answer) as Readonly<Record<string, unknown>>
  if (Object.keys(said).join() !== 'error_code,message' || typeof said.message !== 'string')
    return 'another form of error'
  if (status === 500) return 'an internal error'
  const codes = (problemsOf(route)[status] ?? []).map(code => errorCodeOf({ code, status }))
  if (!codes.includes(said.error_code as number)) return `undocumented ${status} with ${said.error_code}`
  const inside = insideOf(said)
  return inside === null ? null : `names an internal word: ${inside}`
}
