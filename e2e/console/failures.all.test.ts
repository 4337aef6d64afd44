// Each answer that a page asks for fails in each way, one at a time: the page stays, says what failed with a way to try
// again, and keeps its old data with its time.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page, Route } from 'playwright-core'
import { eventually } from '../../testing/eventually.ts'
import { noBrowser, openBrowser, signIn, visit } from './browser.ts'
import { suiteCleanUp } from './clean-ups.ts'
import { type Operation, operationOf } from './operations.ts'
import { seed } from './seeded.ts'
import { pageStops as ownStops, settle } from './tour.ts'
import { ADMIN, startWorld, type World } from './world.ts'

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

describe('an answer that fails', { skip: noBrowser, concurrency: 2 }, () => {
  const own = suiteCleanUp()
  let browser: Browser
  let world: World
  before(async () => {
    world = await startWorld(own, 'embedded')
    await seed(world)
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
      for (const { name, address } of ownStops.filter((_, at) => at % 2 === lane))
        test(name, { timeout: 60_000 }, async () => {
          const { asked, state } = tampered
          state.fault = null
          asked.clear()
          await page.goto(address)
          await settle(page)
          const title = await page.locator('main h1').first().innerText()
          const length = (await page.locator('main').innerText()).length
          const wrong: string[] = []

          // Old data stays with its time, in each way of failing, and is current again afterwards.
          for (const fault of asked.size === 0 ? [] : Object.keys(FAILURES)) {
            state.fault = { name: fault }
            await page.getByRole('button', { name: 'Refresh now' }).click()
            const isSaid = await eventually('it is said', async () => {
              const codes = await page
                .locator(SAID)
                .evaluateAll(found => found.map(each => each.dataset.problem ?? each.dataset.stale))
              return codes.includes(CODES[fault])
            }).then(
              () => true,
              () => false,
            )
            if (!isSaid) wrong.push(`${fault}: is not said over old data`)
            if ((await page.locator('main').innerText()).length < length / 2) wrong.push(`${fault}: old data is gone`)
          }
          state.fault = null
          await page.getByRole('button', { name: 'Refresh now' }).click()
          await eventually('all is right again', async () => (await page.locator(SAID).count()) === 0).catch(() =>
            wrong.push('does not recover'),
          )

          // A first answer that fails is said in its place, with a way to try again.
          for (const operation of [...asked]) {
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
              .waitFor({ timeout: 5_000 })
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
})
