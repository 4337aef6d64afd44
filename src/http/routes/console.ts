// The console: its page on the paths of src/api/pages.ts, and its files, which the build names. A request never names a
// path on the disk. Every answer with the page has the header `ketch-console` with the stamp of the build, and so has
// HEAD. The page has its own stamp in `<meta name="ketch-console">`: if HEAD of `/` answers another one, the broker
// serves a newer console, and the page should be loaded again.

import { z } from 'zod'
import { type Page, pages } from '../../api/pages.ts'
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
    async answer({ headers }, rooms) {
      if (isOff(rooms)) return disabled()
      const built = await rooms.consoleFiles.read()
      const stamp: Reply['headers'] = built === null ? {} : { [STAMP_HEADER]: built.stamp }
      if (!wantsPage(headers.accept)) {
        const links = Object.fromEntries(Object.entries(LINKS).map(([name, { path }]) => [name, path]))
        return reply(200, { name: 'ketch', links, guides: GUIDES }, { ...stamp, vary: 'accept' })
      }
      if (built === null) return reply(200, WELCOME, { 'content-type': 'text/html; charset=utf-8', vary: 'accept' })
      return pageReply(built, pages.overview, headers, { vary: 'accept, accept-encoding' })
    },
  }),
]

/** The routes of the other pages and of the files. The OpenAPI document does not list them. */
export const consoleRoutes: readonly AnyRoute[] = [
  ...Object.values(pages)
    .filter(page => page !== pages.overview)
    .map(pageRoute),
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

function pageRoute(page: Page): AnyRoute {
  const { path, title } = page
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
    async answer({ headers }, rooms) {
      if (isOff(rooms)) return disabled()
      const built = await rooms.consoleFiles.read()
      if (built === null) return problem('CONSOLE_NOT_BUILT', NOT_BUILT)
      return pageReply(built, page, headers)
    },
  })
}

type Headers = HttpRequest<undefined, undefined, undefined>['headers']

/** Answers the console. It names the scripts of the page, so that the browser loads them with the first ones. */
function pageReply(
  { stamp, files, scripts }: BuiltConsole,
  { path }: Page,
  headers: Headers,
  more: Reply['headers'] = {},
): Reply {
  const links = (scripts.get(path) ?? []).map(each => `</${each}>; rel=modulepreload`)
  return fileReply(files.get('index.html')!, headers, {
    [STAMP_HEADER]: stamp,
    ...(links.length === 0 ? {} : { link: links.join(', ') }),
    ...more,
  })
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
