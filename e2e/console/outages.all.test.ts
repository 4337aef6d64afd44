// The broker, or its Redis, is killed or stopped under each page of the console: the page says it within 5 s, keeps its
// data with its time, and is right again without a reload within 5 s after the other side is back.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { pages, type Page as Row } from '../../src/api/pages.ts'
import { systemClock } from '../../src/base/clock.ts'
import { signInAt } from '../../testing/admin-client.ts'
import { isLong } from '../../testing/at-length.ts'
import type { CleanUp } from '../../testing/broker.ts'
import { freePort } from '../../testing/free-port.ts'
import { type BrokerProcess, startBrokerProcess } from '../../testing/process.ts'
import { noRedis, startRedis } from '../../testing/redis.ts'
import { noBrowser, openBrowser, signIn, visit } from './browser.ts'
import { ADMIN, ensureConsole, must } from './world.ts'

/**
 * The limits in ms. They hold on a machine that does nothing else (KETCH_LONG=1). Beside other tests everything takes
 * longer, so that the short form allows more.
 */
const SAID_WITHIN_MS = isLong ? 5_000 : 15_000
const RIGHT_WITHIN_MS = isLong ? 5_000 : 15_000

/** The pages with real parameters. */
const ALL_PATHS = Object.values(pages)
  .filter((page: Row) => page.isOpen !== true)
  .map(({ path }) => path.replace(':topic', 'orders').replace(':group', 'billing').replace(':broker', '0'))

/** `npm run console -- outages` tries every page, which takes five minutes; without it three pages stand for all. */
const PATHS = isLong ? ALL_PATHS : ['/', '/topics/orders/messages', '/groups']

interface Outage {
  readonly name: string
  begin(): Promise<unknown> | unknown
  end(): Promise<unknown> | unknown
}

async function startWith(t: CleanUp, settings: Readonly<Record<string, string>>): Promise<BrokerProcess> {
  ensureConsole()
  const broker = await startBrokerProcess(t, {
    settings: {
      'server.port': String(await freePort()),
      'svc.admin.jwt.secret': 'the same secret before and after a restart',
      'svc.admin.username': ADMIN.username,
      'svc.admin.password': ADMIN.password,
      ...settings,
    },
  })
  const admin = await signInAt(broker.url, ADMIN.username, ADMIN.password)
  await must(admin, 'POST', '/api/v1/topics', { name: 'orders', partitions: 3 })
  await must(admin, 'POST', '/api/v1/topics/orders/messages', { messages: [{ value: { text: 'first' } }] })
  return broker
}

/** Resolves with the time in ms until the banner of an outage has this state. */
async function untilBanner(page: Page, state: 'visible' | 'hidden'): Promise<number> {
  const begunMs = systemClock.monotonic()
  await page.locator('[data-banner=away]').waitFor({ state, timeout: 30_000 })
  return Math.round(systemClock.monotonic() - begunMs)
}

async function suffer(page: Page, path: string, { name, begin, end }: Outage): Promise<void> {
  await page.goto(path)
  const heading = page.getByRole('heading', { level: 1 })
  await heading.waitFor()
  await page.waitForLoadState('networkidle')
  const title = await heading.innerText()
  const before = await page.locator('main').innerText()
  await begin()
  const saidMs = await untilBanner(page, 'visible')
  assert.ok(saidMs <= SAID_WITHIN_MS, `${path}: ${name} was said after ${saidMs} ms`)
  assert.equal(await heading.innerText(), title, `${path}: the page is blank`)
  const kept = await page.locator('main').innerText()
  assert.ok(kept.length >= before.length * 0.5, `${path}: data is gone: ${kept}`)
  await end()
  const rightMs = await untilBanner(page, 'hidden')
  assert.ok(rightMs <= RIGHT_WITHIN_MS, `${path}: right again ${rightMs} ms after the end of ${name}`)
  console.log(`${path}: ${name} said after ${saidMs} ms, right again after ${rightMs} ms`)
}

describe('outages under the console', { skip: noBrowser }, () => {
  let browser: Browser
  before(async () => {
    browser = await openBrowser()
  })
  after(() => browser?.close())

  async function sufferAll(t: CleanUp, broker: BrokerProcess, outages: readonly Outage[]): Promise<void> {
    const { page, complaints } = await visit(t, browser, broker.url)
    await page.goto('/')
    await signIn(page, ADMIN.username, ADMIN.password)
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
    for (const outage of outages) for (const path of PATHS) await suffer(page, path, outage)
    assert.deepEqual(complaints, [])
  }

  test('kill -9 and SIGSTOP of the broker', { timeout: 600_000 }, async t => {
    const broker = await startWith(t, {})
    await sufferAll(t, broker, [
      { name: 'kill -9 of the broker', begin: () => broker.kill('SIGKILL'), end: () => broker.start() },
      { name: 'SIGSTOP of the broker', begin: () => broker.pause(), end: () => broker.resume() },
    ])
  })

  test('kill -9 and SIGSTOP of Redis', { skip: noRedis, timeout: 600_000 }, async t => {
    const redis = await startRedis(t, { config: { appendonly: 'yes', appendfsync: 'always' } })
    const broker = await startWith(t, { 'svc.redis.uri': redis.uri })
    await sufferAll(t, broker, [
      { name: 'kill -9 of Redis', begin: () => redis.stop('SIGKILL'), end: () => redis.start() },
      { name: 'SIGSTOP of Redis', begin: () => redis.pause(), end: () => redis.resume() },
    ])
  })
})
