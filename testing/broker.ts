// A broker in the test's own process, on a free port of 127.0.0.1 and a folder of its own, closed when the test ends.
// Its log goes to memory, so that a test can look for a line; that no secret is in there is looked at in every test
// (S5).

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../src/base/clock.ts'
import { type Broker, type HttpOverrides, startBroker as start } from '../src/broker.ts'
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

/** A test context, or another owner that ends the things that were begun. */
export interface CleanUp {
  after(fn: () => Promise<void>): void
}

export interface TestBroker {
  readonly broker: Broker
  readonly port: number
  /** The folder of the embedded store. */
  readonly dir: string
  readonly settings: Settings
  /** Where the HTTP side answers; '' without it. */
  readonly url: string
  /** Everything that was logged so far. */
  log(): string
  /** A connection that is closed with the test. */
  connect(): Promise<Wire>
}

export interface TestBrokerOptions {
  readonly clock?: Clock
  readonly openStore?: () => Promise<Store>
  readonly isShared?: boolean
  /** With the HTTP side, on a free port. */
  readonly hasHttp?: boolean
  /** Routes, limits and parameters of password hashes of its own. */
  readonly http?: HttpOverrides
  /** A folder that is there already; it is left in place. */
  readonly dir?: string
}

/**
 * Starts a broker with the defaults, one pattern that creates any topic with one partition, and what the test
 * overrides.
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
  const broker = await start({ settings, write: line => lines.push(line), hasHttp, ...(http && { http }), ...options })
  const wires: Wire[] = []
  cleanUp.after(async () => {
    // First: a broker that drains waits for a client that takes nothing, and a simulated clock never ends that.
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

/** A shorter one may stand in a line by chance. */
const LEAST_SECRET = 8

function assertNoSecretIn(log: string, given: Partial<Values>): void {
  for (const [key, value] of Object.entries(given) as [Key, unknown][]) {
    const { shape } = settingsTable[key]
    if (shape.kind !== 'one' || shape.type.name !== 'secret' || typeof value !== 'string') continue
    if (value.length >= LEAST_SECRET) assert.ok(!log.includes(value), `${fullKey(key)} is in the log`)
  }
}

/** A topic pattern that creates what matches, with one partition unless the test says otherwise. */
export function pattern(name: string, fields: Partial<TopicPattern> = {}): TopicPattern {
  return topicPattern(name, { autoCreate: true, partitions: 1, ...fields })
}
