import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { describeRoutes, modelOfAnswer } from './openapi.ts'
import { allRoutes } from './routes/all.ts'

test('a body refuses members that its shape does not name, at any depth', () => {
  const loose: string[] = []
  const walk = (schema: unknown, at: string): void => {
    if (typeof schema !== 'object' || schema === null) return
    const { properties, additionalProperties } = schema as Readonly<Record<string, unknown>>
    // A map takes any name, and names the shape of its values.
    if (properties !== undefined && additionalProperties !== false) loose.push(at)
    for (const [name, value] of Object.entries(schema)) walk(value, `${at}.${name}`)
  }
  const { paths } = describeRoutes(allRoutes) as { paths: Record<string, Record<string, { requestBody?: unknown }>> }
  for (const [path, operations] of Object.entries(paths))
    for (const [method, { requestBody }] of Object.entries(operations)) walk(requestBody, `${method} ${path}`)
  assert.deepEqual(loose, [])
})

/** Returns every member of a request's or an answer's body that has no members itself. */
function leavesOf(document: unknown): readonly (readonly [name: string, schema: string])[] {
  const leaves: (readonly [string, string])[] = []
  const walk = (schema: unknown): void => {
    if (typeof schema !== 'object' || schema === null) return
    const { properties = {} } = schema as { properties?: Readonly<Record<string, unknown>> }
    for (const [name, member] of Object.entries(properties)) {
      const text = JSON.stringify(member)
      if (!/"(properties|items|\$ref)":/.test(text)) leaves.push([name, text])
    }
    for (const value of Object.values(schema)) walk(value)
  }
  walk(document)
  return leaves
}

test('a time is RFC 3339 text in a member …At, and a number in one that is …Ms or a timestamp', () => {
  const expectedOf = (name: string) => {
    if (name.endsWith('At')) return 'time'
    return /Ms$|^timestamp$|Timestamp$/.test(name) ? 'number' : null
  }
  const kindOf = (schema: string) => {
    if (!schema.includes('"string"')) return 'number'
    const [, pattern = '"$."'] = /"pattern":("(?:[^"\\]|\\.)*")/.exec(schema) ?? []
    const takes = (text: string) => new RegExp(JSON.parse(pattern)).test(text)
    const others = ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.678901Z', '2026-01-02T03:04:05.678+01:00']
    return takes('2026-01-02T03:04:05.678Z') && !others.some(takes) ? 'time' : 'text'
  }
  const leaves = leavesOf(describeRoutes(allRoutes))
  const strays = leaves.filter(([name, schema]) => {
    const expected = expectedOf(name)
    return expected === null ? /"date-time"|since 1970/.test(schema) : kindOf(schema) !== expected
  })
  // The exceptions: Spring's name for a time, and a long of Kafka, which may pass 2^53.
  assert.deepEqual([...new Set(strays.map(([name]) => name))].sort(), ['retentionMs', 'time'])
  const names = new Set(leaves.map(([name]) => name))
  for (const name of ['createdAt', 'lastWriteAt', 'tookMs', 'timestamp']) assert.ok(names.has(name), name)
})

test('the document names the defaults of a query', () => {
  const { paths } = describeRoutes(allRoutes) as {
    paths: Record<string, { get: { parameters: { name: string; schema: { default?: unknown } }[] } }>
  }
  const defaults = paths['/api/v1/metrics/topics']!.get.parameters.map(({ name, schema }) => [name, schema.default])
  assert.deepEqual(defaults.slice(0, 2), [
    ['offset', 0],
    ['limit', 100],
  ])
})

