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

/** For how many seconds it asks as whom. */
const ROLES = { ADMIN: 40, VIEWER: 18, anonymous: 18 } as const

/**
 * Not those that a good answer can fail: a right request may be refused by a rule that no schema states, such as that of the last
 * ADMIN, and `Allow` at /acls/match tells of /acls/{principal} too.
 */
const CHECKS = [
  ...['not_a_server_error', 'status_code_conformance', 'content_type_conformance', 'response_headers_conformance'],
  ...['response_schema_conformance', 'negative_data_rejection', 'unsupported_method'],
]

/** On a broker of its own: an ADMIN removes users. */
async function runSchemathesis(t: TestContext, role: keyof typeof ROLES, settings: Partial<Values>): Promise<void> {
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
    ...['run', 'openapi.json', '--url', url, '--checks', CHECKS.join(), '--max-time', String(ROLES[role])],
    ...['--seed', SEED],
    ...['--phases', 'examples,coverage,fuzzing', '--continue-on-failure', '--warnings', 'off', '--no-color'],
    // One would end the session, and the other does not end.
    ...['--exclude-operation-id', 'sign-out', '--exclude-operation-id', 'tail-messages'],
  ]
  const { status, output } = await run(folder, args)
  const mistakes = log()
    .split('\n')
    .filter(line => line.includes(' ERROR '))
  assert.equal(status, 0, [output, ...mistakes].join('\n'))
  t.diagnostic(`${role}: ${/(\d+) generated/.exec(output)?.[1]} requests`)
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

const timeout = 100_000

/** The same in every run: a search for more is `KETCH_SEED=… node scripts/run.mjs e2e/http/schemathesis.test.ts`. */
const SEED = process.env.KETCH_SEED ?? '1'

for (const role of Object.keys(ROLES) as (keyof typeof ROLES)[]) {
  test(`schemathesis finds no answer to ${role} that is not documented`, { skip: absence ?? false, timeout }, t =>
    runSchemathesis(t, role, {}),
  )

  test(`schemathesis finds none on Redis to ${role}`, { skip: absence ?? noRedis, timeout }, async t =>
    runSchemathesis(t, role, { 'redis.uri': (await startRedis(t)).uri } as Partial<Values>),
  )
}
