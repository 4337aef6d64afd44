// The pages that the broker writes itself: the one at `/` while no console is built, and errors for browsers. They have
// no inline scripts and styles, because the policy of this server forbids both. They show nothing about this broker,
// because they need no sign-in.

import { asProblem, type Problem } from './problems.ts'

/** Paths of the HTTP side that people and programs look for. */
export const LINKS = Object.freeze({
  reference: { path: '/swagger-ui/index.html', doc: 'Reference of the admin API' },
  openapi: { path: '/v3/api-docs', doc: 'OpenAPI document of the admin API' },
  health: { path: '/actuator/health', doc: 'Health' },
  metrics: { path: '/actuator/prometheus', doc: 'Metrics for Prometheus' },
})

export const GUIDES = 'docs/README.md'

export const NOT_BUILT =
  'The web console is not built here. Start the broker with npm start in the folder of Ketch while it can reach the npm registry: that builds the console.'

/** Returns whether an Accept header is the one of a browser that opens a page. */
export function wantsPage(accept: unknown): boolean {
  return /\btext\/html\b/i.test(String(accept ?? ''))
}

function pageOf(title: string, body: readonly string[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="data:,">
</head>
<body>
${body.join('\n')}
</body>
</html>
`
}

/** The page at `/` while no console is built. */
export const WELCOME = pageOf('Ketch', [
  '<h1>Ketch</h1>',
  '<p>This is the HTTP side of a Ketch broker. Kafka clients connect to another port.</p>',
  `<p>${NOT_BUILT.replace('npm start', '<code>npm start</code>')}</p>`,
  '<ul>',
  ...Object.values(LINKS).map(({ path, doc }) => `<li><a href="${path}">${doc}</a> <code>${path}</code></li>`),
  '</ul>',
  '<p>Your browser asks for a name and a password if a page needs them: those of a user of the admin API.</p>',
  `<p>The guides begin at <code>${GUIDES}</code> in the folder of Ketch, and <code>ketch --help</code> lists the commands.</p>`,
])

/** Returns an error as a page for a browser, and as a problem for a program. */
export function asPageOrProblem(problem: Problem, requestId: string, accept: unknown) {
  if (!wantsPage(accept)) return asProblem(problem, requestId)
  const { path, doc } = LINKS.reference
  const home = problem.code === 'CONSOLE_DISABLED' ? [] : ['<li><a href="/">Overview</a></li>']
  const body = [
    `<h1>${escaped(problem.title)}</h1>`,
    `<p>${escaped(problem.detail)}</p>`,
    '<ul>',
    ...home,
    `<li><a href="${path}">${doc}</a></li>`,
    '</ul>',
    `<p>Request <code>${requestId}</code></p>`,
  ]
  return { contentType: 'text/html; charset=utf-8', body: pageOf(`${problem.status} Ketch`, body) }
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
