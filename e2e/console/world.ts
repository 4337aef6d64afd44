// A broker that serves the built console, for tests: on the embedded store or on a real Redis, with an ADMIN and a
// VIEWER, and a client of the admin API to prepare and to check what a browser does.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { isConsoleBuilt } from '../../scripts/console-build.mjs'
import { root } from '../../scripts/node24.mjs'
import type { Values } from '../../src/settings/settings.ts'
import { type AdminClient, signInAt } from '../../testing/admin-client.ts'
import { type CleanUp, startBroker, type TestBroker } from '../../testing/broker.ts'
import { startRedis } from '../../testing/redis.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'

export const ADMIN = Object.freeze({ username: 'ada', password: 'correct horse battery', role: 'ADMIN' })
export const VIEWER = Object.freeze({ username: 'vic', password: 'only looking around', role: 'VIEWER' })

export const STORES = ['embedded', 'redis'] as const
export type StoreName = (typeof STORES)[number]

/** Builds the console if it is absent or older than its sources. */
export function ensureConsole(): void {
  if (isConsoleBuilt()) return
  spawnSync(process.execPath, [join(root, 'scripts/build-console.ts')], { cwd: root, stdio: 'inherit' })
  if (!isConsoleBuilt()) throw new Error('the web console is not built; the lines above say why')
}

/** Resolves with the settings of a broker on a store of this kind, which ends with the test. */
export async function settingsOf(cleanUp: CleanUp, store: StoreName): Promise<Partial<Values>> {
  return store === 'embedded' ? {} : { 'redis.uri': (await startRedis(cleanUp)).uri }
}

export interface World extends TestBroker {
  /** Acts as the ADMIN. */
  readonly admin: AdminClient
}

export interface TieredWorld extends World {
  /** The folder of the remote tier. */
  readonly tables: string
}

/** Starts a broker with the users that the settings say. */
export async function startBare(cleanUp: CleanUp, store: StoreName, overrides: Partial<Values>): Promise<TestBroker> {
  ensureConsole()
  const settings = { topics: [], ...(await settingsOf(cleanUp, store)), ...overrides }
  return await startBroker(cleanUp, settings, { hasHttp: true })
}

/** Starts a broker with both users. */
export async function startWorld(cleanUp: CleanUp, store: StoreName, overrides: Partial<Values> = {}): Promise<World> {
  const credentials = { 'admin.username': ADMIN.username, 'admin.password': ADMIN.password }
  const broker = await startBare(cleanUp, store, { ...credentials, ...overrides })
  const admin = await signInAt(broker.url, ADMIN.username, ADMIN.password)
  await must(admin, 'POST', '/api/v1/users', VIEWER)
  return { ...broker, admin }
}

/** The size from which a sealed segment is offloaded at once. A smaller one waits for its neighbours. */
export const FULL_FILE_BYTES = 4_096
const LONGEST_WAIT_MS = 3_600_000

/** Starts a broker with both users and a remote tier, whose jobs have one attempt. */
export async function startTieredWorld(
  cleanUp: CleanUp,
  store: StoreName,
  overrides: Partial<Values> = {},
): Promise<TieredWorld> {
  const tables = await temporaryFolder(cleanUp, 'ketch-tables-')
  const world = await startWorld(cleanUp, store, {
    'storage.remote.path': tables,
    'storage.remote.iceberg.target-file-size': FULL_FILE_BYTES,
    'storage.remote.iceberg.max-file-wait': LONGEST_WAIT_MS,
    'storage.worker.offload-jobs.max-attempts': 1,
    ...overrides,
  })
  return { ...world, tables }
}

/** Asks the admin API. Throws if the answer is not a good one. */
export async function must(admin: AdminClient, method: string, path: string, body?: unknown) {
  const answer = await admin.ask(method, path, body)
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}
