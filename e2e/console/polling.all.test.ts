// How often a page that its user leaves open asks the broker: little while it is seen, nothing while it is hidden or
// its updates are paused, and never twice at once for the same answer.
//
// Each run watches every second page; the seed chooses them. `npm run console -- polling` watches all of them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { AGENT_SETTINGS } from '../../testing/agent-client.ts'
import { noBrowser, openBrowser, signIn, type Visit, visit } from './browser.ts'
import { partOf } from './part.ts'
import { seed } from './seeded.ts'
import { seedTier } from './seeded-tier.ts'
import { pageStops, settle } from './tour.ts'
import { ADMIN, startTieredWorld } from './world.ts'

const MINUTE_MS = 60_000
/** A whole turn of the slowest answers, which are asked for every 30 s. */
const WATCHED_MS = 30_000
const MOST_A_MINUTE = 40
/** The start and the end of the time may each catch a request of the turn before or after it. */
const OF_OTHER_TURNS = 2
/** Requests that are under way when the page is hidden may still end. */
const SETTLING_MS = 1_000

/** Makes the page believe that its tab is in the background, or in front again. */
async function hide(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate(`
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => ${isHidden} ? 'hidden' : 'visible' })
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${isHidden} })
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`)
}

/** Notes the requests of a page to the API, and those that begin while the same one is under way. */
function listen(page: Page) {
  const sent: string[] = []
  const overlapping: string[] = []
  const underWay = new Map<string, number>()
  const count = (url: string, change: 1 | -1) => {
    const now = (underWay.get(url) ?? 0) + change
    underWay.set(url, now)
    return now
  }
  page.on('request', request => {
    if (!request.url().includes('/api/')) return
    sent.push(request.url())
    if (count(request.url(), 1) > 1) overlapping.push(request.url())
  })
  page.on('requestfinished', request => count(request.url(), -1))
  page.on('requestfailed', request => count(request.url(), -1))
  return { sent, overlapping }
}

test('a page asks little while it is seen, and nothing while it is hidden or paused', {
  skip: noBrowser,
  // The watching takes 100 s; opening the pages may take minutes on a slow machine.
  timeout: 500_000,
}, async t => {
  const world = await startTieredWorld(t, 'embedded', AGENT_SETTINGS)
  await seed(world)
  await seedTier(world)
  const browser = await openBrowser()
  t.after(() => browser.close())
  const first = await visit(t, browser, world.url)
  await first.page.goto('/')
  await signIn(first.page, ADMIN.username, ADMIN.password)
  await first.page.getByRole('navigation', { name: 'Pages' }).waitFor()
  const storageState = await first.page.context().storageState()
  await first.page.context().close()

  const addresses = partOf(
    pageStops.filter(
      ({ name }) => !name.includes(', ') || /overview|partitions|checks|local|remote|jobs|users|calls/.test(name),
    ),
    0,
    2,
  )
  // The pages are opened one after the other, and then watched together. Each has a browser context of its own: tabs of
  // one context tell each other things.
  const open: { name: string; visited: Visit; heard: ReturnType<typeof listen> }[] = []
  for (const { name, address } of addresses) {
    const visited = await visit(t, browser, world.url, { storageState })
    const heard = listen(visited.page)
    await visited.page.goto(address)
    await settle(visited.page)
    open.push({ name, visited, heard })
  }
  await Promise.all(
    open.map(async ({ name, visited: { page, assertQuiet }, heard: { sent, overlapping } }) => {
      const hear = async () => {
        await page.waitForTimeout(SETTLING_MS)
        sent.length = 0
        await page.waitForTimeout(WATCHED_MS)
        return [...sent]
      }
      const asked = await hear()
      console.log(`${name}: ${asked.length} requests in ${WATCHED_MS / 1000} s`)
      const most = (MOST_A_MINUTE * WATCHED_MS) / MINUTE_MS + OF_OTHER_TURNS
      assert.ok(asked.length <= most, `${name} asks ${asked.length} times, at most ${most}:\n${asked.join('\n')}`)
      await hide(page, true)
      assert.deepEqual(await hear(), [], `${name}, hidden`)
      await hide(page, false)
      await page.getByRole('button', { name: 'Pause updates' }).click()
      assert.deepEqual(await hear(), [], `${name}, paused`)
      assert.deepEqual(overlapping, [], name)
      assertQuiet()
    }),
  )
})
