// Makes requests for every route of the HTTP side from the OpenAPI document: valid requests, and requests that no
// client should send. Tests check each answer against the same document.

import type { AnyRoute } from '../src/http/route.ts'

export type Role = 'ADMIN' | 'VIEWER' | 'anonymous'

interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly minimum?: number
  readonly minLength?: number
  readonly minItems?: number
  readonly format?: string
  readonly examples?: readonly unknown[]
  readonly default?: unknown
}

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly schema: Schema
}

/** The used parts of an operation of the document. */
export interface Operation {
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } }
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: object }>>
}

export interface Asked {
  /** The way in which the request differs from a valid one. */
  readonly what: string
  readonly path: string
  /** Undefined if the request has no body. */
  readonly body: string | undefined
}

/** Returns the operation of the document for this route. */
export function operationOf(document: Readonly<Record<string, unknown>>, route: AnyRoute): Operation {
  const paths = document.paths as Readonly<Record<string, Readonly<Record<string, Operation>>>>
  return paths[route.path.replaceAll(/:(\w+)/g, '{$1}')]![route.method.toLowerCase()]!
}

/** Returns one valid request, and requests that differ from it in one place. */
export function requestsFor(route: AnyRoute, operation: Operation): readonly Asked[] {
  const inPath = operation.parameters.filter(each => each.in === 'path')
  const inQuery = operation.parameters.filter(each => each.in === 'query')
  const schema = operation.requestBody?.content['application/json'].schema
  const names = Object.fromEntries(inPath.map(each => [each.name, String(sample(each.schema, each.name))]))
  const required = Object.fromEntries(
    inQuery.filter(each => each.required).map(each => [each.name, String(sample(each.schema, each.name))]),
  )
  const body = schema === undefined ? undefined : JSON.stringify(sample(schema))
  const ask = (what: string, more: { names?: object; query?: string; body?: string } = {}): Asked => ({
    what,
    path:
      route.path.replaceAll(/:(\w+)/g, (_, name) => encode({ ...names, ...more.names }[name as string]!)) +
      (more.query ?? (Object.keys(required).length === 0 ? '' : `?${new URLSearchParams(required)}`)),
    body: more.body ?? body,
  })
  const queries = inQuery.flatMap(({ name, schema: of }) => [
    [`${name} as asked for`, `?${new URLSearchParams({ ...required, [name]: String(sample(of, name)) })}`],
    ...HOSTILE_QUERIES.map(value => [`${name}=${value}`, `?${new URLSearchParams(required)}&${name}=${value}`]),
    [`${name} twice`, `?${new URLSearchParams(required)}&${name}=1&${name}=2`],
    [`${name} as an array`, `?${name}[]=1`],
  ])
  return [
    ask('as asked for'),
    ...inPath.flatMap(({ name }) =>
      HOSTILE_NAMES.map(value => ask(`${name} ${label(value)}`, { names: { [name]: value } })),
    ),
    ...queries.map(([what, query]) => ask(what!, { query: query! })),
    ask('an unknown query', { query: '?__proto__=1&not-asked-for=2' }),
    ...(schema === undefined ? [] : HOSTILE_BODIES.map(text => ask(`body ${label(text)}`, { body: text }))),
    ...(schema === undefined
      ? []
      : variations(schema).map(([what, value]) => ask(what, { body: JSON.stringify(value) }))),
  ]
}

const HOSTILE_NAMES = [
  '..',
  '__proto__',
  'constructor',
  '\0',
  'a\r\nb',
  'a/b',
  '<script>alert(1)</script>',
  '\u202e\u{1f4a9}',
  '-1',
  '99999999999999999999',
  '%',
  'a:b',
  '{x}',
  'a=2Cb=3D',
  '__consumer_offsets',
  'x'.repeat(10_000),
  'x'.repeat(64 * 1024),
]
const HOSTILE_QUERIES = [
  '',
  'x',
  '-1',
  '0',
  '1e9',
  '99999999999999999999',
  'NaN',
  'null',
  '%00',
  '%F0%9F%92%A9',
  '__proto__',
  'x'.repeat(2_000),
]
const HOSTILE_BODIES = ['', 'null', '{}', '[]', '0', '"x"', '{', '{"__proto__":{"role":"ADMIN"}}', '\ufeff{}']
const HOSTILE_VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  Number.MAX_SAFE_INTEGER,
  1e300,
  '',
  ' ',
  'x',
  '\0',
  '\ud800',
  '__proto__',
  '../../etc/passwd',
  '\u202e\u{1f4a9}\r\n',
  '9223372036854775808',
  'x'.repeat(100_000),
  [],
  [null],
  ['x'],
  {},
  { constructor: { prototype: 1 } },
]

/** Returns valid bodies, and bodies with one member left out, replaced or added. */
function variations(schema: Schema): readonly (readonly [what: string, value: unknown])[] {
  return alternatives(schema).flatMap(each => {
    const right = sample(each) as Record<string, unknown>
    if (typeof right !== 'object' || right === null || Array.isArray(right)) return []
    const members = Object.keys(each.properties ?? {})
    return [
      ['as asked for', right] as const,
      ['another member', { ...right, 'not-asked-for': 1 }] as const,
      ...members.map(name => [`without ${name}`, { ...right, [name]: undefined }] as const),
      ...members.flatMap(name =>
        HOSTILE_VALUES.map(value => [`${name} ${label(JSON.stringify(value))}`, { ...right, [name]: value }] as const),
      ),
    ]
  })
}

function alternatives(schema: Schema): readonly Schema[] {
  const options = schema.anyOf ?? schema.oneOf
  return options === undefined ? [schema] : options.flatMap(alternatives)
}

/** The name of every resource in a valid request. */
export const SAMPLE = 'sample'

/** Fixed values for some names: things that every broker has, or a `count` above the current one. */
const KNOWN: Readonly<Record<string, unknown>> = { logger: 'svc.http', broker: '0', count: 3, before: 0, to: 'clear' }

/** Returns a value that the schema accepts; if there are several, the first. */
function sample(schema: Schema, name = ''): unknown {
  if (Object.hasOwn(KNOWN, name)) return KNOWN[name]
  if (schema.examples?.[0] !== undefined) return schema.examples[0]
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[0]
  const [first] = alternatives(schema)
  if (first !== undefined && first !== schema) return sample(first, name)
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.[0]
  switch (type) {
    case 'object':
      return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, of]) => [name, sample(of, name)]))
    case 'array':
      return schema.items === undefined ? [] : [sample(schema.items)]
    case 'integer':
    case 'number':
      return Math.max(schema.minimum ?? 1, 0)
    case 'boolean':
      return false
    case 'null':
      return null
    default:
      return SAMPLE.padEnd(schema.minLength ?? 0, 'x')
  }
}

/** Encodes a path segment. `fetch` would remove a lone dot from the path. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll('.', '%2E')
}

function label(text: string): string {
  const shown = JSON.stringify(text)
  return shown.length > 40 ? `${shown.slice(0, 40)}… (${text.length})` : shown
}
