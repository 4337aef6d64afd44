// The reference of the HTTP side: the OpenAPI document, and Swagger UI to read it. Its files are this table, not a
// folder.

import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { describeRoutes } from '../openapi.ts'
import { type AnyRoute, reply, route } from '../route.ts'

const DOCUMENT_PATH = '/v3/api-docs'
const PAGE_PATH = '/swagger-ui'

/** Returns the routes of the reference. Its document lists the `described` routes and not its own. */
export function referenceRoutes(described: readonly AnyRoute[]): readonly AnyRoute[] {
  return [
    route({
      method: 'GET',
      path: DOCUMENT_PATH,
      needs: 'basic-viewer',
      verb: 'read reference',
      tag: 'reference',
      doc: 'This document: every operation of the HTTP side, in OpenAPI 3.1.',
      answers: { 200: z.record(z.string(), z.unknown()) },
      answer: () => reply(200, describeRoutes(described)),
    }),
    ...['', '/', '.html'].map(redirect),
    page('index.html', 'text/html; charset=utf-8', async () => INDEX),
    page('initializer.js', 'text/javascript; charset=utf-8', async () => INITIALIZER),
    page('swagger-ui.css', 'text/css; charset=utf-8', () => readAsset('swagger-ui.css')),
    page('swagger-ui-bundle.js', 'text/javascript; charset=utf-8', () => readAsset('swagger-ui-bundle.js')),
  ]
}

/**
 * Returns a redirect from an address where people, and Spring's clients, look for the page. The redirect needs no
 * sign-in; the page does.
 */
function redirect(ending: string): AnyRoute {
  return route({
    method: 'GET',
    path: `${PAGE_PATH}${ending}`,
    needs: 'anybody',
    verb: `find reference at ${PAGE_PATH}${ending}`,
    tag: 'reference',
    doc: 'Leads to the page that shows this document.',
    answers: { 302: null },
    headers: { 302: ['Location'] },
    answer: () => reply(302, undefined, { location: `${PAGE_PATH}/index.html` }),
  })
}

function page(file: string, contentType: string, read: () => Promise<string>): AnyRoute {
  return route({
    method: 'GET',
    path: `${PAGE_PATH}/${file}`,
    needs: 'basic-viewer',
    verb: `show reference ${file}`,
    tag: 'reference',
    doc: 'A part of the page that shows this document.',
    answers: { 200: z.string() },
    contentType,
    answer: async () => reply(200, await read(), { 'content-type': contentType }),
  })
}

function readAsset(file: string): Promise<string> {
  return readFile(new URL(`static/${file}`, import.meta.resolve('@fastify/swagger-ui/package.json')), 'utf8')
}

/** The page has no inline scripts and styles, because the policy of this server forbids both. */
const INDEX = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Ketch: HTTP reference</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<script src="swagger-ui-bundle.js"></script>
<script src="initializer.js"></script>
</body>
</html>
`

/** The page is only for reading: it sends no requests, so it needs no password. */
const INITIALIZER = `SwaggerUIBundle({
  url: '${DOCUMENT_PATH}',
  dom_id: '#reference',
  deepLinking: true,
  filter: true,
  docExpansion: 'list',
  supportedSubmitMethods: [],
  validatorUrl: null,
})
`
