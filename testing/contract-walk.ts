// Sends to every route the requests that testing/contract.ts makes for it, as ADMIN, as VIEWER and without signing
// in. It checks every answer against the declaration of the route: status, code and headers must be documented, the
// body must have the documented shape, and no answer may be an internal error.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { problemShape } from '../src/api/problem.ts'
import { describeRoutes, headersOf, problemsOf, takesBasic } from '../src/http/openapi.ts'
import { PROBLEM_TYPE } from '../src/http/problems.ts'
import { type AnyRoute, isMutation } from '../src/http/route.ts'
import { allRoutes } from '../src/http/routes/all.ts'
import * as errors from '../src/protocol/errors.ts'
import { drawnBy } from './at-length.ts'
import { type Asked, operationOf, type Role, requestsFor } from './contract.ts'
import { signInRoles } from './http-roles.ts'
import { seed } from './seed.ts'

const MOST_SHOWN = 300

const INSIDE =
  /\bat .*:\d+|\.ts\b|\.js\b|node_modules|\/home|\/work|svc:|redis|secret|fastify|FST_|zod|v?\d+\.\d+\.\d+/i

/**
 * Returns a word of the error that no error may contain: parts of stacks, files, keys of the store, its components,
 * versions. Null if the error contains no such word.
 */
export function insideOf({ requestId: _, ...said }: Readonly<Record<string, unknown>>): string | null {
  return INSIDE.exec(JSON.stringify(said))?.[0] ?? null
}

/**
 * Checks every route. `url` is a broker with `roleSettings`, `open` a broker with security off. Fails with every
 * answer that differs from the document. Routes with Basic hash a password for each request, so their unusual
 * requests go to the open broker. With `parts` it sends one of this many parts of the unusual requests of each
 * route, which the seed draws; all with KETCH_LONG=1.
 */
export async function checkContract(
  t: TestContext,
  { url, open, parts = 1 }: { url: string; open: string; parts?: number },
): Promise<void> {
  const document = describeRoutes(allRoutes)
  const roles = await signInRoles(url)
  /** The first request for each pair of operation and objection. */
  const found = new Map<string, string>()
  let sent = 0
  /** Operations that succeeded at least once. */
  const done = new Set<AnyRoute>()
  const send = async (
    at: string,
    role: Role,
    route: AnyRoute,
    asked: Asked,
    headers: Readonly<Record<string, string>>,
  ) => {
    sent++
    const { isGood, objection } = await ask(at, route, asked, headers)
    if (isGood) done.add(route)
    if (objection === null) return
    const key = `${route.method} ${route.path}: ${objection.what}`
    if (!found.has(key)) found.set(key, `${key}, for ${role}, ${asked.what}: ${objection.answer}`)
  }
  for (const route of [...allRoutes].sort(inOrder)) {
    // fetch resolves dots: a page whose last name is `..` would ask for the start page.
    const isOther = ({ path }: Asked) => new URL(path, url).pathname === '/' && route.path !== '/'
    const all = requestsFor(route, operationOf(document, route)).filter(asked => !isOther(asked))
    const requests = [...all.slice(0, 2), ...drawnBy(seed, parts, all.slice(2))]
    for (const role of ['anonymous', 'VIEWER', 'ADMIN'] as const) {
      const isWhole = isLetIn(route, role) && !takesBasic(route.needs)
      for (const asked of isWhole ? requests : requests.slice(0, 2)) {
        const endsSession = route.path.endsWith('/logout') && role !== 'anonymous'
        const headers = endsSession ? await roles.signIn(role) : roles.headers(role, route.needs)
        await send(url, role, route, asked, headers)
      }
    }
    if (takesBasic(route.needs)) for (const asked of requests) await send(open, 'anonymous', route, asked, {})
  }
  const never = allRoutes.filter(route => !done.has(route)).map(({ verb }) => verb)
  t.diagnostic(`${sent} requests to ${allRoutes.length} routes; only ever refused: ${never.join(', ')}`)
  assert.deepEqual([...found.values()], [])
}

