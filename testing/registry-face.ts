// Routes with which tests ask the face of the schema registry about itself: they answer what they were asked, and
// change nothing. And a client that signs in with HTTP Basic, and users of every kind for it.

import assert from 'node:assert/strict'
import { z } from 'zod'
import { flag, numberParameter, numberSegment, registryRoute } from '../src/http/faces/schema-registry-route.ts'
import { metadataRoutes } from '../src/http/faces/schema-registry-routes/metadata.ts'
import { type AnyRoute, reply } from '../src/http/route.ts'
import { type AdminClient, signInAt } from './admin-client.ts'
import { ADMIN_PASSWORD } from './http-roles.ts'

/** The subjects that the list has. */
export const SUBJECTS = ['logs-key', 'logs-value', 'orders-key', 'orders-value', 'com.acme.Order', 'payments']

const subject = z.object({ subject: z.string() })
const doc = 'An echo.'

export const echoRoutes: readonly AnyRoute[] = [
  ...metadataRoutes,
  registryRoute({
    method: 'GET',
    path: '/subjects',
    needs: 'read',
    verb: 'echo list',
    doc,
    query: z.object({ offset: numberParameter(0), deleted: flag }),
    answers: { 200: z.array(z.string()) },
    answer: ({ caller, query }) => reply(200, SUBJECTS.filter(each => caller.rights.mayRead(each)).slice(query.offset)),
  }),
  registryRoute({
    method: 'GET',
    path: '/subjects/:subject/versions',
    needs: 'read',
    verb: 'echo subject',
    doc,
    params: subject,
    answers: { 200: z.array(z.string()) },
    answer: ({ params }) => reply(200, [params.subject]),
  }),
  registryRoute({
    method: 'POST',
    path: '/subjects/:subject',
    needs: 'lookup',
    verb: 'echo lookup',
    doc,
    params: subject,
    query: z.object({ normalize: flag }),
    body: z.object({ schema: z.string() }),
    answers: { 200: z.object({ subject: z.string(), schema: z.string(), normalize: z.boolean() }) },
    answer: ({ params, body, query }) => reply(200, { ...params, schema: body.schema, ...query }),
  }),
  registryRoute({
    method: 'POST',
    path: '/subjects/:subject/versions',
    needs: 'register',
    verb: 'echo registration',
    doc,
    params: subject,
    body: z.object({ schema: z.string(), schemaType: z.string().optional() }),
    audited: ['schemaType'],
    answers: { 200: z.object({ id: z.int(), wide: z.boolean(), who: z.string() }) },
    answer: ({ isWide, caller }) => reply(200, { id: 1, wide: isWide, who: caller.username }),
  }),
  registryRoute({
    method: 'DELETE',
    path: '/subjects/:subject',
    needs: 'administer',
    verb: 'echo deletion',
    doc,
    params: subject,
    query: z.object({ permanent: flag }),
    answers: { 200: z.array(z.int()) },
    answer: ({ query }) => reply(200, query.permanent ? [] : [1, 2]),
  }),
  registryRoute({
    method: 'DELETE',
    path: '/subjects/:subject/versions/:version',
    needs: 'administer',
    verb: 'echo deletion of a version',
    doc,
    params: z.object({ subject: z.string(), version: numberSegment }),
    answers: { 200: z.int() },
    answer: ({ params }) => reply(200, params.version),
  }),
  registryRoute({
    method: 'PUT',
    path: '/config/:subject',
    needs: 'register',
    verb: 'echo level',
    doc,
    params: subject,
    body: z.object({ compatibility: z.string() }),
    audited: ['compatibility'],
    answers: { 200: z.object({ compatibility: z.string() }) },
    answer({ params, body, caller }) {
      const refused = body.compatibility === 'BACKWARD' ? null : caller.rights.refusalOf('administer', params.subject)
      return refused ?? reply(200, body)
    },
  }),
  registryRoute({
    method: 'PUT',
    path: '/config',
    needs: 'administer',
    verb: 'echo global level',
    doc,
    body: z.object({ compatibility: z.string() }),
    audited: ['compatibility'],
    answers: { 200: z.object({ compatibility: z.string() }) },
    answer: ({ body }) => reply(200, body),
  }),
  registryRoute({
    method: 'GET',
    path: '/schemas/guids/:guid',
    needs: 'read',
    verb: 'echo refusal',
    doc,
    params: z.object({ guid: z.string() }),
    answers: { 200: z.null() },
    problems: { 404: 'SCHEMA_NOT_FOUND' },
    answer: ({ params }) => ({ kind: 'refused', code: 40403, message: `Schema ${params.guid} not found` }),
  }),
  registryRoute({
    method: 'GET',
    path: '/schemas/ids/:id',
    needs: 'read',
    verb: 'echo id',
    doc,
    params: z.object({ id: numberSegment }),
    answers: { 200: z.object({ id: z.int() }) },
    answer({ params }) {
      if (params.id === 13) throw new Error('at /home/ketch/src/registry.ts:13')
      return reply(200, params)
    },
  }),
]

