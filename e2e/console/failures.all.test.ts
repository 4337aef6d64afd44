// Each answer that a page asks for fails in each way, one at a time: the page stays, says what failed with a way to try
// again, and keeps its old data with its time. On a few pages no answer comes: the page says it once its patience ends.
//
// On each page old data stays in two of the four ways, and a first answer fails for every third request. The seed
// chooses them, and the next page has the others. `npm run console -- failures` takes all of them.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request as requestOf } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page, Route } from 'playwright-core'
import type { CleanUp } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import { noBrowser, openBrowser, signIn, visit, visitAs } from './browser.ts'
import { suiteCleanUp } from './clean-ups.ts'
import { type Operation, operationOf } from './operations.ts'
import { partOf } from './part.ts'
import { seed } from './seeded.ts'
import { seedSchemas } from './seeded-schemas.ts'
import { seedTier } from './seeded-tier.ts'
import { addressOf, leave, pageStops as ownStops, settle } from './tour.ts'
import { ADMIN, startTieredWorld, type TieredWorld } from './world.ts'

const problem = (status: number, code: string, title: string) => ({
  status,
  contentType: 'application/problem+json',
  headers: { 'retry-after': '1', 'x-request-id': 'made-by-a-test' },
  body: JSON.stringify({
    type: 'about:blank',
    title,
    status,
    code,
    detail: `${title}, says a test.`,
    requestId: 'made-by-a-test',
  }),
})

/** The ways in which an answer fails. */
const FAILURES: Readonly<Record<string, (route: Route) => Promise<void>>> = {
  '500': route => route.fulfill(problem(500, 'INTERNAL_ERROR', 'Internal error')),
  '503': route => route.fulfill(problem(503, 'STORE_UNAVAILABLE', 'The store is away')),
  'no answer': route => route.abort('timedout'),
  'not JSON': route => route.fulfill({ status: 200, contentType: 'application/json', body: '{"cut' }),
}

/** The code by which the page knows each failure. */
const CODES: Readonly<Record<string, string>> = {
  '500': 'INTERNAL_ERROR',
  '503': 'STORE_UNAVAILABLE',
  'no answer': 'UNREACHABLE',
  'not JSON': 'NOT_UNDERSTOOD',
}

/** Operations of the frame; a page says nothing about them (outages.all.test.ts has them). */
const OF_FRAME: ReadonlySet<string> = new Set(['describe session', 'show capabilities'])

/** Says that something failed: instead of content, or over old content. */
const SAID = 'main :is([data-problem], [data-stale])'

/** A failure is said within this time in ms, also on a busy machine. The console asks a second time after 1 s. */
const SAID_WITHIN_MS = 30_000
/** After its patience a page says at once that no answer came. A second silent wait would take longer than this. */
const PATIENCE_ENDS_WITHIN_MS = 12_000

/** The time in ms in which most answers must begin (console/api/client.ts). */
const PATIENCE_MS = 15_000

interface Fault {
  readonly name: string
  /** The only operation that fails; all of them without it. */
  readonly only?: Operation
}

/** Lets requests of a page fail while `fault` is set, and notes the operations that it asks for. */
async function tamper(page: Page) {
  const asked = new Set<Operation>()
  const state: { fault: Fault | null } = { fault: null }
  await page.route('**/api/v1/**', async route => {
    const operation = operationOf(route.request().method(), route.request().url())
    if (operation === null || OF_FRAME.has(operation)) return await route.continue()
    asked.add(operation)
    const { fault } = state
    if (fault === null || (fault.only ?? operation) !== operation) return await route.continue()
    await FAILURES[fault.name]!(route)
  })
  return { asked, state }
}

/**
 * Serves the broker at `url` under another address. While `isHeld` is set, the answers of some operations never come,
 * and their connections stay in use: a route of the browser would leave them free.
 */
