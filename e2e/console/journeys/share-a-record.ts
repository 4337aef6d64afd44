// One person opens a record and copies the link; another one, who has to sign in first, sees the same record in the
// same view. The address of the page does the same for the list with all its filters.

import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'
import { announcement, signIn, visit, visitAs } from '../browser.ts'
import { append } from '../records.ts'
import { must, startWorld, VIEWER } from '../world.ts'
import type { Journey } from './journey.ts'

const COPYING = { permissions: ['clipboard-read', 'clipboard-write'] }

/** In px: a mark without its word. */
const WIDEST_MARK = 32

const copied = (page: Page) => page.evaluate<string>('navigator.clipboard.readText()')

async function rowsOf(page: Page): Promise<string> {
  await page.locator('table[aria-busy=false] tr[data-key]').first().waitFor()
  return await page.locator('tbody[data-rows]').innerText()
}

export const shareARecord: Journey = {
  name: 'share-a-record',
  async run({ t, browser, store }) {
    const { url, admin, connect } = await startWorld(t, store)
    await must(admin, 'POST', '/api/v1/topics', { name: 'orders', partitions: 2 })
    const wire = await connect()
    for (const partition of [0, 1]) {
      const records = Array.from({ length: 30 }, (_, at) => ({
        key: `key ${at}`,
        value: `{"order":${at},"partition":${partition},"big":73314510714175488}`,
        headers: [{ key: 'trace', value: `${partition}-${at}` }],
      }))
      await append(wire, 'orders', partition, records)
    }
    const one = await visitAs(t, browser, url, admin.cookie, COPYING)
    const { page } = one
    await page.goto('/topics/orders/messages')
    await rowsOf(page)
    await page.getByLabel('Partition', { exact: true }).selectOption('1')
    await page.getByLabel('Order', { exact: true }).selectOption('newest')
    await page.getByLabel('Page size').selectOption('25')
    await page.getByLabel('Search').fill('"order":2')
    await page.getByText('11 records').waitFor()
    // Key and value were decoded. Each says so by a mark, so that the text has the room.
    const marks = await page.locator('tr[data-key="1-27"] [data-status=decoded]').all()
    assert.equal(marks.length, 2)
    for (const mark of marks) {
      assert.match(await mark.innerText(), /✓\s*decoded/)
      const { width } = (await mark.boundingBox())!
      assert.ok(width < WIDEST_MARK, `${width} px`)
    }
    await page.getByRole('row', { name: /"order":27,/ }).click()
    const record = page.locator('[data-record="1-27"]')
    await record.getByRole('link', { name: /^Headers/ }).click()
    await record.getByText('1-27', { exact: true }).waitFor()
    const list = page.url()
    const said = announcement(page, 'Copied the link to this record.')
    await record.getByRole('button', { name: 'Copy link' }).click()
    await said
    const link = await copied(page)
    assert.ok(link.startsWith(`${url}/topics/orders/messages?`))

    const other = await visit(t, browser, url)
    await other.page.goto(link)
    await signIn(other.page, VIEWER.username, VIEWER.password)
    const shared = other.page.locator('[data-record="1-27"]')
    await shared.getByText('1-27', { exact: true }).waitFor()
    const header = (of: Locator) => of.getByRole('listitem').filter({ hasText: 'trace' }).innerText()
    assert.equal(await header(shared), await header(record))
    assert.equal(await shared.getByRole('heading').innerText(), await record.getByRole('heading').innerText())
    for (const [view, text] of [
      ['Value', /73314510714175488/],
      ['Key', /key 27/],
    ] as const) {
      for (const each of [record, shared]) {
        await each.getByRole('link', { name: view, exact: true }).click()
        await each.getByRole('group', { name: view, exact: true }).getByText(text).waitFor()
      }
    }

    await other.page.goto(list)
    assert.equal(await rowsOf(other.page), await rowsOf(page))
    assert.equal(await other.page.getByLabel('Search').inputValue(), '"order":2')
    assert.equal(await other.page.getByLabel('Partition', { exact: true }).inputValue(), '1')
    assert.equal(await other.page.getByLabel('Order', { exact: true }).inputValue(), 'newest')
    await shared.getByText('1-27', { exact: true }).waitFor()
    one.assertQuiet()
    other.assertQuiet()
  },
}
