// The first person at a new broker makes the first administrator and lands on the overview, signed in.

import assert from 'node:assert/strict'
import { visit } from '../browser.ts'
import { startBare } from '../world.ts'
import type { Journey } from './journey.ts'

export const firstRun: Journey = {
  name: 'first-run',
  async run({ t, browser, store }) {
    const { url } = await startBare(t, store, { 'admin.bootstrap': false })
    const { page, assertQuiet } = await visit(t, browser, url)
    await page.goto('/topics')
    await page.getByRole('heading', { name: 'Create the first administrator' }).waitFor()
    assert.equal(new URL(page.url()).pathname, '/setup')

    // A password that the broker refuses is answered at its field.
    await page.getByLabel('Username').fill('ada')
    await page.getByLabel('New password', { exact: true }).fill('short')
    await page.getByLabel('New password again').fill('short')
    await page.getByRole('button', { name: 'Create and sign in' }).click()
    await page.getByText('The value is shorter than 8 bytes.').waitFor()

    await page.getByLabel('New password', { exact: true }).fill('correct horse battery')
    await page.getByLabel('New password again').fill('correct horse battery')
    await page.getByRole('button', { name: 'Create and sign in' }).click()
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    await page.getByRole('button', { name: /^Account and preferences: ada/ }).waitFor()

    // The setup is over for everybody.
    await page.goto('/setup')
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    assertQuiet()
  },
}
