// A session that ends under a page: the sign-in opens over it, the draft stays, and the refused change runs afterwards.

import assert from 'node:assert/strict'
import { signIn, visit } from '../browser.ts'
import { ADMIN, must, startWorld } from '../world.ts'
import type { Journey } from './journey.ts'

export const sessionExpiry: Journey = {
  name: 'session-expiry',
  async run({ t, browser, store }) {
    const { url, admin } = await startWorld(t, store)
    const { page, assertQuiet } = await visit(t, browser, url)
    await page.goto('/security?tab=credentials')
    await signIn(page, ADMIN.username, ADMIN.password)
    await page.getByRole('button', { name: 'New credential' }).first().click()
    const draft = page.getByRole('dialog', { name: 'New SASL credential' })
    await draft.getByLabel('User').fill('billing')
    await page.context().clearCookies()
    await draft.getByRole('button', { name: 'Create credential' }).click()

    const over = page.getByRole('dialog', { name: 'Your session ended' })
    await over.waitFor()
    assert.equal(await draft.getByLabel('User').inputValue(), 'billing')
    await over.getByLabel('Password', { exact: true }).fill(ADMIN.password)
    await over.getByRole('button', { name: 'Sign in' }).click()
    await over.waitFor({ state: 'hidden' })
    await page.getByRole('dialog', { name: 'The credential of billing' }).waitFor()
    const { username } = await must(admin, 'GET', '/api/v1/credentials/billing')
    assert.equal(username, 'billing')
    await page.getByLabel('I have kept the password').check()
    await page.getByRole('button', { name: 'Close' }).last().click()

    // After signing out, Back shows no data.
    await page.getByRole('button', { name: /^Account and preferences/ }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to Ketch' }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Sign in to Ketch' }).waitFor()
    assert.equal(await page.getByText('billing').count(), 0)
    assertQuiet()
  },
}
