// The password that Ketch ships: on this machine a banner asks to change it; from another address nothing but the
// change is possible. Afterwards the user signs in with the new one.

import assert from 'node:assert/strict'
import { networkInterfaces } from 'node:os'
import { signIn, visit } from '../browser.ts'
import { startBare } from '../world.ts'
import type { Journey } from './journey.ts'

const SHIPPED = 'change-me-now'
const NEW = 'correct horse battery'

/** Returns an address of this machine that is not loopback; null if it has none. */
function outerAddress(): string | null {
  const all = Object.values(networkInterfaces()).flatMap(each => each ?? [])
  return all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? null
}

export const shippedPassword: Journey = {
  name: 'shipped-password',
  async run({ t, browser, store }) {
    const { broker, url } = await startBare(t, store, { 'server.address': '0.0.0.0', 'admin.password': SHIPPED })
    const here = await visit(t, browser, url)
    await here.page.goto('/')
    await signIn(here.page, 'admin', SHIPPED)
    await here.page.locator('[data-banner=shipped-password]').waitFor()
    await here.page.getByRole('link', { name: 'Topics' }).click()
    await here.page.getByRole('heading', { name: 'Topics', level: 1 }).waitFor()

    const address = outerAddress()
    const there = await visit(t, browser, address === null ? url : `http://${address}:${broker.httpPort}`)
    const { page } = there
    await page.goto('/topics')
    await signIn(page, 'admin', SHIPPED)
    if (address === null) await page.goto('/password')
    await page.getByRole('heading', { name: 'Change password' }).waitFor()
    if (address !== null) {
      assert.equal(await page.getByRole('link', { name: 'Topics' }).count(), 0)
      await page.goto('/groups')
      await page.getByRole('heading', { name: 'Change password' }).waitFor()
      const before = there.refusals.length
      await page.goto('/topics')
      await page.getByRole('heading', { name: 'Change password' }).waitFor()
      const refused = there.refusals.slice(before)
      assert.deepEqual(refused, [...new Set(refused)], 'no read is refused twice')
    }
    await page.getByLabel('Current password').fill('not this one')
    await page.getByLabel('New password', { exact: true }).fill(NEW)
    await page.getByLabel('New password again').fill(NEW)
    await page.getByRole('button', { name: 'Change password' }).click()
    await page.getByText('This is not the current password.').waitFor()
    await page.getByLabel('Current password').fill(SHIPPED)
    await page.getByRole('button', { name: 'Change password' }).click()

    await page.getByRole('heading', { name: 'Sign in to Ketch' }).waitFor()
    await signIn(page, 'admin', NEW)
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
    assert.equal(await page.locator('[data-banner=shipped-password]').count(), 0)
    here.assertQuiet()
    there.assertQuiet()
  },
}
