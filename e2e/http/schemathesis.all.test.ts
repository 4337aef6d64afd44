import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Values } from '../../src/settings/settings.ts'
import { startBroker } from '../../testing/broker.ts'
import { type Roles, roleSettings, signInRoles } from '../../testing/http-roles.ts'
import { noRedis, startRedis } from '../../testing/redis.ts'
import { judgesAbsence, SCHEMATHESIS } from './judges.ts'

const absence = judgesAbsence('schemathesis')

/**
 * How many examples of its own it makes for each operation as whom, beside those that cover the document. A number and
 * not a time: a slow machine takes longer and asks the same. All of them take two to three minutes on two cores, of
 * four that they may take.
 */
const EXAMPLES = { ADMIN: 10, VIEWER: 2, anonymous: 2 } as const

/**
 * Not those that a good answer can fail: a right request may be refused by a rule that no schema states, such as that
 * of the last ADMIN, and `Allow` at /acls/match tells of /acls/{principal} too.
 */
const CHECKS = [
  ...['not_a_server_error', 'status_code_conformance', 'content_type_conformance', 'response_headers_conformance'],
  ...['response_schema_conformance', 'negative_data_rejection', 'unsupported_method'],
]

/** One would end the session, and the other does not end. */
const EXCLUDED = ['sign-out', 'tail-messages']

/** On a broker of its own: an ADMIN removes users. */
async function runSchemathesis(t: TestContext, role: keyof typeof EXAMPLES, settings: Partial<Values>): Promise<void> {
  const { url, log } = await startBroker(
    t,
    // The tool fails to sign in on purpose, and would be locked out for it.
    { ...roleSettings, 'admin.login-throttle.max-failures': 2 ** 31 - 1, ...settings },
    { hasHttp: true },
  )
  const roles = await signInRoles(url)
  const folder = await mkdtemp(join(tmpdir(), 'ketch-schemathesis-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const authorization = `Basic ${Buffer.from(roles.basic('ADMIN').join(':')).toString('base64')}`
  const document = await fetch(`${url}/v3/api-docs`, { headers: { authorization } })
  await writeFile(join(folder, 'openapi.json'), await document.text())
  const somebody = role === 'anonymous' ? [] : await credentialsOf(roles, role)
  await writeFile(
    join(folder, 'schemathesis.toml'),
    [
      '[checks.negative_data_rejection]',
      // A query that is too long is stopped before it is read.
      'expected-statuses = ["400", "401", "403", "404", "405", "409", "413", "415", "429", "431", "503"]',
      ...somebody,
    ].join('\n'),
  )
  const args = [
    ...['run', 'openapi.json', '--url', url, '--checks', CHECKS.join(), '--max-examples', String(EXAMPLES[role])],
    ...['--seed', SEED],
    ...['--phases', 'examples,coverage,fuzzing', '--continue-on-failure', '--warnings', 'off', '--no-color'],
    ...EXCLUDED.flatMap(operation => ['--exclude-operation-id', operation]),
  ]
  const { status, output } = await run(folder, args)
  const mistakes = log()
    .split('\n')
    .filter(line => line.includes(' ERROR '))
  assert.equal(status, 0, [output, ...mistakes].join('\n'))
  assertWhole(output)
  t.diagnostic(`${role}: ${/(\d+) generated/.exec(output)?.[1]} requests`)
}

/** A phase that ends early ends well: what it says has to tell that it asked every operation. */
function assertWhole(output: string): void {
  const selected = Number(/(\d+) selected \/ \d+ total/.exec(output)?.[1])
  const passed = ['Coverage', 'Fuzzing'].map(phase =>
    Number(new RegExp(`${phase} \\(in .*\\)\\s+✅ (\\d+) passed\\s*\\n`).exec(output)?.[1]),
  )
  assert.deepEqual(passed, [selected, selected], output)
  assert.match(output, new RegExp(`Selected: ${selected}/${selected + EXCLUDED.length}\\s+Tested: ${selected}\\s`))
}

async function credentialsOf(roles: Roles, role: 'ADMIN' | 'VIEWER'): Promise<readonly string[]> {
  const { cookie } = await roles.signIn(role)
  const [username, password] = roles.basic(role)
  return [
    '[auth.openapi.session]',
    `api_key = "${cookie!.split('=')[1]}"`,
    '[auth.openapi.basic]',
    `username = "${username}"`,
    `password = "${password}"`,
  ]
}

function run(cwd: string, args: readonly string[]): Promise<{ status: number | null; output: string }> {
  return new Promise(resolve => {
    const child = spawn(SCHEMATHESIS, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    child.stdout.on('data', chunk => (output += chunk))
    child.stderr.on('data', chunk => (output += chunk))
    child.on('close', status => resolve({ status, output }))
  })
}

/** For a slow machine: a number of requests has no end of its own. */
const timeout = 300_000

/**
 * The same in every run: a search for more is `KETCH_SEED=… node scripts/run.mjs e2e/http/schemathesis.all.test.ts`.
 */
const SEED = process.env.KETCH_SEED ?? '1'

for (const role of Object.keys(EXAMPLES) as (keyof typeof EXAMPLES)[]) {
  test(`schemathesis finds no answer to ${role} that is not documented`, { skip: absence ?? false, timeout }, t =>
    runSchemathesis(t, role, {}),
  )

  test(`schemathesis finds none on Redis to ${role}`, { skip: absence ?? noRedis, timeout }, async t =>
    runSchemathesis(t, role, { 'redis.uri': (await startRedis(t)).uri } as Partial<Values>),
  )
}
