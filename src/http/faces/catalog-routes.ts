// The routes of Iceberg's REST catalog that read, and the refusal of all others that its specification has. The answers
// are those of its OpenAPI document; the names of the operations there stand beside the routes. Queries may have
// members that are not named here, because clients of later versions send more.

import { createHash } from 'node:crypto'
import { z } from 'zod'
import { whyNoTier } from '../../admin/remote-storage.ts'
import { integer } from '../../api/query.ts'
import { TierAway } from '../../log/archive.ts'
import { fullKey, type Settings } from '../../settings/settings.ts'
import type { CatalogMetadata } from '../../tier/remote/remote-tier.ts'
import { shownMetadata } from '../../tier/remote/shown-metadata.ts'
import { isProblem, type Problem, problem } from '../problems.ts'
import { type Answer, type AnyRoute, type CatalogSource, type HttpRooms, reply, route } from '../route.ts'

export const CATALOG_PATH = '/iceberg'
const PREFIX = `${CATALOG_PATH}/v1`

/** The paths of the specification. Clients leave `{prefix}` out, because the configuration names none. */
const ENDPOINTS = [
  'GET /v1/{prefix}/namespaces',
  'GET /v1/{prefix}/namespaces/{namespace}',
  'HEAD /v1/{prefix}/namespaces/{namespace}',
  'GET /v1/{prefix}/namespaces/{namespace}/tables',
  'GET /v1/{prefix}/namespaces/{namespace}/tables/{table}',
  'HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}',
]

/** All other operations of the specification, by the names of its parameters in fastify's form. */
const UNSUPPORTED = [
  'POST /namespaces',
  'DELETE /namespaces/:namespace',
  'POST /namespaces/:namespace/properties',
  'GET /namespaces/:namespace/functions',
  'GET /namespaces/:namespace/functions/:function',
  'POST /namespaces/:namespace/register',
  'POST /namespaces/:namespace/register-view',
  'POST /namespaces/:namespace/tables',
  'POST /namespaces/:namespace/tables/:table',
  'DELETE /namespaces/:namespace/tables/:table',
  'GET /namespaces/:namespace/tables/:table/credentials',
  'POST /namespaces/:namespace/tables/:table/metrics',
  'POST /namespaces/:namespace/tables/:table/plan',
  'GET /namespaces/:namespace/tables/:table/plan/:plan',
  'DELETE /namespaces/:namespace/tables/:table/plan/:plan',
  'POST /namespaces/:namespace/tables/:table/sign',
  'POST /namespaces/:namespace/tables/:table/tasks',
  'POST /namespaces/:namespace/tables/:table/unregister',
  'POST /namespaces/:namespace/views',
  'POST /namespaces/:namespace/views/:view',
  'DELETE /namespaces/:namespace/views/:view',
  'POST /tables/rename',
  'POST /transactions/commit',
  'POST /views/rename',
] as const

const READ_ONLY = 'The catalog only lists and loads tables: Ketch alone writes the tables of its topics.'

const PAGE_SIZE = 1_000
const LARGEST_PAGE = 10_000

const common = { needs: 'basic-viewer', tag: 'catalog' } as const

const namespaceParams = z.object({ namespace: z.string() })
const tableParams = z.object({ namespace: z.string(), table: z.string() })
const propertiesShape = z.record(z.string(), z.string())
const namespaceShape = z.array(z.string())
const pageQuery = z.looseObject({
  pageToken: z.string().optional(),
  pageSize: integer(1).default(PAGE_SIZE),
})

/** Returns the source, or why the broker has no source. */
function sourceOf({ catalogSource, settings }: HttpRooms): CatalogSource | Problem {
  return catalogSource ?? problem('REMOTE_TIER_OFF', `There are no tables: ${whyNoTier(settings)}`)
}

/** Returns the source if it has the namespace, or the problem. */
function sourceWith(rooms: HttpRooms, namespace: string): CatalogSource | Problem {
  const source = sourceOf(rooms)
  if (isProblem(source) || namespace === source.namespace) return source
  return problem('NO_SUCH_NAMESPACE', `The namespace ${shown(namespace)} does not exist; it is ${source.namespace}.`)
}

/** Separates the levels of a namespace (`namespace-separator` of the specification). */
const SEPARATOR = '\x1f'

/** Writes a name as people do. */
const shown = (name: string) => JSON.stringify(name.replaceAll(SEPARATOR, '.'))

/**
 * Returns the source and the name of the topic. Some clients split `default.a.b` at its last dot, although it is the
 * topic `a.b` of the one namespace. So levels below the namespace are read as parts of the topic's name.
 */
function topicAt(rooms: HttpRooms, namespace: string, table: string): readonly [CatalogSource, string] | Problem {
  const [top = '', ...below] = namespace.split(SEPARATOR)
  const source = sourceWith(rooms, below.includes('') ? namespace : top)
  return isProblem(source) ? source : [source, [...below, table].join('.')]
}

