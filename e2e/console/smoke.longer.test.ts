// One short way through the console, for each `npm test`: sign in, create a topic, see it, and walk the navigation. The
// long ways are the journeys and the walk over every page.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pages, type Page as Row } from '../../src/api/pages.ts'
import { noBrowser, openBrowser, overflow, signIn, violations, visit } from './browser.ts'
import { settle } from './tour.ts'
import { ADMIN, must, startWorld } from './world.ts'

test('an administrator signs in, creates a topic, sees it, and finds every page', {
  skip: noBrowser,
  timeout: 180_000,
}, async t => {
  const { url, admin } = await startWorld(t, 'embedded')
  const browser = await openBrowser()
  t.after(() => browser.close())
  const { page, assertQuiet, refusals } = await visit(t, browser, url)
  await page.goto('/topics')
  await signIn(page, ADMIN.username, ADMIN.password)
  await page.getByRole('heading', { name: 'Topics', level: 1 }).waitFor()

  await page.getByRole('button', { name: 'Create topic' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Create topic' })
  await dialog.getByLabel('Name', { exact: true }).fill('orders')
  await dialog.getByRole('button', { name: 'Create topic' }).click()
  await dialog.waitFor({ state: 'detached' })
  assert.equal((await must(admin, 'GET', '/api/v1/topics/orders')).name, 'orders')
  await page.goto('/topics')
  await page.getByRole('link', { name: 'orders', exact: true }).click()
  await page.getByRole('heading', { name: 'orders', level: 1 }).waitFor()

  for (const { label, path } of Object.values(pages) as Row[]) {
    if (label === null) continue
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: label }).click()
    await page.waitForURL(`**${path}`)
    await settle(page)
    assert.equal(await overflow(page), 0, path)
  }
  await page.goto('/')
  await settle(page)
  assert.deepEqual(await violations(page), [])
  assertQuiet()
  // Before the sign-in the broker says once that there is no session, and the dialog has drafts of a topic checked.
  const failures = refusals.filter(each => !/^(401|400|409) /.test(each))
  assert.deepEqual(failures, [])
})
