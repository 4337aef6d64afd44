// The page at `/`, until the console exists: it shows people and programs where the rest of the HTTP side is. It
// shows nothing about this broker, because it needs no sign-in.

import { z } from 'zod'
import { reply, route } from '../route.ts'

const LINKS = Object.freeze({
  reference: { path: '/swagger-ui/index.html', doc: 'Reference of the admin API' },
  openapi: { path: '/v3/api-docs', doc: 'OpenAPI document of the admin API' },
  health: { path: '/actuator/health', doc: 'Health' },
  metrics: { path: '/actuator/prometheus', doc: 'Metrics for Prometheus' },
})

const GUIDES = 'docs/README.md'

const welcomeShape = z
  .object({
    name: z.literal('ketch'),
    links: z.object({ reference: z.string(), openapi: z.string(), health: z.string(), metrics: z.string() }),
    guides: z.string().meta({ description: 'The index of the guides, in the folder that Ketch was installed in.' }),
  })
  .meta({ id: 'Welcome' })

const LINES = Object.values(LINKS).map(({ path, doc }) => `<li><a href="${path}">${doc}</a> <code>${path}</code></li>`)

/** The page has no inline scripts and styles, because the policy of this server forbids both. */
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Ketch</title>
<link rel="icon" href="data:,">
</head>
<body>
<h1>Ketch</h1>
<p>This is the HTTP side of a Ketch broker. Kafka clients connect to another port.</p>
<ul>
${LINES.join('\n')}
</ul>
<p>Your browser asks for a name and a password if a page needs them: those of a user of the admin API.</p>
<p>The guides begin at <code>${GUIDES}</code> in the folder of Ketch, and <code>ketch --help</code> lists the commands.</p>
</body>
</html>
`

export const welcomeRoutes = [
  route({
    method: 'GET',
    path: '/',
    needs: 'anybody',
    verb: 'show welcome page',
    tag: 'reference',
    doc: 'Where the reference, health and metrics are: a page if the Accept header names text/html, else JSON.',
    answers: { 200: z.union([welcomeShape, z.string()]) },
    contentType: ['application/json', 'text/html'],
    answer({ headers }) {
      if (/\btext\/html\b/i.test(String(headers.accept ?? '')))
        return reply(200, PAGE, { 'content-type': 'text/html; charset=utf-8', vary: 'accept' })
      const links = Object.fromEntries(Object.entries(LINKS).map(([name, { path }]) => [name, path]))
      return reply(200, { name: 'ketch', links, guides: GUIDES }, { vary: 'accept' })
    },
  }),
]
