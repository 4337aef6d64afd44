// Runs the commands of docs/guides/agents.md exactly as written, and checks that each setting and metric that the page
// names exists, that its settings are ones that a broker takes, and that its clients send the token to the endpoint.

import assert from 'node:assert/strict'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { loadSettings } from '../src/settings/load.ts'
import { fullKey, keys } from '../src/settings/settings.ts'
import { metricRows } from '../src/telemetry/metrics.ts'
import { ownMachineAbsence } from '../testing/own-machine.ts'
import { withoutSettings } from '../testing/process.ts'
import { temporaryFolder } from '../testing/temporary-folder.ts'
import { commandsOf, type Row, runRows } from './page.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const page = await readFile(join(root, 'docs/guides/agents.md'), 'utf8')
const commands = commandsOf(page).filter(command => command !== '')
const blocksOf = (language: string) =>
  [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].filter(([, its]) => its === language).map(([, , text]) => text!)

/** The output of each command, in the order of the page. */
const PRINTS: readonly Omit<Row, 'command'>[] = [
  { prints: /^$/ },
  { prints: /^$/ },
  { prints: /Kafka clients connect to localhost:9092/, isBroker: true },
  { prints: /"name":"list_settings"(?![\s\S]*"name":"create_topic")/, needs: 'curl' },
  { prints: /"structuredContent":\{"untrusted_data":/, needs: 'curl' },
  { prints: /Kafka clients connect to localhost:9092/, isBroker: true },
  { prints: /"change":"create topic"[\s\S]*"confirm":"[\w-]{22}"/, needs: 'curl' },
  { prints: /"created":\{"name":"orders"/, needs: 'curl' },
  { prints: /orders/, needs: 'curl' },
]

test('every setting and metric that the guide names exists', () => {
  const known = new Set<string>([...keys.map(fullKey), ...metricRows.map(({ name }) => name), 'svc.audit'])
  const named = [...page.matchAll(/`(svc\.(?!yaml)[a-z.-]+)(?:=[^`]*)?`/g)].map(([, name]) => name!)
  assert.ok(named.length > 5)
  assert.deepEqual(
    named.filter(name => !known.has(name)),
    [],
  )
})

test('each block of settings in the guide is a whole svc.yaml', () => {
  const blocks = blocksOf('yaml')
  assert.equal(blocks.length, 3)
  for (const text of blocks) {
    const { warnings } = loadSettings({ argv: [], env: {}, cwd: '/', readFile: () => Buffer.from(text) })
    assert.doesNotMatch(warnings.join(), /no effect|svc\.mcp/, text)
    assert.match(text, /^ {2}mcp:\n {4}enabled: true$/m)
  }
})

test('each client of the guide is told the endpoint and sends a bearer token', () => {
  const files = blocksOf('json').map(text => JSON.parse(text))
  const programs = blocksOf('bash')
  assert.deepEqual([files.length, programs.length], [4, 2])
  for (const file of files) {
    const server = (file.mcpServers ?? file.servers).ketch
    assert.equal(server.url ?? server.args[2], 'http://localhost:8080/mcp')
    assert.match(server.headers?.Authorization ?? server.env.KETCH_HEADER, /^Bearer [$<]/)
  }
  for (const line of programs)
    assert.match(line, / http:\/\/localhost:8080\/mcp .*--header "Authorization: Bearer \$KETCH_TOKEN"/)
})

test('the commands of the guide do what it says', { skip: ownMachineAbsence() ?? false, timeout: 300_000 }, async t => {
  assert.equal(commands.length, PRINTS.length, commands.join('\n'))
  const folder = await temporaryFolder(t, 'ketch-')
  await writeFile(join(folder, 'ketch'), `#!/bin/sh\nexec ${root}ketch "$@"\n`)
  await chmod(join(folder, 'ketch'), 0o755)
  const env = {
    ...withoutSettings(process.env),
    // It replaces the terminal that would ask a reader.
    KETCH_PASSWORD: 'change-me-now',
  }
  const rows = commands.map((command, at): Row => ({ command, ...PRINTS[at]! }))
  await runRows(t, rows, { cwd: folder, env })
})
