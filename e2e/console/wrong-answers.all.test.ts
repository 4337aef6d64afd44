// Answers that are no answers of this broker, for every request of every page: a page of a proxy, half a JSON, JSON of
// another shape. The page stays, says so, and shows what it had before.
//
// In one run each page meets a sixth of the answers that are the same for all pages, and a third of its own answers
// that are spoiled. The seed chooses them. `npm run console -- wrong-answers` tries every answer on every page.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page, Route } from 'playwright-core'
import { isLong } from '../../testing/at-length.ts'
import { noBrowser, openBrowser, type Visit, visitAs } from './browser.ts'
import { suiteCleanUp } from './clean-ups.ts'
import { partOf } from './part.ts'
import { NAMES, seed } from './seeded.ts'
import { seedSchemas } from './seeded-schemas.ts'
import { seedTier } from './seeded-tier.ts'
import { addressOf, pageStops, type Stop } from './tour.ts'
import { startTieredWorld, type TieredWorld } from './world.ts'

const JSON_TYPE = 'application/json'
/** The parts of the pages of which each of these answers has one. */
const PARTS = 6

/** The status, the type and the body. */
const WRONG: Readonly<Record<string, readonly [number, string, string]>> = {
  'a page of a proxy': [200, 'text/html', '<html><body><h1>Sign in to the guest network</h1></body></html>'],
  nothing: [204, JSON_TYPE, ''],
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

/** Changes of every value inside the members of a real answer. */
const SPOILED: Readonly<Record<string, (value: unknown) => unknown>> = {
  'numbers are texts': value => (typeof value === 'number' ? String(value) : value),
  'texts are numbers': value => (typeof value === 'string' ? 7 : value),
  'texts are objects': value => (typeof value === 'string' ? { text: value } : value),
  'lists begin with null': value => (Array.isArray(value) ? [null, ...value] : value),
  'lists are texts': value => (Array.isArray(value) ? 'a list' : value),
  'objects are texts': value => (isObject(value) ? 'an object' : value),
  'objects are lists': value => (isObject(value) ? Object.values(value) : value),
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the answer with its own members as they are, and everything in them changed. */
function spoil(answer: object, change: (value: unknown) => unknown): object {
  const inside = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(deeply)
    return isObject(value) ? each(value, deeply) : value
  }
  const deeply = (value: unknown) => change(inside(value))
  return each(answer, inside)
}

function each(value: object, change: (value: unknown) => unknown): object {
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, change(member)]))
}

