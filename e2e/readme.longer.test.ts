// Runs the commands of README.md exactly as written and in their order, on a machine with free ports. The table has
// the expected output of each. NOT_RUN has the commands that are not run, with the reason. A new command must be
// added to one of the two.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ownMachineAbsence } from '../testing/own-machine.ts'
import { withoutSettings } from '../testing/process.ts'
import { hasProgram } from '../testing/programs.ts'
import { temporaryFolder } from '../testing/temporary-folder.ts'
import { commandsOf, type Row, runRows } from './page.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const readme = await readFile(join(root, 'README.md'), 'utf8')

const ROWS: readonly Row[] = [
  { command: 'npm start', isBroker: true, prints: /http:\/\/localhost:8080[\s\S]*clients connect to localhost:9092/ },
  { command: './ketch topics create orders', prints: /^orders is created/m },
  { command: "echo 'hello' | ./ketch produce orders", prints: /^ +0 +1 +0 +0$/m },
  { command: './ketch tail orders --last=1 --count=1', prints: / 0@0 .*hello$/m },
  { command: './ketch users password admin', prints: /password/ },
  { command: "echo 'hello again' | kcat -b localhost:9092 -t orders -P", needs: 'kcat', prints: /^$/ },
  { command: 'kcat -b localhost:9092 -t orders -C -e', needs: 'kcat', prints: /^hello\nhello again$/m },
  {
    command: './ketch --svc.broker.port=9093 --svc.storage.local.embedded.path=/var/lib/ketch',
    isBroker: true,
    prints: /embedded store in \/var\/lib\/ketch[\s\S]*clients connect to localhost:9093/,
  },
  {
    command: './ketch --svc.redis.uri=redis://localhost:6379',
    isBroker: true,
    needs: 'redis-server',
    prints: /localhost:6379[\s\S]*clients connect to localhost:9092/,
  },
  { command: './ketch --help settings', prints: /svc\.broker\.port/ },
]

const NOT_RUN: Readonly<Record<string, string>> = {
  'git clone … ketch && cd ketch': 'the address of the repository is left open, and the test runs in a checkout',
  'npm run check': 'every run of the tests begins with it',
  'npm test': 'it is the run that this test belongs to',
  'npm test -- --all': 'it runs all tests, this one too',
  'npm run bench': 'it measures for minutes; e2e has nothing to say about speed',
  'npm run': 'npm prints the scripts of package.json',
}

test('each command of the README is run, or is left out for a reason', () => {
  const commands = commandsOf(readme).filter(command => command !== '')
  assert.deepEqual([...new Set(commands)].sort(), [...ROWS.map(row => row.command), ...Object.keys(NOT_RUN)].sort())
})

test('the commands of the README do what the README says, exactly as written and in its order', {
  skip: ownMachineAbsence() ?? false,
  timeout: 120_000,
}, async t => {
  const folder = await temporaryFolder(t, 'ketch-')
  const [, shipped] = /password of the user `admin`: it is `([^`]+)`/.exec(readme)!
  const env = {
    ...withoutSettings(process.env),
    // These two replace the terminal that would ask a reader for passwords.
    KETCH_PASSWORD: shipped,
    KETCH_NEW_PASSWORD: 'correct horse battery',
    // The folder of the checkout may contain data of its owner.
    SVC_STORAGE_LOCAL_EMBEDDED_PATH: join(folder, 'data'),
  }
  const beside = hasProgram('redis-server') ? [`redis-server --port 6379 --save '' --dir ${folder}`] : []
  await runRows(t, ROWS, { cwd: root, env, beside })
})
