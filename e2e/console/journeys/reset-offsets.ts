// The offsets of a group that a real consumer committed are reset. Before the name of the group is typed, the console
// sends dry runs alone; the result is the preview; and if the group has moved meanwhile, there is a new preview.

import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { runCommand } from '../../command.ts'
import { visitAs } from '../browser.ts'
import { append } from '../records.ts'
import { commitAs } from '../seeded.ts'
import { must, startWorld } from '../world.ts'
import type { Journey } from './journey.ts'

const GROUP = 'billing'

/** Returns the column of the rows, by partition. */
async function column(page: Page, table: string, head: string): Promise<readonly string[]> {
  await page.getByRole('table', { name: table }).waitFor()
  const heads = await page.getByRole('table', { name: table }).getByRole('columnheader').allInnerTexts()
  const at = heads.findIndex(text => text.startsWith(head))
  assert.ok(at >= 0, `${table} has no column ${head}: ${heads}`)
  const rows = page.getByRole('table', { name: table }).locator('tbody tr')
  const found: string[] = []
  for (const row of await rows.all()) found.push(await row.locator('th, td').nth(at).innerText())
  return found
}

export const resetOffsets: Journey = {
  name: 'reset-offsets',
  async run({ t, browser, store }) {
    const { url, admin, port, connect } = await startWorld(t, store)
    await must(admin, 'POST', '/api/v1/topics', { name: 'orders', partitions: 2 })
    const wire = await connect()
    for (const partition of [0, 1])
      await append(
        wire,
        'orders',
        partition,
        Array.from({ length: 10 }, (_, at) => ({ value: `${at}` })),
      )
    // A consumer of librdkafka reads everything and commits; then it leaves.
    const consumer = [
      '-G',
      GROUP,
      '-b',
      `127.0.0.1:${port}`,
      '-q',
      '-e',
      '-c',
      '20',
      '-X',
      'auto.offset.reset=earliest',
    ]
    await runCommand('kcat', [...consumer, 'orders'])
    const committed = async (): Promise<(number | null)[]> => {
      const { positions } = await must(admin, 'GET', `/api/v1/groups/${GROUP}`)
      return positions.map((each: { committedOffset: number | null }) => each.committedOffset)
    }
    const before = await committed()
    assert.deepEqual(before, [10, 10])

    const { page, assertQuiet } = await visitAs(t, browser, url, admin.cookie)
    const resets: { readonly dryRun?: boolean; readonly token?: string }[] = []
    page.on('request', request => {
      if (request.method() === 'POST') {
        resets.push(request.postDataJSON())
      }
    })
    await page.goto(`/groups/${GROUP}`)
    await page.getByRole('button', { name: 'Reset offsets' }).click()
    const dialog = page.getByRole('dialog', { name: `Reset offsets of ${GROUP}` })
    await dialog.getByRole('radio', { name: 'Earliest' }).check()
    await dialog.getByRole('button', { name: 'Preview' }).click()
    await dialog.getByText('Sets 2 offsets: 20 records are read again, and 0 are skipped.').waitFor()
    assert.deepEqual(await column(page, 'Preview of the reset', 'After'), [
      '0: reads 10 records again',
      '0: reads 10 records again',
    ])
    await dialog.getByRole('button', { name: 'Continue' }).click()
    const button = dialog.getByRole('button', { name: 'Reset offsets' })
    assert.equal(await button.isDisabled(), true)
    assert.ok(resets.length > 0 && resets.every(({ dryRun }) => dryRun === true), JSON.stringify(resets))
    assert.deepEqual(await committed(), before, 'nothing is written yet')

    // The group moves while the user types the name.
    await commitAs(wire, GROUP, 'orders', 4)
    await dialog.getByLabel(`Type ${GROUP} to confirm`).fill(GROUP)
    await button.click()
    const moved = 'Nothing was written: the group has moved in 1 partition since the preview before.'
    await dialog.getByRole('alert').filter({ hasText: moved }).waitFor()
    assert.equal(await dialog.locator('[data-changed]').count(), 1)
    assert.match(await dialog.locator('tr[data-key=orders-0] [data-changed]').innerText(), /committed was 10/)
    assert.deepEqual(await committed(), [4, 10])
    const preview = await column(page, 'Preview of the reset', 'After')
    assert.deepEqual(preview, ['0: reads 4 records again', '0: reads 10 records again'])

    await dialog.getByRole('button', { name: 'Continue' }).press('Enter')
    // The focus is where the name is typed.
    await page.keyboard.type(GROUP)
    await page.keyboard.press('Enter')
    await page.getByText(`Reset 2 offsets of ${GROUP}.`).waitFor()
    const done = await column(page, 'The offsets after the reset', 'Committed now')
    for (const text of done) assert.match(text, /^0\s.*as previewed$/s)
    assert.equal(done.length, preview.length)
    assert.deepEqual(await committed(), [0, 0])
    await dialog.getByRole('button', { name: 'Close' }).last().click()

    // The consumer reads everything again.
    const again = await runCommand('kcat', [...consumer, 'orders'])
    assert.equal(String(again).trim().split('\n').length, 20)
    assertQuiet()
  },
}
