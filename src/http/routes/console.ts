// The console: its page on the paths of src/api/pages.ts, and its files, which the build names. A request never names a
// path on the disk. Every answer with the page has the header `ketch-console` with the stamp of the build, and so has
// HEAD. The page has its own stamp in `<meta name="ketch-console">`: if HEAD of `/` answers another one, the broker
// serves a newer console, and the page should be loaded again.

import { z } from 'zod'
import { firstReadOf, withQuery } from '../../api/first-reads.ts'
import { type PageId, pages } from '../../api/pages.ts'
import { within } from '../../base/clock.ts'
import { sessionOf, unknownWhileAway } from '../access.ts'
import type { BuiltConsole, ConsoleFile } from '../console-files.ts'
import { encodingFor } from '../content-encoding.ts'
import { GUIDES, LINKS, NOT_BUILT, WELCOME, wantsPage } from '../plain-pages.ts'
import { problem } from '../problems.ts'
import { type AnyRoute, type HttpRequest, type HttpRooms, type Reply, reply, route } from '../route.ts'

const STAMP_HEADER = 'ketch-console'

const welcomeShape = z
  .object({
    name: z.literal('ketch'),
    links: z.object({ reference: z.string(), openapi: z.string(), health: z.string(), metrics: z.string() }),
    guides: z.string().meta({ description: 'The index of the guides, in the folder that Ketch was installed in.' }),
  })
  .meta({ id: 'Welcome' })

const disabled = () =>
  problem('CONSOLE_DISABLED', 'The web console is switched off (svc.ui.enabled=false); the admin API works without it.')

const isOff = ({ settings }: HttpRooms) => !settings.get('ui.enabled')

/** The route at `/`: the console for browsers, and links for programs. */
export const homeRoutes = [
  route({
    method: 'GET',
    path: pages.overview.path,
    needs: 'anybody',
    verb: 'show start page',
    tag: 'reference',
    doc: 'The web console if the Accept header names text/html, else where the reference, health and metrics are.',
    answers: { 200: z.union([welcomeShape, z.string()]) },
    contentType: ['application/json', 'text/html'],
    problems: { 404: 'CONSOLE_DISABLED' },
    headers: { 200: [STAMP_HEADER, 'link'] },
    async answer(request, rooms) {
      if (isOff(rooms)) return disabled()
      const { headers } = request
      const built = await rooms.consoleFiles.read()
      const stamp: Reply['headers'] = built === null ? {} : { [STAMP_HEADER]: built.stamp }
      if (!wantsPage(headers.accept)) {
        const links = Object.fromEntries(Object.entries(LINKS).map(([name, { path }]) => [name, path]))
        return reply(200, { name: 'ketch', links, guides: GUIDES }, { ...stamp, vary: 'accept' })
      }
      if (built === null) return reply(200, WELCOME, { 'content-type': 'text/html; charset=utf-8', vary: 'accept' })
      return await pageReply(built, 'overview', request, rooms, { vary: 'accept, accept-encoding' })
    },
  }),
]

/** The routes of the other pages and of the files. The OpenAPI document does not list them. */
export const consoleRoutes: readonly AnyRoute[] = [
  ...(Object.keys(pages) as PageId[]).filter(page => page !== 'overview').map(pageRoute),
  route({
    method: 'GET',
    path: '/assets/:file',
    needs: 'anybody',
    verb: 'read console file',
    tag: 'console',
    doc: 'A file of the web console, which its build named. Its name changes with its content.',
    answers: { 200: z.string() },
    params: z.object({ file: z.string() }),
    contentType: ['text/javascript', 'text/css', 'image/svg+xml', 'font/woff2'],
    problems: { 404: 'CONSOLE_DISABLED' },
    async answer({ params: { file }, headers }, rooms) {
      if (isOff(rooms)) return disabled()
      const built = await rooms.consoleFiles.read()
      const found = built?.files.get(`assets/${file}`)
      if (found === undefined) return problem('NOT_FOUND', 'The web console has no file of this name.')
      return fileReply(found, headers)
    },
  }),
]

