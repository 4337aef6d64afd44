// Answers that are no answers of this broker, for every request of every page: a page of a proxy, half a JSON, JSON of
// another shape. The page stays, says so, and shows what it had before.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page, Route } from 'playwright-core'
import { noBrowser, openBrowser, type Visit, visitAs } from './browser.ts'
import { suiteCleanUp } from './clean-ups.ts'
import { NAMES, seed } from './seeded.ts'
import { addressOf, pageStops } from './tour.ts'
import { startWorld, type World } from './world.ts'

const JSON_TYPE = 'application/json'
/** The status, the type and the body. */
const WRONG: Readonly<Record<string, readonly [number, string, string]>> = {
  'a page of a proxy': [200, 'text/html', '<html><body><h1>Sign in to the guest network</h1></body></html>'],
  'half a JSON': [200, JSON_TYPE, '{"topics":[{'],
  null: [200, JSON_TYPE, 'null'],
  'an empty object': [200, JSON_TYPE, '{}'],
  'a list': [200, JSON_TYPE, '[]'],
  'a text': [200, JSON_TYPE, '"topics"'],
  'a number beyond every number': [200, JSON_TYPE, '1e400'],
  'objects in place of lists': [200, JSON_TYPE, '{"topics":{},"groups":{},"brokers":{},"messages":{},"total":0}'],
  'a problem of another program': [400, JSON_TYPE, '{"code":"X","title":["a"],"detail":{"a":1},"fields":{"q":["x"]}}'],
  'an error of a proxy': [502, 'text/html', '<h1>502 Bad Gateway</h1>'],
}

describe('answers that are none', { skip: noBrowser }, () => {
  const own = suiteCleanUp()
  let browser: Browser
  let world: World
  let visited: Visit
  let page: Page
  let wrong: readonly [number, string, string] | null = null
  before(async () => {
    world = await startWorld(own, 'embedded')
    await seed(world)
    browser = await openBrowser()
    visited = await visitAs(own, browser, world.url, world.admin.cookie)
    ;({ page } = visited)
    await page.route(/\/api\/v1\/(?!auth\/)/, (route: Route) => {
      if (wrong === null) return route.continue()
      const [status, contentType, body] = wrong
      return route.fulfill({ status, contentType, body })
    })
  })
  after(async () => {
    await browser?.close()
    await own.run()
  })

  for (const [kind, answer] of Object.entries(WRONG))
    test(`every page stays if the answer is ${kind}`, { timeout: 120_000 }, async () => {
      wrong = answer
      const begun = visited.complaints.length
      const broken: string[] = []
      for (const { name, address } of pageStops) {
        await page.goto(address)
        await page.locator('main h1').first().waitFor()
        // Some tabs ask for nothing. A skeleton without a word about the answer would stay for ever.
        await page
          .locator('html:is(:has([data-problem]), :not(:has([aria-label=Loading])))')
          .waitFor()
          .catch(() => broken.push(`${name}: loads for ever`))
        const heading = await page.locator('main h1').first().innerText()
        const hasNavigation = await page.getByRole('navigation', { name: 'Pages' }).isVisible()
        if (heading === 'This page cannot be shown' || !hasNavigation) broken.push(`${name}: ${heading}`)
      }
      assert.deepEqual(broken, [])
      assert.deepEqual(visited.complaints.slice(begun), [])
    })

  test('a page that has data keeps it with a wrong answer, and is right again with the next good one', async () => {
    wrong = null
    await page.goto(addressOf('topics'))
    await page.getByRole('link', { name: NAMES.wide }).first().waitFor()
    wrong = WRONG['an empty object']!
    await page
      .getByRole('button', { name: /^Refresh/ })
      .first()
      .click()
    await page.locator('[data-stale=NOT_UNDERSTOOD]').first().waitFor()
    assert.ok(await page.getByRole('link', { name: NAMES.wide }).first().isVisible())
    wrong = null
    await page
      .getByRole('button', { name: /^(Refresh|Try again)/ })
      .first()
      .click()
    await page.locator('[data-stale]').first().waitFor({ state: 'detached' })
  })
})