describe('answers that are none', { skip: noBrowser }, () => {
  const own = suiteCleanUp()
  let browser: Browser
  let world: TieredWorld
  let visited: Visit
  let page: Page
  let wrong: readonly [number, string, string] | null = null
  let change: ((value: unknown) => unknown) | null = null
  before(async () => {
    world = await startTieredWorld(own, 'embedded')
    await seed(world)
    await seedSchemas(world)
    await seedTier(world)
    browser = await openBrowser()
    visited = await visitAs(own, browser, world.url, world.admin.cookie)
    ;({ page } = visited)
    await page.route(/\/api\/v1\/(?!auth\/)/, async (route: Route) => {
      // The test may end while the answer is fetched.
      const how = change
      if (how !== null) {
        const response = await route.fetch()
        return route.fulfill({ response, json: spoil((await response.json()) as object, how) })
      }
      if (wrong === null) return route.continue()
      const [status, contentType, body] = wrong
      return route.fulfill({ status, contentType, body })
    })
  })
  after(async () => {
    await browser?.close()
    await own.run()
  })

  /** Visits these pages. Returns how many of them say that an answer was wrong. */
  async function sufferAll(stops: readonly Stop[]): Promise<number> {
    const begun = visited.complaints.length
    const broken: string[] = []
    let troubled = 0
    for (const { name, address } of stops) {
      await page.goto(address)
      await page.locator('main h1').first().waitFor()
      // Some tabs ask for nothing. A skeleton without a word about the answer would stay for ever.
      await page
        .locator('html:is(:has([data-problem]), :not(:has([aria-label=Loading])))')
        .waitFor()
        .catch(() => broken.push(`${name}: loads for ever`))
      const heading = await page.locator('main h1').first().innerText()
      const hasNavigation = await page.getByRole('navigation', { name: 'Pages', exact: true }).isVisible()
      if (heading === 'This page cannot be shown' || !hasNavigation) broken.push(`${name}: ${heading}`)
      if ((await page.locator('[data-problem]').count()) > 0) troubled++
    }
    assert.deepEqual(broken, [])
    assert.deepEqual(visited.complaints.slice(begun), [])
    return troubled
  }

  for (const [row, [kind, answer]] of Object.entries(WRONG).entries())
    test(`every page stays if the answer is ${kind}`, { timeout: 500_000 }, async () => {
      wrong = answer
      await sufferAll(partOf(pageStops, row, PARTS))
    })

  test('the console says so if the broker does not say who has signed in', async () => {
    wrong = null
    const begun = visited.complaints.length
    await page.route('**/api/v1/auth/status', route => route.fulfill({ status: 204 }), { times: 1 })
    await page.goto(addressOf('topics'))
    await page.locator('[data-problem=NOT_UNDERSTOOD]').waitFor()
    await page.getByRole('link', { name: NAMES.wide }).first().waitFor()
    assert.deepEqual(visited.complaints.slice(begun), [])
  })

  /** Of all kinds but the first: the pages that were visited, and those that said so. */
  const total = { visited: 0, troubled: 0 }

  for (const [row, [kind, how]] of Object.entries(SPOILED).entries())
    test(`every page stays if in the answer ${kind}`, { timeout: 500_000 }, async () => {
      wrong = null
      change = how
      const stops = partOf(pageStops, row)
      const troubled = await sufferAll(stops)
      change = null
      // A text in place of a number is shown.
      if (how === SPOILED['numbers are texts']) return
      total.visited += stops.length
      total.troubled += troubled
      // A third of the pages may be those that ask for little.
      assert.ok(troubled > (isLong ? stops.length / 2 : 0), `${troubled} of ${stops.length} pages say so`)
    })

  test('more than half of the pages say so', () => {
    console.log(`${total.troubled} of ${total.visited} pages say that an answer was spoiled`)
    assert.ok(total.troubled > total.visited / 2, `${total.troubled} of ${total.visited}`)
  })

  for (const [kind, of] of [
    ['texts', String],
    ['beyond every number that a chart can draw', () => 1e300],
  ] as const)
    test(`a chart is drawn if its numbers are ${kind}`, async () => {
      wrong = null
      change = null
      await page.goto(addressOf('group'))
      // The broker writes down the lag of a group every 15 s, and the chart begins with two of them.
      const canvas = page.locator('[data-chart] canvas').first()
      await canvas.waitFor({ timeout: 60_000 })
      change = value => (typeof value === 'number' ? of(value) : value)
      const begun = visited.complaints.length
      await page.reload()
      await canvas.waitFor()
      // A picture that is never finished would keep the page from answering.
      await page.getByRole('button', { name: /^Show .* as a table$/ }).click()
      await page.locator('[data-chart] table').waitFor()
      change = null
      assert.deepEqual(visited.complaints.slice(begun), [])
    })

  for (const [kind, answer] of [
    ['an empty object', WRONG['an empty object']!],
    ['one with null for a row', [200, JSON_TYPE, '{"topics":[null],"total":1,"offset":0}']],
    ['one with a number for a name', [200, JSON_TYPE, '{"topics":[{"name":7}],"total":1,"offset":0}']],
  ] as const)
    test(`a page that has data keeps it if the next answer is ${kind}, and is right again with a good one`, async () => {
      wrong = null
      await page.goto(addressOf('topics'))
      await page.getByRole('link', { name: NAMES.wide }).first().waitFor()
      wrong = answer
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
