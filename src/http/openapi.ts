// Makes the OpenAPI 3.1 document from the table of routes. For every operation it names the callers, the input and
// every status of the answer. The contract test (contract.longer.test.ts) and schemathesis (e2e/http) check the
// server against it.

import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { problemShape } from '../api/problem.ts'
import { PLACE_LIMITS } from './places.ts'
import { PROBLEM_TYPE } from './problems.ts'
import { type AnyRoute, isMutation, type Needs } from './route.ts'

type Json = Readonly<Record<string, unknown>>

/**
 * Returns whether callers use HTTP Basic in place of the session, as the specification requires for the actuator and
 * the OpenAPI document, and as clients of the schema registry do.
 */
export function takesBasic(needs: Needs): boolean {
  return needs === 'basic-viewer' || needs === 'basic-admin' || needs === 'scrape' || isRegistry(needs)
}

function isRegistry(needs: Needs): boolean {
  return needs.startsWith('registry-')
}

/** Returns the codes of problems that the route may answer, by status: its own, and those that follow from its kind. */
export function problemsOf(route: AnyRoute): Readonly<Record<number, readonly string[]>> {
  const isOpen = route.needs === 'anybody'
  const isBasic = takesBasic(route.needs)
  const ofRegistry = isRegistry(route.needs)
  const isAdmins = route.needs === 'admin' || route.needs === 'basic-admin'
  const hasBody = isMutation(route)
  const follows: readonly (readonly [status: number, code: string, applies: boolean])[] = [
    [400, 'INVALID_REQUEST', true],
    [401, 'UNAUTHENTICATED', !isOpen],
    [401, 'INVALID_CREDENTIALS', isBasic],
    [403, 'FORBIDDEN', isAdmins || ofRegistry],
    [403, 'PASSWORD_CHANGE_REQUIRED', !isOpen],
    [403, 'CROSS_SITE', hasBody || ofRegistry],
    [404, 'NOT_FOUND', route.path.includes('/:') || (ofRegistry && route.query !== undefined)],
    [406, 'NOT_ACCEPTABLE', ofRegistry],
    [413, 'PAYLOAD_TOO_LARGE', hasBody],
    [415, 'UNSUPPORTED_MEDIA_TYPE', hasBody],
    [422, 'INVALID_BODY', ofRegistry && route.body !== undefined],
    [429, 'TOO_MANY_REQUESTS', isBasic],
    [431, 'HEADERS_TOO_LARGE', true],
    [500, 'INTERNAL_ERROR', true],
    [503, 'BUSY', isBasic || route.isProbe !== true],
    [503, 'SHUTTING_DOWN', true],
    [503, 'STORE_UNAVAILABLE', true],
  ]
  const own = Object.entries(route.problems ?? {}).flatMap(([status, codes]) =>
    codes.split(', ').map(code => [Number(status), code] as const),
  )
  const applying = follows.filter(([, , applies]) => applies).map(([status, code]) => [status, code] as const)
  const codes: Record<number, string[]> = {}
  for (const [status, code] of [...own, ...applying]) codes[status] = [...new Set([...(codes[status] ?? []), code])]
  return codes
}

/**
 * Returns the names of headers that answers of the route may have, by status: its own, and those that follow from its
 * kind.
 */
export function headersOf(route: AnyRoute): Readonly<Record<number, readonly string[]>> {
  const codes = problemsOf(route)
  return {
    ...(takesBasic(route.needs) ? { 401: ['WWW-Authenticate'] } : {}),
    ...(codes[429] === undefined ? {} : { 429: ['Retry-After'] }),
    ...(codes[503]!.includes('BUSY') ? { 503: ['Retry-After'] } : {}),
    ...route.headers,
  }
}

/** Returns the operation's name for programs: the verb in kebab case. */
export function operationIdOf({ verb }: Pick<AnyRoute, 'verb'>): string {
  return verb.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
}

/**
 * Returns the shape so that it refuses members that it does not name. Query and body do that like the settings:
 * nothing is guessed or ignored. A loose shape stays loose.
 */
export function strictly(shape: z.ZodType): z.ZodType {
  if (shape instanceof z.ZodOptional) return strictly(shape.unwrap() as z.ZodType).optional()
  return shape instanceof z.ZodObject && shape.def.catchall === undefined ? shape.strict() : shape
}

