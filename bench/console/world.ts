// A broker process with as many topics and groups as the console must stay fast with. Some of the topics get records
// all the time. Its console has one more file than the shipped one: a bare page, which the console is compared with.

import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, CDPSession, Page } from 'playwright-core'
import { ensureConsole } from '../../e2e/console/world.ts'
import { root } from '../../scripts/node24.mjs'
import { systemClock } from '../../src/base/clock.ts'
import { signInAt } from '../../testing/admin-client.ts'
import type { BrokerProcess } from '../../testing/process.ts'
import { frameReader, prepareBatch, produceHead, readProduced } from '../frames.ts'
import type { Harness } from '../harness.ts'
import { commitMany, createMany } from '../many.ts'

export const TOPICS = 5000
export const GROUPS = 300
const COMMITTED_TOPICS = 10

const AREAS = [
  'billing',
  'catalog',
  'customers',
  'fraud',
  'inventory',
  'orders',
  'payments',
  'pricing',
  'returns',
  'shipping',
]
const REGIONS = ['ap-south', 'eu-west', 'sa-east', 'us-east']
const EVENTS = ['audit', 'created', 'deleted', 'snapshot', 'updated']
const SHARDS = TOPICS / (AREAS.length * REGIONS.length * EVENTS.length)

/** The first page of topics is busy, and some of each other page. */
const BUSY_FIRST = 100
const BUSY_EVERY = 25
const BATCHES_A_SECOND = 1
const BATCH = { bytes: 1024, recordBytes: 200 }
const TICK_MS = 50

/** As many samples as the history has by default, in less time. */
const SAMPLES = 240
const SAMPLE_MS = 1000

const PASSWORD = 'of the benchmark'

export interface World {
  readonly broker: BrokerProcess
  /** Signs in. Resolves with the cookie as name=value. */
  signIn(): Promise<string>
  /** Opens an empty page of a user who has signed in and never saw the console. */
  visit(browser: Browser): Promise<Visit>
  /** Resolves when the history is as long as it gets. */
  fullHistory(): Promise<void>
}

export interface Visit {
  readonly page: Page
  readonly devtools: CDPSession
  close(): Promise<void>
}

export async function openWorld(harness: Harness): Promise<World> {
  ensureConsole()
  const main = join(await copyWithBarePage(harness), 'src', 'main.ts')
  const broker = await harness.broker(
    {
      'svc.admin.password': PASSWORD,
      'svc.admin.metrics-history.interval': `${SAMPLE_MS}ms`,
      'svc.admin.metrics-history.retention': `${SAMPLES * SAMPLE_MS}ms`,
    },
    undefined,
    command => { const c = command.map(word => (word === join(root, 'src', 'main.ts') ? main : word)); return process.env.PROF ? [c[0]!, '--inspect=127.0.0.1:39229', ...c.slice(1)] : c },
  )
  harness.say(`making ${TOPICS} topics and ${GROUPS} groups`)
  const names = topicNames()
  await createMany(broker.port, names)
  await commitMany(broker.port, GROUPS, names, COMMITTED_TOPICS)
  const busy = names.filter((_, at) => at < BUSY_FIRST || at % BUSY_EVERY === 0)
  const batch = prepareBatch(BATCH.bytes, BATCH.recordBytes)
  const requests = busy.map(topic => Buffer.concat([produceHead(topic, 0, batch.length), batch]))
  harness.after(await keepProducing(broker.port, requests, BATCHES_A_SECOND * busy.length))
  const fullAtMs = systemClock.monotonic() + SAMPLES * SAMPLE_MS
  const signIn = async () => (await signInAt(broker.url, 'admin', PASSWORD)).cookie
  return {
    broker,
    signIn,
    visit: async browser => await visit(browser, broker.url, await signIn()),
    async fullHistory() {
      const restMs = fullAtMs - systemClock.monotonic()
      if (restMs <= 0) return
      harness.say(`waiting ${(restMs / 1000).toFixed(0)} s for the history of an hour`)
      await pause(restMs)
    },
  }
}

/** Returns the names in their order. */
function topicNames(): readonly string[] {
  const shards = Array.from({ length: SHARDS }, (_, at) => String(at).padStart(2, '0'))
  return AREAS.flatMap(area =>
    REGIONS.flatMap(region => EVENTS.flatMap(event => shards.map(shard => `${area}.${region}.${event}.${shard}`))),
  )
}

/** Copies the program and its built console, and adds the bare page to the files of the console. */
async function copyWithBarePage(harness: Harness): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ketch-bare-'))
  harness.after(() => rm(folder, { recursive: true, force: true }))
  for (const path of ['src', 'package.json', 'console/dist'])
    await cp(join(root, path), join(folder, path), { recursive: true })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  const dist = join(folder, 'console', 'dist')
  const list = JSON.parse(await readFile(join(dist, 'files.json'), 'utf8'))
  for (const [name, mediaType] of [
    ['bare.html', 'text/html; charset=utf-8'],
    ['bare.js', 'text/javascript; charset=utf-8'],
  ] as const) {
    const bytes = await readFile(new URL(`bare/${name}`, import.meta.url))
    await writeFile(join(dist, 'assets', name), bytes)
    list.files.push({ path: `assets/${name}`, mediaType, isHashed: true, encodings: [], bytes: bytes.length })
  }
  await writeFile(join(dist, 'files.json'), JSON.stringify(list))
  return folder
}

/**
 * Sends the Produce requests in turn at a fixed rate, until the caller calls the returned function. A refusal ends the
 * benchmark.
 */
export async function keepProducing(
  port: number,
  requests: readonly Buffer[],
  requestsASecond: number,
): Promise<() => Promise<void>> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const read = frameReader(response => {
    const { error } = readProduced(response)
    if (error !== 0) throw new Error(`error ${error} to a Produce`)
  })
  socket.on('data', read)
  const begunAtMs = systemClock.monotonic()
  let sent = 0
  const timer = setInterval(() => {
    const due = ((systemClock.monotonic() - begunAtMs) / 1000) * requestsASecond
    while (sent < due) socket.write(requests[sent++ % requests.length]!)
  }, TICK_MS)
  return async () => {
    clearInterval(timer)
    socket.destroy()
  }
}

async function visit(browser: Browser, url: string, cookie: string): Promise<Visit> {
  const context = await browser.newContext({ baseURL: url, viewport: { width: 1280, height: 800 } })
  const [name, value] = cookie.split('=') as [string, string]
  await context.addCookies([{ name, value, url }])
  await context.addInitScript({ path: join(import.meta.dirname, 'in-page.js') })
  const page = await context.newPage()
  return { page, devtools: await context.newCDPSession(page), close: () => context.close() }
}

export function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
