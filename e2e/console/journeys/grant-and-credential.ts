// An ADMIN gives a Kafka client a credential and the right to consume, and the client uses what the console shows.

import assert from 'node:assert/strict'
import { signIn, visit } from '../browser.ts'
import { ADMIN, must, startWorld } from '../world.ts'
import type { Journey } from './journey.ts'

export const grantAndCredential: Journey = {
  name: 'grant-and-credential',
  async run({ t, browser, store }) {
    const sasl = { 'broker.sasl.enabled': true, 'broker.acl.enabled': true }
    const { url, admin } = await startWorld(t, store, sasl)
    await must(admin, 'POST', '/api/v1/topics', { name: 'orders', partitions: 1 })
    const { page, assertQuiet } = await visit(t, browser, url)
    await page.goto('/security?tab=credentials')
    await signIn(page, ADMIN.username, ADMIN.password)
    await page.getByRole('button', { name: 'New credential' }).first().click()
    await page.getByLabel('User').fill('billing')
    await page.getByRole('button', { name: 'Create credential' }).click()
    const shown = page.getByRole('dialog', { name: 'The credential of billing' })
    const password = await shown.getByLabel('Password', { exact: true }).innerText()
    const settings = await shown.locator('pre').last().innerText()
    assert.ok(settings.includes(`sasl.password=${password}`))
    await page.getByLabel('I have kept the password').check()
    await shown.getByRole('button', { name: 'Close' }).last().click()

    await page.getByRole('link', { name: 'ACLs' }).click()
    await page.getByRole('button', { name: 'Grant access' }).first().click()
    await page.getByLabel('Allow').fill('billing')
    await page.getByLabel('To', { exact: true }).selectOption('consume')
    await page.getByLabel('Topic', { exact: true }).fill('ord*')
    await page.getByText('Matches 1 topic today.').waitFor()
    await page.getByLabel('Group', { exact: true }).fill('invoices')
    await page.getByRole('button', { name: 'Grant', exact: true }).click()
    await page.getByText('Granted 2 rules to billing.').waitFor()
    const { rules } = await must(admin, 'GET', '/api/v1/acls/billing')
    assert.deepEqual(
      rules.map(({ resourceType, resource, operation }: Record<string, string>) => [resourceType, resource, operation]),
      [
        ['TOPIC', 'ord*', 'READ'],
        ['GROUP', 'invoices', 'READ'],
      ],
    )

    await page.getByRole('button', { name: 'Take back READ of billing on invoices' }).click()
    const dialog = page.getByRole('dialog', { name: 'Take back a rule' })
    assert.equal(await dialog.getByRole('button', { name: 'Take back' }).isDisabled(), true)
    await dialog.getByLabel(/^Type billing/).fill('billing')
    await dialog.getByRole('button', { name: 'Take back' }).click()
    await dialog.waitFor({ state: 'hidden' })
    assert.equal((await must(admin, 'GET', '/api/v1/acls/billing')).rules.length, 1)
    assertQuiet()
  },
}