/** Returns the document. Throws if two operations, or two shapes, have the same name. */
export function describeRoutes(routes: readonly AnyRoute[]): Json {
  const components = new Map<string, Json>()
  const paths: Record<string, Record<string, Json>> = {}
  const names = new Map<string, AnyRoute>()
  for (const route of routes) {
    const operationId = operationIdOf(route)
    const other = names.get(operationId)
    if (other !== undefined)
      throw new Error(`${route.method} ${route.path} and ${other.method} ${other.path} are both "${route.verb}"`)
    names.set(operationId, route)
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describe(route, components) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Ketch', version: 'v1', description: ABOUT },
    servers: [{ url: '/' }],
    tags: [...new Set(routes.map(({ tag }) => tag))].sort().map(name => ({ name })),
    paths,
    components: {
      schemas: Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: {
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'svc-admin-session',
          description: 'The cookie that signing in sets.',
        },
        basic: { type: 'http', scheme: 'basic', description: 'The same users, for the actuator and this document.' },
      },
    },
  }
}

const { maxConnections, maxConnectionsOfAddress, maxBusy, maxBusyOfAddress } = PLACE_LIMITS

const ABOUT = [
  'The admin API of a Ketch broker.',
  'Every error is a problem of RFC 9457 with a stable `code`.',
  'Integers that may exceed 2^53 are strings, except the `timestamp` of a record, which is then the nearest number.',
  'A time in a member whose name ends in `At` is RFC 3339 text in UTC with milliseconds; in a `timestamp` it is milliseconds since 1970. A duration in a member `…Ms` is in milliseconds.',
  'A change (POST, PUT, DELETE) is taken from pages of this server and from programs; with a body it needs `Content-Type: application/json`.',
  'HEAD is answered as GET is, without the body. A path answers 405 with `Allow` to other methods that it does not list, OPTIONS among them.',
  'A request that does not arrive in time is answered 408.',
  `If more than ${maxConnections} connections, or ${maxConnectionsOfAddress} from one address, are open, connections on which no request is complete are closed, the longest idle first.`,
  `While ${maxBusy} connections, or ${maxBusyOfAddress} from one address, wait for answers (a stream is one), other requests are answered 503 \`BUSY\`, except requests for health. The limits for one address do not apply to a trusted proxy.`,
  'With `svc.admin.security-enabled=false` every client may call everything.',
].join(' ')

function describe(route: AnyRoute, components: Map<string, Json>): Json {
  const { verb, doc, tag, needs, params, query, body, answers, contentType = 'application/json' } = route
  const good = Object.entries(answers).map(
    ([status, shape]): Response => [
      status,
      {
        description: Number(status) < 300 ? 'As asked.' : 'As the description says.',
        ...(shape === null
          ? {}
          : {
              content: Object.fromEntries(
                [contentType].flat().map(type => [type, { schema: outputSchema(shape, components) }]),
              ),
            }),
      },
    ],
  )
  const problem = { [PROBLEM_TYPE]: { schema: outputSchema(problemShape, components) } }
  const bad = Object.entries(problemsOf(route)).map(
    ([status, codes]): Response => [
      status,
      {
        description: codes.map(code => `\`${code}\``).join(', '),
        content: problem,
      },
    ],
  )
  return {
    operationId: operationIdOf(route),
    summary: `${verb[0]!.toUpperCase()}${verb.slice(1)}`,
    description: doc,
    tags: [tag],
    security:
      needs === 'anybody'
        ? []
        : needs === 'scrape'
          ? [{ basic: [] }, {}]
          : [takesBasic(needs) ? { basic: [] } : { session: [] }],
    'x-needs': needs,
    parameters: [
      ...parametersOf('path', params, route.path),
      ...parametersOf('query', query, route.path),
      ...(Object.hasOwn(answers, 304) ? [IF_NONE_MATCH] : []),
    ],
    ...(body === undefined ? {} : { requestBody: bodyOf(body) }),
    // A status may be an answer and a problem, such as 503 with a health tree. Then it has both content types.
    responses: withHeaders(merged([...good, ...bad]), headersOf(route)),
  }
}

type Response = readonly [status: string, response: Json]

function merged(responses: readonly Response[]): Readonly<Record<string, Json>> {
  const all: Record<string, Json> = {}
  for (const [status, response] of responses) {
    const before = all[status]
    all[status] =
      before === undefined
        ? response
        : {
            ...response,
            description: `${before.description} Or ${response.description}.`,
            content: { ...(before.content as Json), ...(response.content as Json) },
          }
  }
  return all
}

function withHeaders(responses: Readonly<Record<string, Json>>, headers: Readonly<Record<string, readonly string[]>>) {
  const named = (names: readonly string[]) =>
    Object.fromEntries(names.map(name => [name, { schema: { type: name === 'Retry-After' ? 'integer' : 'string' } }]))
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => {
      const names = headers[status]
      return [status, names === undefined ? response : { ...response, headers: named(names) }]
    }),
  )
}

