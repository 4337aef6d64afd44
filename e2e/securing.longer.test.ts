// Runs the ten commands of docs/guides/securing.md exactly as written, with its settings for librdkafka, and checks
// what a client without them gets. Each block of settings on the page must be one that a broker takes.

import assert from 'node:assert/strict'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { loadSettings } from '../src/settings/load.ts'
import { ownMachineAbsence } from '../testing/own-machine.ts'
import { withoutSettings } from '../testing/process.ts'
import { temporaryFolder } from '../testing/temporary-folder.ts'
import { commandsOf, type Row, runRows } from './page.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const page = await readFile(join(root, 'docs/guides/securing.md'), 'utf8')
const commands = commandsOf(page).filter(command => command !== '')

/** The output of each command, in the order of the page. */
const PRINTS: readonly Omit<Row, 'command'>[] = [
  { prints: /-----/ },
  { prints: /Kafka clients connect to localhost:9092/, isBroker: true },
  { prints: /admin has another password/ },
  { prints: /^orders is created/m },
  { prints: /^alice may sign in with SCRAM-SHA-256/m },
  { prints: /alice.* WRITE/ },
  { prints: /alice.* READ/ },
  { prints: /alice.* READ/ },
  { prints: /^% Reading configuration from file alice.conf\n$/, needs: 'kcat' },
  { prints: /^hello$/m, needs: 'kcat' },
]

test('the guide secures a broker in ten commands', () => {
  assert.equal(commands.length, 10)
})

test('each block of settings in the guide is a whole svc.yaml', () => {
  const blocks = [...page.matchAll(/^```yaml\n([^`]*)```/gm)].map(([, text]) => text!)
  assert.equal(blocks.length, 4)
  for (const text of blocks) {
    const { warnings } = loadSettings({ argv: [], env: {}, cwd: '/', readFile: () => Buffer.from(text) })
    assert.doesNotMatch(warnings.join(), /no effect/, text)
  }
})

test('the ten commands of the guide do what it says, and a stranger gets nothing', {
  skip: ownMachineAbsence() ?? false,
  timeout: 120_000,
}, async t => {
  const folder = await temporaryFolder(t, 'ketch-')
  await writeFile(join(folder, 'ketch'), `#!/bin/sh\nexec ${root}ketch "$@"\n`)
  await chmod(join(folder, 'ketch'), 0o755)
  const [, librdkafka] = /^librdkafka \(kcat[^\n]*\n\n```ini\n([^`]*)```/m.exec(page)!
  await writeFile(join(folder, 'alice.conf'), librdkafka!)
  const password = /^sasl\.password=(.*)$/m.exec(librdkafka!)![1]!
  const env = {
    ...withoutSettings(process.env),
    // These two replace the terminal that would ask a reader for passwords.
    KETCH_PASSWORD: 'change-me-now',
    KETCH_NEW_PASSWORD: password,
  }
  const changed = commands.indexOf('./ketch users password admin')
  const rows = commands.map((command, at): Row => {
    return { command, ...PRINTS[at]!, env: at > changed ? { KETCH_PASSWORD: password } : {} }
  })
  const refused = (options: string, prints: RegExp): Row => ({
    command: `kcat -F alice.conf ${options} -b localhost:9092 -m 5 2>&1; true`,
    prints,
    needs: 'kcat',
  })
  const strangers = [
    refused('-X sasl.password=wrong -L', /Authentication failed during authentication due to invalid credentials/),
    refused('-X security.protocol=plaintext -L', /Failed to acquire metadata/),
    refused('-G others orders -e', /Group authorization failed/i),
    refused('-t secrets -C -e', /(Topic authorization failed|not authorized)/i),
  ]
  await runRows(t, [...rows, ...strangers], { cwd: folder, env })
})
