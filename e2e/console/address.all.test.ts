// The address is the state: a control that changes what a page shows changes its address, and the address alone shows
// the same in another browser. Back takes a step back.
//
// The seed chooses every third control of each page. `npm run console -- address` uses all of them.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { eventually } from '../../testing/eventually.ts'
import { noBrowser, openBrowser, signIn, visit } from './browser.ts'
import { suiteCleanUp } from './clean-ups.ts'
import { partOf } from './part.ts'
import { NAMES, seed } from './seeded.ts'
import { seedSchemas } from './seeded-schemas.ts'
import { seedTier } from './seeded-tier.ts'
import { addressOf, pageStops, settle } from './tour.ts'
import { ADMIN, startTieredWorld, type TieredWorld } from './world.ts'

/** Returns what a page shows, without times and rates, which change by themselves. */
async function viewOf(page: Page): Promise<string> {
  const text = await page.evaluate<string>(`(() => {
    const fields = [...document.querySelectorAll('main :is(input, select)')]
    return fields.map(each => each.type === 'checkbox' ? each.checked : each.value).join(' | ') + ' ' + document.querySelector('main').innerText
  })()`)
  return text
    .replaceAll(/\d+:\d\d(:\d\d)?(\.\d+)?/g, 'T')
    .replaceAll(/[\d.,]+ ?(ms|s|min|h|d)\b( ago)?/g, 'A')
    .replaceAll(/[\d.,]+ ?(\w+)?\/s/g, 'R')
    .replaceAll(/\s+/g, ' ')
}

/** The controls of a view. A select takes its last value, a switch is pressed, a filter is filled, a column sorted. */
const CONTROLS = 'main :is(select, input[type=checkbox], input[type=search], th button)'

async function change(page: Page, at: number): Promise<void> {
  const control = page.locator(CONTROLS).nth(at)
  const kind = await control.evaluate(element =>
    element.tagName === 'SELECT' ? 'select' : element.getAttribute('type'),
  )
  if (kind === 'select') {
    const values = await control.locator('option:not([disabled])').evaluateAll(found => found.map(each => each.value))
    const current = await control.inputValue()
    await control.selectOption(values.filter(value => value !== current).at(-1) ?? current)
  } else if (kind === 'search') await control.fill('o')
  else await control.click()
}

describe('the address of a page', { skip: noBrowser, concurrency: 2 }, () => {
  const own = suiteCleanUp()
  let browser: Browser
  let world: TieredWorld
  const lanes: { here: Page; there: Page }[] = []
  before(async () => {
    world = await startTieredWorld(own, 'embedded')
    await seed(world)
    await seedSchemas(world)
    await seedTier(world)
    browser = await openBrowser()
    for (const _ of [0, 1]) {
      const { page: here } = await visit(own, browser, world.url)
      await here.goto('/')
      await signIn(here, ADMIN.username, ADMIN.password)
      await here.getByRole('navigation', { name: 'Pages' }).waitFor()
      // The other browser has the session and no preference of this one.
      const { cookies } = await here.context().storageState()
      const { page: there } = await visit(own, browser, world.url, { storageState: { cookies, origins: [] } })
      lanes.push({ here, there })
    }
  })
  after(async () => {
    await browser?.close()
    await own.run()
  })

  for (const lane of [0, 1])
    describe(`of every page, ${lane + 1} of 2`, { concurrency: 1 }, () => {
      for (const [row, { name, address }] of pageStops.filter((_, at) => at % 2 === lane).entries())
        test(`${name} shows the same elsewhere, whichever control was used`, { timeout: 500_000 }, async () => {
          const { here, there } = lanes[lane]!
          const wrong: string[] = []
          await here.goto(address)
          await settle(here)
          const start = here.url()
          const count = await here.locator(CONTROLS).count()
          for (const at of partOf([...Array(count).keys()], row)) {
            if (here.url() !== start || (await here.locator('dialog[open]').count()) > 0) {
              await here.goto(address)
              await settle(here)
            }
            const control = here.locator(CONTROLS).nth(at)
            // A control of a phone is not seen here, and a form's own value is a draft.
            if (!(await control.isVisible()) || !(await control.isEnabled())) continue
            const what = await control.evaluate(element => element.labels?.[0]?.innerText ?? element.textContent)
            if (await control.evaluate(element => element.closest('form, [data-operation]') !== null)) continue
            const before = here.url()
            await change(here, at)
            // A control may leave the address as it is. Then the other browser shows that the view is the same too.
            await eventually('the address follows', () => here.url() !== before, 2_000).catch(() => {})
            // A dialog may be loaded first.
            if ((await here.locator('dialog[open]').count()) > 0) continue
            let views: readonly [string, string] = ['', '']
            const isSameAt = async (url: string) => {
              await there.goto(url)
              await settle(here)
              await settle(there)
              const areSame = async () => {
                views = [await viewOf(here), await viewOf(there)]
                if (views[0] === views[1]) return true
                // A rate may have changed between the two. A refresh that the next one interrupts would never end.
                for (const page of [here, there]) await page.getByRole('button', { name: 'Refresh now' }).click()
                for (const page of [here, there]) await settle(page)
                return false
              }
              return await eventually('both show the same', areSame, 5_000).then(
                () => true,
                () => false,
              )
            }
            let url = here.url()
            let isSame = await isSameAt(url)
            // The address may follow late.
            for (; !isSame && here.url() !== url; isSame = await isSameAt(url)) url = here.url()
            if (!isSame) wrong.push(`${what} (${here.url()}):\n  here:  ${views[0]}\n  there: ${views[1]}`)
          }
          assert.deepEqual(wrong, [])
        })
    })

  test('closing a topic that is made like another one leads back to that topic', { timeout: 500_000 }, async () => {
    // The pages of the lanes may still be in use.
    const { page: here } = await visit(own, browser, world.url, {
      storageState: await lanes[0]!.here.context().storageState(),
    })
    await here.goto(addressOf('topic', {}, { topic: NAMES.topic }))
    const start = here.url()
    await here.getByRole('button', { name: 'Create like this' }).click()
    const dialog = here.getByRole('dialog', { name: `Create topic like ${NAMES.topic}` })
    await dialog.getByRole('textbox', { name: 'Name' }).waitFor()
    await here.keyboard.press('Escape')
    await eventually('the topic is shown again', () => here.url() === start)
    await dialog.waitFor({ state: 'detached' })
  })

  test('Back closes a record and leaves a tab', { timeout: 500_000 }, async () => {
    const { page } = await visit(own, browser, world.url, {
      storageState: await lanes[0]!.here.context().storageState(),
    })
    await page.goto(addressOf('messages'))
    await settle(page)
    await page.locator('main tbody tr').first().click()
    await page.locator('[data-record]').waitFor()
    assert.match(page.url(), /at=\d-\d+/)
    await page.goBack()
    await page.locator('[data-record]').waitFor({ state: 'detached' })
    await page.goto(addressOf('topic'))
    await page.getByRole('link', { name: 'Partitions' }).click()
    await page.waitForURL('**/topics/*?tab=partitions')
    await page.goBack()
    await page.waitForURL(`**${addressOf('topic', {}, { topic: NAMES.topic })}`)
  })
})