/** The header of routes that may answer 304. */
const IF_NONE_MATCH = Object.freeze({
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description: 'The `ETag` of an answer that the client has: 304 if the answer would be the same.',
  schema: { type: 'string' },
})

function bodyOf(shape: z.ZodType): Json {
  return {
    required: !shape.safeParse(undefined).success,
    content: { 'application/json': { schema: inputSchema(strictly(shape)) } },
  }
}

function parametersOf(place: 'path' | 'query', shape: z.ZodType | undefined, path: string): readonly Json[] {
  const { properties = {}, required = [] } = (shape === undefined ? {} : inputSchema(shape)) as {
    properties?: Record<string, Json>
    required?: readonly string[]
  }
  const names = place === 'query' ? Object.keys(properties) : [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!)
  return names.map(name => {
    const { description, ...schema } = properties[name] ?? { type: 'string' }
    return {
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: place === 'path' ? { minLength: 1, ...schema } : schema,
    }
  })
}

/** Returns the schema of an answer. Shapes with an id become components with that name. */
function outputSchema(shape: z.ZodType, components: Map<string, Json>): Json {
  // In an array, the shape itself becomes a reference too if it has an id.
  const { items, $defs = {} } = z.toJSONSchema(z.array(shape), { io: 'output', unrepresentable: 'any' }) as {
    items: Json
    $defs?: Record<string, Json>
  }
  for (const [id, { id: _, ...schema }] of Object.entries($defs)) {
    const component = asComponents(schema)
    const other = components.get(id)
    if (other !== undefined && !isDeepStrictEqual(other, component)) throw new Error(`two shapes are called ${id}`)
    components.set(id, component)
  }
  return asComponents(items)
}

function asComponents(schema: Json): Json {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'))
}

/**
 * Returns the schema of a request, without components: requests differ from answers in defaults and in optional
 * members.
 */
function inputSchema(shape: z.ZodType): Json {
  const { $schema, ...schema } = z.toJSONSchema(shape, {
    io: 'input',
    unrepresentable: 'any',
    metadata: z.registry(),
    override({ zodSchema, jsonSchema }) {
      const { description, examples } = z.globalRegistry.get(zodSchema) ?? {}
      if (description !== undefined) jsonSchema.description = description
      if (examples !== undefined) jsonSchema.examples = examples as []
      // Zod leaves the default out if the text of a query is converted to a number before it is checked.
      if (zodSchema instanceof z.ZodDefault) jsonSchema.default ??= zodSchema.def.defaultValue
    },
  })
  return schema
}

/**
 * Returns a model of a good answer for the table of the console (scripts/docs.ts), as console/api/likeness.ts reads
 * it. It has the kind of each member; inside of the members only lists, objects and texts that are always there,
 * because the table is loaded before every page. Null if no answer is JSON.
 */
export function modelOfAnswer({ answers }: Pick<AnyRoute, 'answers'>): unknown {
  const shape = Object.values(answers).find(each => each instanceof z.ZodObject)
  if (shape === undefined) return null
  return modelOf(z.toJSONSchema(shape, { io: 'output', unrepresentable: 'any', metadata: z.registry() }), true)
}

type Schema = z.core.JSONSchema.BaseSchema

/** Returns the schema without null, and whether it has null. */
function withoutNull(schema: Schema): readonly [Schema, boolean] {
  const { type, anyOf } = schema
  if (Array.isArray(type) && type.length === 2 && type[1] === 'null') return [{ ...schema, type: type[0]! }, true]
  if (anyOf?.length === 2 && anyOf[1]!.type === 'null') return [anyOf[0]!, true]
  return [schema, false]
}

function modelOf(
  { type, items, properties = {}, required = [], additionalProperties }: Schema,
  isTop = false,
): unknown {
  if (type === 'string') return ''
  if (type === 'number' || type === 'integer') return 0
  if (type === 'boolean') return false
  if (type === 'array') return [modelOf(items as Schema)]
  if (type !== 'object') return null
  if (typeof additionalProperties === 'object') return { '*': modelOf(additionalProperties as Schema) }
  const members = Object.entries(properties as Record<string, Schema>).map(([name, member]): [string, unknown] => {
    const [present, isNullable] = withoutNull(member)
    return [required.includes(name) && !isNullable ? name : `${name}?`, modelOf(present)]
  })
  return Object.fromEntries(
    members.filter(
      ([name, model]) =>
        isTop || (model === '' && !name.endsWith('?')) || (typeof model === 'object' && model !== null),
    ),
  )
}
