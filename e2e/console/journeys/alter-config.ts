// Configs of a topic: a retention with its unit is reviewed, saved and reset; a value that the broker refuses says so
// at its field; and the largest number keeps its last digit.

import assert from 'node:assert/strict'
import { visitAs } from '../browser.ts'
import { must, startWorld } from '../world.ts'
import type { Journey } from './journey.ts'

const LARGEST = '9223372036854775807'

export const alterConfig: Journey = {
  name: 'alter-config',
  async run({ t, browser, store }) {
    const { url, admin } = await startWorld(t, store)
    await must(admin, 'POST', '/api/v1/topics', { name: 'orders', partitions: 1 })
    const entryOf = async (name: string) => {
      const { configs } = await must(admin, 'GET', '/api/v1/topics/orders/configs')
      const { value, source } = configs.find((each: { name: string }) => each.name === name)
      return [value, source]
    }
    const { page, assertQuiet } = await visitAs(t, browser, url, admin.cookie)
    await page.goto('/topics/orders?tab=configuration')
    const row = (name: string) => page.locator(`tr[data-key="${name}"]`)
    const edit = async (name: string, text: string) => {
      await page.getByRole('button', { name: `Edit ${name}` }).click()
      await page.getByLabel(`New value of ${name}`).fill(text)
    }
    const review = async (title: string) => {
      await page.getByRole('button', { name: 'Review and save' }).click()
      return page.getByRole('dialog', { name: title })
    }

    await row('retention.ms').getByText('7 d').first().waitFor()
    await edit('retention.ms', '36 h')
    await row('retention.ms').getByText('= 129600000 ms, was 7 d').waitFor()
    const diff = await review('Save 1 change of orders')
    assert.match(await diff.getByRole('listitem').innerText(), /retention\.ms\s+7 d\s+36 h\s*129600000 ms/)
    await diff.getByText('Records older than 36 h are deleted soon').waitFor()
    assert.deepEqual(await entryOf('retention.ms'), ['604800000', 'default'])
    await diff.getByRole('button', { name: 'Save 1 change' }).click()
    await page.getByText('Saved 1 config of orders.').waitFor()
    await row('retention.ms').getByText('this topic').waitFor()
    assert.deepEqual(await entryOf('retention.ms'), ['129600000', 'topic'])

    await page.getByRole('button', { name: 'Reset retention.ms' }).click()
    await (await review('Save 1 change of orders')).getByRole('button', { name: 'Save 1 change' }).click()
    await row('retention.ms').getByRole('cell', { name: 'default', exact: true }).waitFor()
    assert.deepEqual(await entryOf('retention.ms'), ['604800000', 'default'])

    // The broker refuses one value; the other one is not lost by that.
    await edit('retention.ms', LARGEST)
    await edit('segment.ms', '0 ms')
    const field = page.getByLabel('New value of segment.ms')
    await page.getByText('Refused: segment.ms.').waitFor()
    assert.equal(await field.getAttribute('aria-invalid'), 'true')
    assert.equal(await page.getByLabel('New value of retention.ms').getAttribute('aria-invalid'), null)
    const why = await page.locator(`[id="${await field.getAttribute('aria-describedby')}"]`).innerText()
    assert.match(why, /0/)
    await page.getByRole('button', { name: 'Undo the edit of segment.ms' }).click()
    await page.getByText('Refused: segment.ms.').waitFor({ state: 'hidden' })
    const largest = await review('Save 1 change of orders')
    await largest.getByText(LARGEST).first().waitFor()
    await largest.getByRole('button', { name: 'Save 1 change' }).click()
    await row('retention.ms').getByText('this topic').waitFor()
    await row('retention.ms').getByText('no limit').first().waitFor()
    assert.deepEqual(await entryOf('retention.ms'), [LARGEST, 'topic'])
    assertQuiet()
  },
}