const ORDER = ['POST', 'PUT', 'GET', 'DELETE']

/**
 * Resources are created before they are changed, read and removed: a topic is created before records are produced to
 * it.
 */
function inOrder(a: AnyRoute, b: AnyRoute): number {
  return ORDER.indexOf(a.method) - ORDER.indexOf(b.method) || a.path.length - b.path.length
}

/** Returns whether the role sends all requests of the route. For the other roles the first few requests are enough. */
function isLetIn({ needs }: AnyRoute, role: Role): boolean {
  if (needs === 'anybody') return role === 'anonymous'
  return role === 'ADMIN'
}

const KAFKA_CODES: ReadonlySet<string> = new Set(
  Object.values(errors).flatMap(each => (typeof each === 'object' && 'name' in each ? [each.name] : [])),
)

/** Headers that only some answers have. */
const SAID_HEADERS = ['Content-Disposition', 'ETag', 'Location', 'Retry-After', 'Set-Cookie', 'WWW-Authenticate']

interface Objection {
  readonly what: string
  readonly answer: string
}

async function ask(
  url: string,
  route: AnyRoute,
  { path, body }: Asked,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly isGood: boolean; readonly objection: Objection | null }> {
  const hasBody = isMutation(route) && body !== undefined
  const response = await fetch(url + path, {
    method: route.method,
    redirect: 'manual',
    ...(hasBody ? { body } : {}),
    headers: { ...headers, ...(hasBody ? { 'content-type': 'application/json' } : {}) },
  })
  const { status } = response
  const type = (response.headers.get('content-type') ?? '').split(';')[0]!
  const isGood = type !== PROBLEM_TYPE
  const stray = SAID_HEADERS.find(name => response.headers.has(name) && !headersOf(route)[status]?.includes(name))
  if (type === 'text/event-stream') {
    await response.body?.cancel()
    const isDocumented = Object.hasOwn(route.answers, status)
    return { isGood, objection: isDocumented ? null : { what: `undocumented ${status}`, answer: type } }
  }
  const answer = await response.text()
  const what =
    (isGood ? objectionToGood(route, status, type, answer) : objectionToProblem(route, status, answer)) ??
    (stray === undefined ? null : `undocumented ${stray} of ${status}`)
  return { isGood, objection: what === null ? null : { what, answer: answer.slice(0, MOST_SHOWN) } }
}

function objectionToProblem(route: AnyRoute, status: number, answer: string): string | null {
  const parsed = problemShape.safeParse(JSON.parse(answer))
  if (status === 500) return '500'
  if (!parsed.success) return 'not a problem'
  const { code } = parsed.data
  const codes = problemsOf(route)[status]
  if (codes === undefined) return `undocumented ${status} ${code}`
  const inside = insideOf(parsed.data)
  if (inside !== null) return `names an internal word: ${inside}`
  if (parsed.data.status !== status) return `status ${status} says ${parsed.data.status}`
  // Refusals of the lower rooms keep their Kafka error names.
  return codes.includes(code) || KAFKA_CODES.has(code) ? null : `undocumented code ${code} of ${status}`
}

function objectionToGood(route: AnyRoute, status: number, type: string, answer: string): string | null {
  const shape = route.answers[status]
  if (shape === undefined) return `undocumented ${status}`
  if (shape === null) return answer === '' ? null : 'a body, but the document has none'
  const wanted = [route.contentType ?? 'application/json'].flat().map(each => each.split(';')[0]!)
  if (!wanted.includes(type)) return `${type} in place of ${wanted.join(' or ')}`
  const parsed = shape.safeParse(type === 'application/json' ? JSON.parse(answer) : answer)
  return parsed.success ? null : `another shape: ${parsed.error.message}`
}
