// The first minute at an empty broker: from the sign-in to an own record that arrives live, in at most six presses.

import assert from 'node:assert/strict'
import { signIn, visit } from '../browser.ts'
import { ADMIN, must, startWorld } from '../world.ts'
import type { Journey } from './journey.ts'

const MOST_CLICKS = 6

/** Counts what the user presses, in the page itself and over all pages of this visit. */
const COUNT_CLICKS = `addEventListener('click', event => {
  if (event.isTrusted) sessionStorage.clicks = Number(sessionStorage.clicks ?? 0) + 1
}, true)`

export const firstMinute: Journey = {
  name: 'first-minute',
  async run({ t, browser, store }) {
    const { url, admin } = await startWorld(t, store)
    const { page, assertQuiet } = await visit(t, browser, url)
    await page.addInitScript(COUNT_CLICKS)
    await page.goto('/')
    await signIn(page, ADMIN.username, ADMIN.password)
    await page.getByRole('button', { name: 'Create topic' }).click()
    await page
      .getByRole('main')
      .getByText(/^●\s*Live$/)
      .waitFor()
    await page.getByRole('button', { name: 'Produce', exact: true }).click()
    const arrived = page.getByRole('log', { name: 'Arriving records' }).getByRole('listitem')
    await arrived.getByText('yours').waitFor()
    assert.match(await arrived.innerText(), /Hello from the console/)
    await page.getByText('That is your record').waitFor()
    const clicks = Number(await page.evaluate('sessionStorage.clicks'))
    assert.ok(clicks > 0 && clicks <= MOST_CLICKS, `${clicks} presses`)

    const { messages } = await must(admin, 'GET', '/api/v1/topics/my-first-topic/messages')
    assert.deepEqual(
      messages.map(({ value }: { value: { text: string } }) => value.text),
      ['Hello from the console'],
    )
    // The record of another program arrives too, and is not taken for an own one.
    await must(admin, 'POST', '/api/v1/topics/my-first-topic/messages', {
      messages: [{ value: { text: 'from elsewhere' } }],
    })
    await arrived.getByText('from elsewhere').waitFor()
    assert.equal(await arrived.filter({ hasText: 'yours' }).count(), 1)
    assertQuiet()
  },
}