/** Resolves with the table of the topic, or with the problem. */
async function find(source: CatalogSource, name: string): Promise<CatalogMetadata | Problem> {
  const missing = () => problem('NO_SUCH_TABLE', `The topic ${shown(name)} has no table.`)
  const topic = source.tables().find(({ topicName }) => topicName === name)
  if (topic === undefined) return missing()
  try {
    return (await source.metadata(topic.topicId)) ?? missing()
  } catch (error) {
    if (!(error instanceof TierAway)) throw error
    return error.kind === 'away'
      ? problem('OBJECT_STORE_UNAVAILABLE', `The object store does not answer: ${error.message}.`)
      : problem('TABLE_DAMAGED', `The table of ${shown(name)} cannot be read: ${error.message}.`)
  }
}

/**
 * Returns properties that clients use if they have none of their own. A bucket that is not Amazon's is found by them;
 * they contain no credentials.
 */
function defaultsOf(settings: Settings): Readonly<Record<string, string>> {
  if (!settings.get('storage.remote.path')?.startsWith('s3://')) return {}
  const endpoint = settings.get('storage.remote.s3.endpoint')
  const region = settings.get('storage.remote.s3.region')
  return {
    ...(endpoint === null ? {} : { 's3.endpoint': new URL(endpoint).origin }),
    ...(settings.get('storage.remote.s3.path-style-access') ? { 's3.path-style-access': 'true' } : {}),
    // Java's clients know the first name, Python's the second.
    ...(region === null ? {} : { 'client.region': region, 's3.region': region }),
  }
}

/** The token of a page is the last name of the page before it, so that tables that come and go shift no page. */
const tokenAfter = (name: string) => Buffer.from(name).toString('base64url')

/**
 * Returns a page of sorted names, and the token of the next one. Without a token in the query the page has all names,
 * as the specification demands.
 */
function pageOf(
  names: readonly string[],
  { pageToken, pageSize }: z.output<typeof pageQuery>,
): { readonly page: readonly string[]; readonly next: string | null } | Problem {
  const sorted = [...names].sort()
  if (pageToken === undefined) return { page: sorted, next: null }
  const after = Buffer.from(pageToken, 'base64url').toString()
  if (tokenAfter(after) !== pageToken)
    return problem('INVALID_REQUEST', `pageToken: got ${JSON.stringify(pageToken)}, takes the token of a page.`)
  const rest = sorted.filter(name => name > after)
  const page = rest.slice(0, Math.min(pageSize, LARGEST_PAGE))
  return { page, next: page.length < rest.length ? tokenAfter(page.at(-1)!) : null }
}

/** Metadata differs with the snapshots that it names. */
function etagOf({ metadataLocation }: CatalogMetadata, snapshots: string): string {
  return `W/"${createHash('sha256').update(`${snapshots} ${metadataLocation}`).digest('base64url').slice(0, 22)}"`
}

function isKnown(etag: string, ifNoneMatch: string | readonly string[] | undefined): boolean {
  const asked = [ifNoneMatch ?? []].flat().join(',')
  return asked.split(',').some(each => each.trim() === etag)
}

