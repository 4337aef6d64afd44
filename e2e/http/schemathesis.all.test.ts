import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Values } from '../../src/settings/settings.ts'
import { isLong } from '../../testing/at-length.ts'
import { startBroker } from '../../testing/broker.ts'
import { type Roles, roleSettings, signInRoles } from '../../testing/http-roles.ts'
import { noRedis, startRedis } from '../../testing/redis.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import { judgesAbsence, SCHEMATHESIS } from './judges.ts'

const absence = judgesAbsence('schemathesis')

/**
 * How many examples of its own schemathesis makes for each operation in each role, in addition to those that cover
 * the document. It is a number and not a time: a slow machine takes longer and sends the same requests. All of them
 * take about two minutes on two cores; a test may take up to fifteen.
 */
const EXAMPLES = { ADMIN: 10, VIEWER: 2, anonymous: 2 } as const

/**
 * Checks that a correct response can fail are missing here: a rule that no schema states may refuse a correct
 * request, such as the rule of the last ADMIN, and `Allow` at /acls/match also names the methods of
 * /acls/{principal}.
 */
const CHECKS = [
  ...['not_a_server_error', 'status_code_conformance', 'content_type_conformance', 'response_headers_conformance'],
  ...['response_schema_conformance', 'negative_data_rejection', 'unsupported_method'],
]

/** The first would end the session, and the second does not end. */
const EXCLUDED = ['sign-out', 'tail-messages']

/** Runs on a broker of its own, because an ADMIN removes users. */
async function runSchemathesis(t: TestContext, role: keyof typeof EXAMPLES, settings: Partial<Values>): Promise<void> {
  const { url, log } = await startBroker(
    t,
    // The tool fails to sign in on purpose, and would be locked out.
    { ...roleSettings, 'admin.login-throttle.max-failures': 2 ** 31 - 1, ...settings },
    { hasHttp: true },
  )
  const roles = await signInRoles(url)
  const folder = await temporaryFolder(t, 'ketch-schemathesis-')
  const authorization = `Basic ${Buffer.from(roles.basic('ADMIN').join(':')).toString('base64')}`
  const document = await fetch(`${url}/v3/api-docs`, { headers: { authorization } })
  await writeFile(join(folder, 'openapi.json'), await document.text())
  const somebody = role === 'anonymous' ? [] : await credentialsOf(roles, role)
  await writeFile(
    join(folder, 'schemathesis.toml'),
    [
      '[checks.negative_data_rejection]',
      // The broker refuses a query that is too long before it reads it.
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

/**
 * Asserts that the run tested every operation. A phase that ends early exits with status 0, so only the output shows
 * it.
 */
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

/** The limit for a slow machine, in ms: a number of requests has no time limit of its own. */
const timeout = 900_000

/**
 * The seed is the same in every run. To search for more: `KETCH_SEED=… node scripts/run.mjs
 * e2e/http/schemathesis.all.test.ts`.
 */
const SEED = process.env.KETCH_SEED ?? '1'

/**
 * The stores on which a role is tested. ADMIN is tested on both. A request of the others is mostly refused before it
 * reaches a store, so the seed draws one for each; KETCH_LONG=1 takes both.
 */
const isDrawn = (role: keyof typeof EXAMPLES, store: 'embedded' | 'redis'): boolean => {
  if (isLong || role === 'ADMIN') return true
  return (Number(SEED) % 2 === 0) === ((role === 'VIEWER') === (store === 'embedded'))
}

for (const role of Object.keys(EXAMPLES) as (keyof typeof EXAMPLES)[]) {
  if (isDrawn(role, 'embedded'))
    test(`schemathesis finds no response to ${role} that is not documented`, { skip: absence ?? false, timeout }, t =>
      runSchemathesis(t, role, {}),
    )

  if (isDrawn(role, 'redis'))
    test(
      `schemathesis finds no response to ${role} that is not documented, on Redis`,
      { skip: absence ?? noRedis, timeout },
      async t => runSchemathesis(t, role, { 'redis.uri': (await startRedis(t)).uri } as Partial<Values>),
    )
}
