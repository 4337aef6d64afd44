// Schemathesis sends requests of its own for each operation of the document, in each role. A run has each operation
// for ADMIN on one of the stores, and for VIEWER and without a user half of the operations each; the seed draws them.
// KETCH_LONG=1 has all operations in each role on both stores.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Values } from '../../src/settings/settings.ts'
import { drawnBy } from '../../testing/at-length.ts'
import { startBroker } from '../../testing/broker.ts'
import { type Roles, roleSettings, signInRoles } from '../../testing/http-roles.ts'
import { noRedis, startRedis } from '../../testing/redis.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import { judgesAbsence, SCHEMATHESIS } from './judges.ts'

const absence = judgesAbsence('schemathesis')

/**
 * How many examples of its own schemathesis makes for each operation in each role, in addition to those that cover
 * the document. It is a number and not a time: a slow machine takes longer and sends the same requests.
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

/** The parts of the operations. The parts of a run differ from role to role, or from store to store. */
const PARTS = 2

/** Returns the ids of all operations of the document. */
function operationsOf({ paths }: { readonly paths: Readonly<Record<string, object>> }): readonly string[] {
  const operations = Object.values(paths).flatMap(path => Object.values(path) as { readonly operationId?: string }[])
  return operations.flatMap(({ operationId }) => operationId ?? [])
}

/** Runs on a broker of its own, because an ADMIN removes users. */
async function runSchemathesis(
  t: TestContext,
  { role, part, settings }: { role: keyof typeof EXAMPLES; part: number; settings: Partial<Values> },
): Promise<void> {
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
  const text = await document.text()
  await writeFile(join(folder, 'openapi.json'), text)
  const operations = operationsOf(JSON.parse(text))
  const drawn = new Set(drawnBy(Number(SEED) + part, PARTS, operations))
  const excluded = operations.filter(operation => EXCLUDED.includes(operation) || !drawn.has(operation))
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
    ...excluded.flatMap(operation => ['--exclude-operation-id', operation]),
  ]
  const { status, output } = await run(folder, args)
  const mistakes = log()
    .split('\n')
    .filter(line => line.includes(' ERROR '))
  assert.equal(status, 0, [output, ...mistakes].join('\n'))
  assertWhole(output, operations.length, excluded.length)
  t.diagnostic(`${role}: ${/(\d+) generated/.exec(output)?.[1]} requests`)
}

/**
 * Asserts that the run tested every operation. A phase that ends early exits with status 0, so only the output shows
 * it.
 */
function assertWhole(output: string, all: number, excluded: number): void {
  const selected = all - excluded
  const passed = ['Coverage', 'Fuzzing'].map(phase =>
    Number(new RegExp(`${phase} \\(in .*\\)\\s+✅ (\\d+) passed\\s*\\n`).exec(output)?.[1]),
  )
  assert.deepEqual(passed, [selected, selected], output)
  assert.match(output, new RegExp(`Selected: ${selected}/${all}\\s+Tested: ${selected}\\s`))
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

const STORES = ['embedded', 'redis'] as const

/**
 * The roles and the stores on which each is tested, with the part of the operations. A request of the others is mostly
 * refused before it reaches a store, so the seed draws one of the stores for each; KETCH_LONG=1 takes both.
 */
const RUNS = [
  ...STORES.map((store, at) => ({ role: 'ADMIN', store, part: at }) as const),
  ...drawnBy(Number(SEED), STORES.length, STORES).map(store => ({ role: 'VIEWER', store, part: 0 }) as const),
  ...drawnBy(Number(SEED) + 1, STORES.length, STORES).map(store => ({ role: 'anonymous', store, part: 1 }) as const),
]

for (const { role, store, part } of RUNS) {
  const skip = absence ?? (store === 'redis' ? noRedis : false)
  test(`schemathesis finds no response to ${role} that is not documented, on ${store}`, { skip, timeout }, async t => {
    const settings = store === 'redis' ? { 'redis.uri': (await startRedis(t)).uri } : {}
    await runSchemathesis(t, { role, part, settings: settings as Partial<Values> })
  })
}
