// A topic is deleted only after its name is typed; then it is gone in the broker. A VIEWER has no button for it.

import assert from 'node:assert/strict'
import { signInAt } from '../../../testing/admin-client.ts'
import { visitAs } from '../browser.ts'
import { append } from '../records.ts'
import { must, startWorld, VIEWER } from '../world.ts'
import type { Journey } from './journey.ts'

export const deleteTopic: Journey = {
  name: 'delete-topic',
  async run({ t, browser, store }) {
    const { url, admin, connect } = await startWorld(t, store)
    for (const name of ['orders', 'orders-2']) await must(admin, 'POST', '/api/v1/topics', { name, partitions: 2 })
    await append(await connect(), 'orders', 1, [{ value: 'one' }, { value: 'two' }])

    const { cookie } = await signInAt(url, VIEWER.username, VIEWER.password)
    const viewer = await visitAs(t, browser, url, cookie)
    await viewer.page.goto('/topics/orders')
    await viewer.page.getByRole('heading', { name: 'orders', level: 1 }).waitFor()
    await viewer.page.getByText('2 records').first().waitFor()
    assert.equal(await viewer.page.getByRole('button', { name: 'Delete topic' }).count(), 0)
    assert.equal(await viewer.page.locator('[data-operation]').count(), 0)

    const { page, assertQuiet } = await visitAs(t, browser, url, admin.cookie)
    await page.goto('/topics')
    await page.getByRole('link', { name: 'orders', exact: true }).click()
    await page.getByRole('button', { name: 'Delete topic' }).click()
    const dialog = page.getByRole('dialog', { name: 'Delete orders' })
    await dialog
      .getByText('Records2')
      .or(dialog.getByText('2', { exact: true }))
      .first()
      .waitFor()
    await dialog.getByText('No consumer group has a position in it.').waitFor()
    const button = dialog.getByRole('button', { name: 'Delete topic' })
    const typed = dialog.getByLabel('Type orders to confirm')
    for (const wrong of ['', 'order', 'Orders', 'orders ']) {
      await typed.fill(wrong)
      assert.equal(await button.isDisabled(), true, JSON.stringify(wrong))
      await typed.press('Enter')
    }
    await must(admin, 'GET', '/api/v1/topics/orders')
    await typed.fill('orders')
    await button.click()
    await page.getByText('Deleted orders.').waitFor()
    await page.getByRole('heading', { name: 'Topics', level: 1 }).waitFor()
    await page.getByRole('link', { name: 'orders', exact: true }).waitFor({ state: 'hidden' })
    await page.getByRole('link', { name: 'orders-2', exact: true }).waitFor()
    assert.equal((await admin.ask('GET', '/api/v1/topics/orders')).status, 404)
    await must(admin, 'GET', '/api/v1/topics/orders-2')

    // Somebody who still has the page open reads that it is gone.
    await viewer.page.reload()
    await viewer.page
      .getByText(/does not exist|no topic/i)
      .first()
      .waitFor()
    viewer.assertQuiet()
    assertQuiet()
  },
}
