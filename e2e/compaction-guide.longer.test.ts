// Runs the commands of docs/guides/retention-and-compaction.md exactly as written, and checks that each setting, config
// and metric that the page names exists.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { fullKey, keys } from '../src/settings/settings.ts'
import { topicConfigs } from '../src/settings/topic-configs.ts'
import { metricRows } from '../src/telemetry/metrics.ts'
import { ownMachineAbsence } from '../testing/own-machine.ts'
import { withoutSettings } from '../testing/process.ts'
import { temporaryFolder } from '../testing/temporary-folder.ts'
import { commandsOf, type Row, runRows } from './page.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const page = await readFile(join(root, 'docs/guides/retention-and-compaction.md'), 'utf8')

const ROWS: readonly Row[] = [
  { command: 'npm start', isBroker: true, prints: /clients connect to localhost:9092/ },
  {
    command: './ketch topics create rates --config cleanup.policy=compact --config segment.ms=1000',
    prints: /^rates is created/m,
  },
  {
    command: "printf 'EUR=1.08\\nJPY=0.0067\\nEUR=1.09\\nEUR=1.10\\n' | ./ketch produce rates --key-separator==",
    prints: /^ +0 +4 +0 +3$/m,
  },
  { command: 'sleep 2', prints: /^$/ },
  { command: './ketch storage run', prints: /^0 +done +1 +1 +0 +0 +1 +[1-9]\d* +0 +-$/m },
  { command: './ketch tail rates --last=10 --count=2', prints: /0@1 {2}JPY {2}0\.0067\n.*0@3 {2}EUR {2}1\.10\n/ },
]

test('every setting, topic config and metric that the guide names exists', () => {
  const known = new Set([
    ...keys.map(fullKey),
    ...topicConfigs.map(({ name }) => name),
    ...metricRows.flatMap(({ name, scrapedName }) => [name, scrapedName]),
    // Kafka's own, to say that it is not here.
    'log.cleaner.threads',
  ])
  const named = [...page.matchAll(/[`(]([a-z]+(?:[._][a-z_-]+)+)(?:=[^`]*)?[`)]/g)].map(([, name]) => name!)
  assert.ok(named.length > 20)
  assert.deepEqual(
    named.filter(name => !known.has(name) && !name.endsWith('.md')),
    [],
  )
})

test('the commands of the guide do what it says', { skip: ownMachineAbsence() ?? false, timeout: 120_000 }, async t => {
  assert.deepEqual(
    commandsOf(page).filter(command => command !== ''),
    ROWS.map(({ command }) => command),
  )
  const folder = await temporaryFolder(t, 'ketch-')
  const env = {
    ...withoutSettings(process.env),
    // It replaces the terminal that would ask a reader.
    KETCH_PASSWORD: 'change-me-now',
    // The folder of the checkout may contain data of its owner.
    SVC_STORAGE_LOCAL_EMBEDDED_PATH: join(folder, 'data'),
  }
  await runRows(t, ROWS, { cwd: root, env })
})