async function startHolding(cleanUp: CleanUp, url: string, holds: (operation: Operation) => boolean) {
  const state = { isHeld: true }
  const server = createServer((asked, answer) => {
    const operation = operationOf(asked.method!, `${url}${asked.url}`)
    if (state.isHeld && operation !== null && !OF_FRAME.has(operation) && holds(operation)) return
    const { method, headers } = asked
    const passed = requestOf(`${url}${asked.url}`, { method: method!, headers }, got => {
      answer.writeHead(got.statusCode!, got.headers)
      got.pipe(answer)
    })
    passed.on('error', () => answer.destroy())
    asked.pipe(passed)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUp.after(async () => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, state }
}

/** Runs in the page: gives each request at most this time in ms. */
function shortenPatience(mostMs: number): void {
  const timeout = AbortSignal.timeout.bind(AbortSignal)
  AbortSignal.timeout = ms => timeout(Math.min(ms, mostMs))
}

describe('an answer that fails', { skip: noBrowser, concurrency: 2 }, () => {
  const own = suiteCleanUp()
  let browser: Browser
  let world: TieredWorld
  before(async () => {
    world = await startTieredWorld(own, 'embedded')
    await seed(world)
    await seedSchemas(world)
    await seedTier(world)
    browser = await openBrowser()
  })
  after(async () => {
    await browser?.close()
    await own.run()
  })

  for (const lane of [0, 1])
    describe(`on every page, ${lane + 1} of 2`, { concurrency: 1 }, () => {
      let page: Page
      let tampered: Awaited<ReturnType<typeof tamper>>
      before(async () => {
        ;({ page } = await visit(own, browser, world.url))
        await page.goto('/')
        await signIn(page, ADMIN.username, ADMIN.password)
        await page.getByRole('navigation', { name: 'Pages' }).waitFor()
        tampered = await tamper(page)
      })
      for (const [row, { name, address }] of ownStops.filter((_, at) => at % 2 === lane).entries())
        test(name, { timeout: 500_000 }, async () => {
          const { asked, state } = tampered
          state.fault = null
          // Else requests that the page before sends in its last moment would count as those of this page.
          await leave(page)
          asked.clear()
          await page.goto(address)
          await settle(page)
          const title = await page.locator('main h1').first().innerText()
          const length = (await page.locator('main').innerText()).length
          const wrong: string[] = []

          // Old data stays with its time, and is current again afterwards.
          for (const fault of asked.size === 0 ? [] : partOf(Object.keys(FAILURES), row, 2)) {
            state.fault = { name: fault }
            await page.getByRole('button', { name: 'Refresh now' }).click()
            // The browser looks for it. Asking it again and again would cost more than the page itself.
            const code = CODES[fault]
            const isSaid = await page
              .locator(`main :is([data-problem="${code}"], [data-stale="${code}"])`)
              .first()
              .waitFor({ state: 'attached', timeout: SAID_WITHIN_MS })
              .then(
                () => true,
                () => false,
              )
            if (!isSaid) wrong.push(`${fault}: is not said over old data`)
            if ((await page.locator('main').innerText()).length < length / 2) wrong.push(`${fault}: old data is gone`)
          }
          state.fault = null
          await page.getByRole('button', { name: 'Refresh now' }).click()
          const none = { state: 'detached', timeout: SAID_WITHIN_MS } as const
          await page
            .locator(SAID)
            .first()
            .waitFor(none)
            .catch(() => wrong.push('does not recover'))

          // A first answer that fails is said in its place, with a way to try again.
          for (const operation of partOf([...asked].sort(), row)) {
            state.fault = { name: '500', only: operation }
            await page.goto(address)
            await page.locator('main h1').first().waitFor()
            // A page may say it in the place of one number, as the reason why it is unknown, or in one line for all
            // checks.
            const said = page.locator(
              `${SAID}, main [title*="Internal error"], main :text("Internal error"), main :text("got no answer")`,
            )
            const isSaid = await said
              .first()
              .waitFor({ timeout: SAID_WITHIN_MS })
              .then(
                () => true,
                () => false,
              )
            if (!isSaid) wrong.push(`${operation}: a first failure is not said`)
            const isBare = (await page.locator('main [data-problem]').count()) > 0
            if (isBare && (await page.getByRole('button', { name: 'Try again' }).count()) === 0)
              wrong.push(`${operation}: no way to try again`)
            if ((await page.locator('main h1').first().innerText()) === '') wrong.push(`${operation}: no heading`)
            state.fault = null
          }
          assert.notEqual(title, 'This page cannot be shown')
          assert.deepEqual(wrong, [])
        })
    })

  describe('that never comes', { concurrency: true }, () => {
    // The overview asks for the other answers after its first one. It is the page with the most requests at once.
    const places = { overview: '/', topics: addressOf('topics'), messages: addressOf('messages'), storage: '/storage' }
    for (const [name, address] of Object.entries(places))
      test(`${name}: it waits, says so in time, and is right after another try`, { timeout: 500_000 }, async t => {
        const holds = (operation: Operation) => name !== 'overview' || operation !== 'read topic metrics'
        const { url, state } = await startHolding(t, world.url, holds)
        const { page, assertQuiet } = await visitAs(t, browser, url, world.admin.cookie)
        // A look through records may take a minute; here all patience is the same.
        if (name === 'messages') await page.addInitScript(shortenPatience, PATIENCE_MS)
        await page.goto(address)
        const heading = page.getByRole('heading', { level: 1 })
        const skeleton = page.locator('main').getByRole('status', { name: 'Loading' }).first()
        await heading.waitFor()
        await skeleton.waitFor()
        const title = await heading.innerText()
        await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Security' }).click()
        await page.getByRole('heading', { name: 'Security', level: 1 }).waitFor()
        await page.goBack()
        await page.getByRole('heading', { name: title, level: 1 }).waitFor()
        await skeleton.waitFor()
        const said = page.locator('main [data-problem=NO_ANSWER]').first()
        await said.waitFor({ timeout: PATIENCE_MS + PATIENCE_ENDS_WITHIN_MS })
        assert.match(await said.innerText(), /does not answer/)
        state.isHeld = false
        await page.getByRole('button', { name: 'Try again' }).first().click()
        // One press is enough for everything that failed, also where a number's title says it.
        const rest = page.locator(`${SAID}, main :text("does not answer"), main [title*="does not answer"]`)
        await eventually('all is right again', async () => (await rest.count()) === 0, SAID_WITHIN_MS)
        await settle(page)
        assert.notEqual(await page.locator('main :is(table, figure, dl)').count(), 0)
        assertQuiet()
      })
  })

  test('a page whose code does not come has its frame and a placeholder, and is right when the code comes', async t => {
    const { page, assertQuiet } = await visitAs(t, browser, world.url, world.admin.cookie)
    const navigation = page.getByRole('navigation', { name: 'Pages' })
    const skeleton = page.locator('main').getByRole('status', { name: 'Loading' })
    for (const begin of [
      () => page.goto('/topics', { waitUntil: 'commit' }),
      () => navigation.getByRole('link', { name: 'Topics' }).click(),
    ]) {
      const { promise: held, resolve: release } = Promise.withResolvers<void>()
      await page.route(/\/assets\/topics-/, async route => {
        await held
        await route.continue()
      })
      await begin()
      await navigation.waitFor()
      await skeleton.waitFor()
      assert.equal(await page.locator('main h1:visible').count(), 0, 'the page before is gone')
      release()
      await page.getByRole('heading', { name: 'Topics', level: 1 }).waitFor()
      await settle(page)
      // The code of this page is not loaded again, so that the page begins anew on another one.
      await page.goto(addressOf('topic'))
      await settle(page)
    }
    assertQuiet()
  })
})