export const catalogRoutes: readonly AnyRoute[] = [
  // getConfig
  route({
    ...common,
    method: 'GET',
    path: `${PREFIX}/config`,
    verb: 'read catalog configuration',
    doc: 'The operations of this catalog. There is one warehouse, so any name of one is taken.',
    answers: {
      200: z.object({ defaults: propertiesShape, overrides: propertiesShape, endpoints: z.array(z.string()) }),
    },
    answer(_request, rooms) {
      const source = sourceOf(rooms)
      if (isProblem(source)) return source
      return reply(200, { defaults: defaultsOf(rooms.settings), overrides: {}, endpoints: ENDPOINTS })
    },
  }),
  // listNamespaces
  route({
    ...common,
    method: 'GET',
    path: `${PREFIX}/namespaces`,
    verb: 'list namespaces',
    doc: 'The one namespace. It has no others below it.',
    query: z.looseObject({ ...pageQuery.shape, parent: z.string().default('') }),
    answers: { 200: z.object({ namespaces: z.array(namespaceShape), 'next-page-token': z.string().nullable() }) },
    answer({ query }, rooms) {
      const { parent } = query
      const source = parent === '' ? sourceOf(rooms) : sourceWith(rooms, parent)
      if (isProblem(source)) return source
      const found = pageOf(parent === '' ? [source.namespace] : [], query)
      if (isProblem(found)) return found
      return reply(200, { namespaces: found.page.map(name => [name]), 'next-page-token': found.next })
    },
  }),
  // loadNamespaceMetadata, namespaceExists
  route({
    ...common,
    method: 'GET',
    isBareHead: true,
    path: `${PREFIX}/namespaces/:namespace`,
    verb: 'show namespace',
    doc: 'The namespace, which has no properties.',
    params: namespaceParams,
    answers: { 200: z.object({ namespace: namespaceShape, properties: propertiesShape }) },
    answer({ params: { namespace } }, rooms) {
      const source = sourceWith(rooms, namespace)
      return isProblem(source) ? source : reply(200, { namespace: [namespace], properties: {} })
    },
  }),
  // listTables
  route({
    ...common,
    method: 'GET',
    path: `${PREFIX}/namespaces/:namespace/tables`,
    verb: 'list tables',
    doc: 'The topics that have a table.',
    params: namespaceParams,
    query: pageQuery,
    answers: {
      200: z.object({
        identifiers: z.array(z.object({ namespace: namespaceShape, name: z.string() })),
        'next-page-token': z.string().nullable(),
      }),
    },
    answer({ params: { namespace }, query }, rooms) {
      const source = sourceWith(rooms, namespace)
      if (isProblem(source)) return source
      const found = pageOf(
        source.tables().map(({ topicName }) => topicName),
        query,
      )
      if (isProblem(found)) return found
      const identifiers = found.page.map(name => ({ namespace: [namespace], name }))
      return reply(200, { identifiers, 'next-page-token': found.next })
    },
  }),
  // loadTable, tableExists
  route({
    ...common,
    method: 'GET',
    isBareHead: true,
    path: `${PREFIX}/namespaces/:namespace/tables/:table`,
    verb: 'load table',
    doc: 'The metadata of the table of a topic, and where it is. No credentials: the engine has its own.',
    params: tableParams,
    query: z.looseObject({ snapshots: z.enum(['all', 'refs']).default('all') }),
    answers: { 200: z.string(), 304: null },
    async answer({ params, query: { snapshots }, headers }, rooms): Promise<Answer> {
      const asked = topicAt(rooms, params.namespace, params.table)
      if (isProblem(asked)) return asked
      const found = await find(...asked)
      if (isProblem(found)) return found
      const etag = etagOf(found, snapshots)
      const kept = { etag, 'cache-control': 'private, no-cache' }
      if (isKnown(etag, headers['if-none-match'])) return reply(304, undefined, kept)
      // The text of the metadata is put in as it is: its integers have up to 63 bits.
      const location = JSON.stringify(found.metadataLocation)
      const metadata = shownMetadata(found.text, snapshots)
      const text = `{"metadata-location":${location},"metadata":${metadata},"config":{}}`
      return reply(200, text, { ...kept, 'content-type': 'application/json; charset=utf-8' })
    },
  }),
  // getToken, which the specification advises against
  route({
    ...common,
    needs: 'anybody',
    method: 'POST',
    path: `${PREFIX}/oauth/tokens`,
    verb: 'request catalog token',
    doc: 'Refused: the catalog issues no tokens.',
    answers: {},
    answer: () =>
      problem(
        'UNSUPPORTED_OPERATION',
        `The catalog issues no tokens: give the client ${fullKey('storage.remote.catalog.token')} as its token, or a username and a password for HTTP Basic.`,
      ),
  }),
  // listViews
  route({
    ...common,
    method: 'GET',
    path: `${PREFIX}/namespaces/:namespace/views`,
    verb: 'list views',
    doc: 'No view. Clients that ignore the list of operations ask for them.',
    params: namespaceParams,
    query: pageQuery,
    answers: { 200: z.object({ identifiers: z.tuple([]), 'next-page-token': z.null() }) },
    answer({ params: { namespace } }, rooms) {
      const source = sourceWith(rooms, namespace)
      return isProblem(source) ? source : reply(200, { identifiers: [], 'next-page-token': null })
    },
  }),
  // loadView, viewExists
  route({
    ...common,
    method: 'GET',
    path: `${PREFIX}/namespaces/:namespace/views/:view`,
    verb: 'load view',
    doc: 'Refused: there are no views. Old clients look for a view of every name before they load the table.',
    params: z.object({ namespace: z.string(), view: z.string() }),
    answers: {},
    answer({ params: { namespace, view } }, rooms) {
      const source = sourceWith(rooms, namespace)
      return isProblem(source) ? source : problem('NO_SUCH_VIEW', `There is no view ${shown(view)}.`)
    },
  }),
  ...UNSUPPORTED.map(operation => {
    const [method, path] = operation.split(' ') as [AnyRoute['method'], string]
    return route({
      ...common,
      method,
      path: `${PREFIX}${path}`,
      verb: `refused by the catalog: ${operation}`,
      doc: 'Refused: the catalog does not have the operation.',
      answers: {},
      answer: () => problem('UNSUPPORTED_OPERATION', READ_ONLY),
    })
  }),
]
