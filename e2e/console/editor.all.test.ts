// The keys of the editor for long text: a long record is produced again, and changed by keys alone.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noBrowser, openBrowser, visitAs } from './browser.ts'
import { append, readFrom } from './records.ts'
import { must, startWorld } from './world.ts'

/** So long that it gets the editor instead of a plain field. */
const REST = 'x'.repeat(300_000)
/** An accent that is a character of its own, and a family of several characters. */
const FAMILY = '\u{1F469}\u200D\u{1F467}'

test('the keys of the editor change a text as those of every editor', {
  skip: noBrowser,
  timeout: 500_000,
}, async t => {
  const { url, admin, connect } = await startWorld(t, 'embedded')
  await must(admin, 'POST', '/api/v1/topics', { name: 'long', partitions: 1 })
  const wire = await connect()
  await append(wire, 'long', 0, [{ value: `  first e\u0301${FAMILY} line\nsecond line\nthird\n${REST}` }])
  const browser = await openBrowser()
  t.after(() => browser.close())
  const { page, assertQuiet } = await visitAs(t, browser, url, admin.cookie)
  await page.goto('/topics/long/messages?at=0-0')
  await page.getByRole('button', { name: 'Produce again' }).click()
  const dialog = page.getByRole('dialog', { name: 'Produce again to long' })
  const text = dialog.getByRole('textbox', { name: 'Value' })
  await text.focus()
  const press = async (...keys: readonly string[]) => {
    for (const key of keys) await page.keyboard.press(key)
  }
  // Each Backspace takes a whole character, with its accent or all its parts.
  await press('Control+Home', 'Control+ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowRight')
  await press('Backspace', 'Backspace')
  await page.keyboard.type('E')
  // A new line begins as the one before it.
  await press('Enter')
  // Delete takes the line end, and a selection goes as one.
  await press('End', 'Delete', 'Shift+End', 'Delete', 'Delete', 'Control+Delete')
  await page.keyboard.type('4th')
  await press('Control+Home', 'Backspace', 'Control+End', 'Delete')
  await dialog.getByRole('button', { name: 'Produce', exact: true }).click()
  await page.getByText('Produced to partition 0 at offset 1.').waitFor()
  const [, record] = await readFrom(wire, 'long', 0, 0)
  assert.equal(record!.value!.toString(), `  first E\n   line4th\n${REST}`)
  assertQuiet()
})