export interface RegistryAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON; null if it is empty. */
  // biome-ignore lint/suspicious/noExplicitAny: every member would have to be asserted before it could be asserted
  readonly body: any
}

export interface RegistryAsk {
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** The name and the password of HTTP Basic; none by default. */
  readonly as?: readonly [name: string, password: string] | undefined
}

export function basic([name, password]: readonly [string, string]): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`
}

/** Asks below a base URL. A body that is no text is sent as JSON, with the registry's type. */
export async function askRegistry(
  url: string,
  path: string,
  { method = 'GET', body, headers = {}, as }: RegistryAsk = {},
): Promise<RegistryAnswer> {
  const answer = await fetch(url + path, {
    method,
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/vnd.schemaregistry.v1+json' }),
      ...(as === undefined ? {} : { authorization: basic(as) }),
      ...headers,
    },
  })
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, text, body: text === '' ? null : JSON.parse(text) }
}

/** Callers of every kind, by what they may do. The passwords of clients are long enough for the admin API. */
export const CALLERS = Object.freeze({
  unsigned: undefined,
  VIEWER: ['vic', 'only looking around'],
  ADMIN: ['admin', ADMIN_PASSWORD],
  /** May write to the topic `orders` and to `com.acme.Order`, and read topics that begin with `log`. */
  client: ['ada', 'the password of ada'],
  /** Has no rule. */
  stranger: ['eve', 'the password of eve'],
  /** In the list of super-users. */
  superUser: ['root', 'the password of root'],
} as const satisfies Readonly<Record<string, readonly [string, string] | undefined>>)

export type CallerName = keyof typeof CALLERS

/** Makes the callers at a broker whose ADMIN has ADMIN_PASSWORD. Resolves with the ADMIN's client. */
export async function makeCallers(url: string): Promise<AdminClient> {
  const admin = await signInAt(url, ...CALLERS.ADMIN)
  const make = async (path: string, body: object) => {
    const { status, body: said } = await admin.ask('POST', `/api/v1/${path}`, body)
    assert.equal(status, 201, JSON.stringify(said))
  }
  const [username, password] = CALLERS.VIEWER
  await make('users', { username, password, role: 'VIEWER' })
  await make('credentials', { username: 'ada', password: CALLERS.client[1] })
  await make('credentials', { username: 'eve', password: CALLERS.stranger[1], iterations: 4_096 })
  await make('credentials', { username: 'root', password: CALLERS.superUser[1], mechanism: 'PLAIN' })
  for (const [resource, operation] of [
    ['orders', 'WRITE'],
    ['com.acme.Order', 'WRITE'],
    ['log*', 'READ'],
  ])
    await make('acls', { principal: 'ada', resourceType: 'TOPIC', resource, operation })
  return admin
}