function pageRoute(page: PageId): AnyRoute {
  const { path, title } = pages[page]
  return route({
    method: 'GET',
    path,
    needs: 'anybody',
    verb: `show page ${path}`,
    tag: 'console',
    doc: `The web console at the page ${title}. The console asks the admin API for everything that it shows.`,
    answers: { 200: z.string() },
    contentType: 'text/html',
    problems: { 404: 'CONSOLE_DISABLED', 503: 'CONSOLE_NOT_BUILT' },
    headers: { 200: [STAMP_HEADER, 'link'] },
    async answer(request, rooms) {
      if (isOff(rooms)) return disabled()
      const built = await rooms.consoleFiles.read()
      if (built === null) return problem('CONSOLE_NOT_BUILT', NOT_BUILT)
      return await pageReply(built, page, request, rooms)
    },
  })
}

type Asked = HttpRequest<unknown, unknown, unknown>
type Headers = Asked['headers']

/**
 * Answers the console. It names the scripts of the page and the first things that the page reads, so that the browser
 * asks for all of them at once. Without a session these reads would be refused, so it names none.
 */
async function pageReply(
  { stamp, files, scripts }: BuiltConsole,
  page: PageId,
  request: Asked,
  rooms: HttpRooms,
  more: Reply['headers'] = {},
): Promise<Reply> {
  const reads = (await mayRead(request, rooms)) ? readsOf(page, request.query) : []
  const links = [
    ...(scripts.get(pages[page].path) ?? []).map(each => `</${each}>; rel=modulepreload`),
    ...reads.map(each => `<${each}>; rel=preload; as=fetch; crossorigin`),
  ]
  return fileReply(files.get('index.html')!, request.headers, {
    [STAMP_HEADER]: stamp,
    ...(links.length === 0 ? {} : { link: links.join(', ') }),
    ...more,
  })
}

/** The time in ms that a page waits for the store to say who asks: without it the page only loads a little later. */
const LOOKING_MS = 50

async function mayRead({ address, headers }: Asked, { accounts, clock }: HttpRooms): Promise<boolean> {
  if (!accounts.isSecured) return true
  const looking = sessionOf(address, name => headers[name], accounts).catch(unknownWhileAway)
  const identity = await within(clock, LOOKING_MS, looking, () => null)
  return identity !== null && !identity.mustChangePassword
}

/** The longest address in a header: proxies refuse an answer with long headers, and some take 4 kB of all of them. */
const LONGEST_READ = 1_000

/** Returns the addresses that the console asks before it draws the page. */
function readsOf(page: PageId, given: unknown): readonly string[] {
  // As the console does, takes the last one of several parameters with the same name.
  const texts = Object.entries(given as Readonly<Record<string, string | readonly string[]>>).map(
    ([name, value]) => [name, [value].flat().at(-1)!] as const,
  )
  const first = firstReadOf(page, Object.fromEntries(texts))
  const reads = first === null ? [] : [withQuery(first.path, first.query)]
  return [...reads.filter(({ length }) => length <= LONGEST_READ), '/api/v1/capabilities']
}

/** Answers a file in the smallest encoding that the client takes. Only a file with its hash in its name may be kept. */
function fileReply(
  { mediaType, isHashed, bytes, encoded }: ConsoleFile,
  headers: Headers,
  more: Reply['headers'] = {},
): Reply {
  const encoding = encodingFor(String(headers['accept-encoding'] ?? ''), [...encoded.keys()])
  return reply(200, encoding === null ? bytes : encoded.get(encoding), {
    'content-type': mediaType,
    vary: 'accept-encoding',
    ...(isHashed ? { 'cache-control': 'public, max-age=31536000, immutable' } : {}),
    ...(encoding === null ? {} : { 'content-encoding': encoding }),
    ...more,
  })
}
