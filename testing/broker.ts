// Starts a broker in the test's own process, on a free port of 127.0.0.1 and with a folder of its own. It is closed
// when the test ends. Its log goes to memory, so that a test can search it. Every test checks that the log contains
// no secret (S5).

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Policies } from '../src/auth/clients/policies.ts'
import type { HashParameters } from '../src/auth/console/password-hash.ts'
import type { SaslMechanism } from '../src/auth/sasl/mechanism.ts'
import type { Clock } from '../src/base/clock.ts'
import { type Broker, type HttpOverrides, startBroker as start } from '../src/broker.ts'
import type { Judge } from '../src/log/judge.ts'
import {
  fullKey,
  type Key,
  type Settings,
  settingsTable,
  type TopicPattern,
  testSettings,
  type Values,
} from '../src/settings/settings.ts'
import type { Store } from '../src/store/store.ts'
import { topicPattern } from './topic-pattern.ts'
import { connect, type Wire } from './wire.ts'

/** A test context, or another owner that runs clean-up functions at its end. */
export interface CleanUp {
  after(fn: () => Promise<void>): void
}

export interface TestBroker {
  readonly broker: Broker
  readonly port: number
  /** The folder of the embedded store. */
  readonly dir: string
  readonly settings: Settings
  /** The base URL of the HTTP side; '' without it. */
  readonly url: string
  /** Returns everything that was logged so far. */
  log(): string
  /** Resolves with a connection that is closed at the end of the test. */
  connect(): Promise<Wire>
}

export interface TestBrokerOptions {
  readonly clock?: Clock
  readonly openStore?: () => Promise<Store>
  readonly openMechanisms?: () => Promise<readonly SaslMechanism[]>
  readonly isShared?: boolean
  /** The policies of clients; by default those of the settings and the stored rules. */
  readonly policies?: Policies
  /** Judges the records that are produced. */
  readonly judge?: Judge
  /** Starts the HTTP side too, on a free port. */
  readonly hasHttp?: boolean
  /** The test's own routes, limits and parameters of password hashes. By default a hash is cheap (`QUICK_HASHES`). */
  readonly http?: HttpOverrides
  /** An existing folder. It is not removed at the end. */
  readonly dir?: string
}

/**
 * The parameters of password hashes that cost next to nothing. A hash with the parameters of today takes 19 MiB and 40
 * ms, and most tests with HTTP make several. The tests of the hashes themselves name the parameters of today.
 */
const QUICK_HASHES: HashParameters = Object.freeze({ memoryKiB: 512, passes: 1, lanes: 1 })

/**
 * Starts a broker with the default settings, one pattern that creates any topic with one partition, and the overrides
 * of the test.
 */
export async function startBroker(
  cleanUp: CleanUp,
  overrides: Partial<Values> = {},
  { dir, http, hasHttp = http !== undefined, ...options }: TestBrokerOptions = {},
): Promise<TestBroker> {
  const folder = dir ?? (await mkdtemp(join(tmpdir(), 'ketch-')))
  const settings = testSettings({
    'broker.host': '127.0.0.1',
    'broker.port': 0,
    'broker.rebalance-delay': 0,
    'server.address': '127.0.0.1',
    'server.port': 0,
    'storage.local.embedded.path': folder,
    topics: [pattern('*')],
    ...overrides,
  })
  const lines: string[] = []
  const broker = await start({
    settings,
    write: line => lines.push(line),
    hasHttp,
    http: { hashParameters: QUICK_HASHES, ...http },
    ...options,
  })
  const wires: Wire[] = []
  cleanUp.after(async () => {
    // The clients close first: a draining broker waits for a client that reads nothing, and a simulated clock never
    // ends this wait.
    for (const wire of wires) await wire.close()
    await broker.close()
    if (dir === undefined) await rm(folder, { recursive: true, force: true })
    assertNoSecretIn(lines.join(''), overrides)
  })
  return {
    broker,
    port: broker.kafkaPorts[0]!,
    dir: folder,
    settings,
    url:
      broker.httpPort === null ? '' : `${settings.get('server.tls') ? 'https' : 'http'}://127.0.0.1:${broker.httpPort}`,
    log: () => lines.join(''),
    async connect() {
      const wire = await connect({ port: broker.kafkaPorts[0]! })
      wires.push(wire)
      return wire
    },
  }
}

/** The shortest secret, in characters, that is searched for. A shorter secret may appear in a line by chance. */
const LEAST_SECRET = 8

function assertNoSecretIn(log: string, given: Partial<Values>): void {
  for (const [key, value] of Object.entries(given) as [Key, unknown][]) {
    const { shape } = settingsTable[key]
    if (shape.kind !== 'one' || shape.type.name !== 'secret' || typeof value !== 'string') continue
    if (value.length >= LEAST_SECRET) assert.ok(!log.includes(value), `${fullKey(key)} is in the log`)
  }
}

/** Returns a topic pattern that creates the topics that it matches, by default with one partition. */
export function pattern(name: string, fields: Partial<TopicPattern> = {}): TopicPattern {
  return topicPattern(name, { autoCreate: true, partitions: 1, ...fields })
}