test('the document says which headers an answer may have beside those of every answer', () => {
  const { paths } = describeRoutes(allRoutes) as {
    paths: Record<string, Record<string, { parameters: { name: string }[]; responses: Record<string, Headed> }>>
  }
  const headersOf = (method: string, path: string, status: number) =>
    Object.keys(paths[path]![method]!.responses[status]!.headers ?? {})
  const cases = [
    ['post', '/api/v1/auth/login', 200, 'Set-Cookie'],
    ['post', '/api/v1/auth/login', 429, 'Retry-After'],
    ['post', '/api/v1/auth/login', 503, 'Retry-After'],
    ['post', '/api/v1/auth/login', 401, ''],
    ['post', '/api/v1/auth/logout', 204, 'Set-Cookie'],
    ['post', '/api/v1/auth/setup', 201, 'Set-Cookie'],
    ['get', '/api/v1/auth/oidc/login', 302, 'Location,Set-Cookie'],
    ['get', '/api/v1/auth/oidc/callback', 302, 'Location,Set-Cookie'],
    ['get', '/api/v1/metrics/topics', 304, 'ETag'],
    ['get', '/api/v1/metrics/history', 200, 'ETag'],
    ['get', '/api/v1/topics', 503, 'Retry-After'],
    ['get', '/actuator/health/liveness', 503, ''],
    ['post', '/api/v1/users', 201, 'Location'],
    ['get', '/api/v1/topics/{topic}/messages/export', 200, 'Content-Disposition'],
    ['get', '/api/v1/topics/{topic}/messages/tail', 503, 'Retry-After'],
    ['get', '/actuator/info', 401, 'WWW-Authenticate'],
    ['get', '/actuator/prometheus', 503, 'Retry-After'],
  ] as const
  for (const [method, path, status, headers] of cases)
    assert.equal(headersOf(method, path, status).join(), headers, `${method} ${path} ${status}`)
  const conditional = Object.keys(paths).filter(path =>
    paths[path]!.get?.parameters.some(({ name }) => name === 'If-None-Match'),
  )
  assert.deepEqual(conditional.sort(), ['/api/v1/metrics/history', '/api/v1/metrics/topics'])
})

test('the document names both formats of the scrape', () => {
  const { paths } = describeRoutes(allRoutes) as {
    paths: Record<string, { get: { responses: Record<string, { content: object }> } }>
  }
  const { content } = paths['/actuator/prometheus']!.get.responses[200]!
  assert.deepEqual(Object.keys(content), ['text/plain', 'application/openmetrics-text'])
})

interface Headed {
  readonly headers?: Readonly<Record<string, unknown>>
}

interface Schema {
  readonly $ref?: string
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}

interface Listing {
  readonly parameters?: readonly { readonly name: string; readonly schema: { readonly enum?: readonly string[] } }[]
  readonly responses: {
    readonly 200?: { readonly content: { readonly 'application/json'?: { readonly schema: Schema } } }
  }
}

test('a sort key of a list has the name of the member that it sorts by', () => {
  const { paths, components } = describeRoutes(allRoutes) as {
    paths: Readonly<Record<string, { readonly get?: Listing }>>
    components: { readonly schemas: Readonly<Record<string, Schema>> }
  }
  const resolve = (schema: Schema | undefined): Schema | undefined => {
    // A member that may be null is one of its shape and null.
    const $ref = schema?.$ref ?? schema?.anyOf?.[0]?.$ref
    return $ref === undefined ? schema : components.schemas[$ref.split('/').at(-1)!]
  }
  const sorted: string[] = []
  for (const [path, { get }] of Object.entries(paths)) {
    const sorts = get?.parameters?.find(({ name }) => name === 'sort')?.schema.enum
    if (sorts === undefined) continue
    sorted.push(path)
    const members = Object.values(resolve(get!.responses[200]!.content['application/json']!.schema)!.properties!)
    for (const sort of sorts) {
      const found = members.some(({ items }) => {
        let at = resolve(items)
        for (const name of sort.split('.')) at = resolve(at?.properties?.[name])
        return at !== undefined
      })
      assert.ok(found, `${path}?sort=${sort}`)
    }
  }
  assert.ok(sorted.length >= 8, sorted.join())
})

test('the model of an answer has its members, and inside of them lists, objects and the texts that are always there', () => {
  const shape = z.object({
    name: z.string(),
    kind: z.enum(['one', 'two']),
    rows: z.array(
      z.object({
        name: z.string(),
        at: z.int(),
        isOpen: z.boolean().optional(),
        note: z.string().nullable(),
        value: z.object({ text: z.string().optional() }).nullable(),
        leaders: z.array(z.int()),
      }),
    ),
    size: z.int().nullable(),
    note: z.string().optional(),
    isSet: z.boolean(),
    list: z.array(z.string()).nullable(),
    configs: z.record(z.string(), z.string()),
    either: z.union([z.string(), z.int()]),
  })
  assert.deepEqual(modelOfAnswer({ answers: { 200: shape } }), {
    name: '',
    kind: '',
    rows: [{ name: '', 'value?': {}, leaders: [0] }],
    'size?': 0,
    'note?': '',
    isSet: false,
    'list?': [''],
    configs: { '*': '' },
    either: null,
  })
  assert.equal(modelOfAnswer({ answers: { 204: null, 304: null } }), null)
  assert.deepEqual(modelOfAnswer({ answers: { 304: null, 201: z.object({ id: z.int() }) } }), { id: 0 })
})
