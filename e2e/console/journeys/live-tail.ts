// The live tail: records of a real producer appear, the newest on top. The list stands still while the user points at a
// row or reads further down, and counts what waits. The broker has no stream any more once the page is left.

import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import type { AdminClient } from '../../../testing/admin-client.ts'
import { eventually } from '../../../testing/eventually.ts'
import { runCommand } from '../../command.ts'
import { visitAs } from '../browser.ts'
import { must, startWorld } from '../world.ts'
import type { Journey } from './journey.ts'

/** The broker takes this many live tails at one time. */
const TAILS = 16

/** Opens this many live tails at once, and closes them. Resolves with whether the broker took all of them. */
async function takesTails(url: string, { cookie }: AdminClient, count: number): Promise<boolean> {
  const ended = new AbortController()
  try {
    const answers = await Promise.all(
      Array.from({ length: count }, () =>
        fetch(`${url}/api/v1/topics/orders/messages/tail`, { headers: { cookie }, signal: ended.signal }),
      ),
    )
    return answers.every(({ status }) => status === 200)
  } finally {
    ended.abort()
  }
}

/** Makes the page believe that its tab is in front, or is not: a browser without a screen has no other tab. */
function show(page: Page, state: 'visible' | 'hidden'): Promise<void> {
  return page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))`)
}

export const liveTail: Journey = {
  name: 'live-tail',
  async run({ t, browser, store }) {
    const { url, admin, port } = await startWorld(t, store)
    await must(admin, 'POST', '/api/v1/topics', { name: 'orders', partitions: 1 })
    const produce = (...values: readonly string[]) =>
      runCommand('kcat', ['-P', '-b', `127.0.0.1:${port}`, '-t', 'orders'], { input: values.join('\n') })
    const { page, assertQuiet } = await visitAs(t, browser, url, admin.cookie)
    await page.goto('/topics/orders/messages')
    await page.getByRole('button', { name: 'Live', exact: true }).click()
    const status = page.getByRole('status').filter({ hasText: /^(Live|Paused|Connecting)/ })
    await status.filter({ hasText: /^Live/ }).waitFor()
    const rows = page.locator('tr[data-key]')
    const top = rows.first()

    await produce('one')
    await top.getByText('one').waitFor()
    await produce('two', 'three')
    await top.getByText('three').waitFor()
    assert.deepEqual(await rows.evaluateAll(all => all.map(row => row.getAttribute('data-key'))), ['0-2', '0-1', '0-0'])

    await rows.nth(1).hover()
    await status.filter({ hasText: /^Paused while you point at a row · 0 new/ }).waitFor()
    await produce('four', 'five')
    await status.filter({ hasText: '2 new' }).waitFor()
    assert.equal(await rows.count(), 3)
    await page.mouse.move(0, 0)
    await top.getByText('five').waitFor()
    assert.equal(await rows.count(), 5)

    // Far down in a long list.
    await produce(...Array.from({ length: 60 }, (_, at) => `line ${at}`))
    await top.getByText('line 59').waitFor()
    await page.evaluate('scrollTo(0, document.body.scrollHeight)')
    await status.filter({ hasText: /^Paused while you scroll/ }).waitFor()
    const before = await rows.count()
    await produce('later')
    await status.filter({ hasText: '1 new' }).waitFor()
    assert.equal(await rows.count(), before)
    await page.getByRole('button', { name: 'Show 1 new' }).click()
    await top.getByText('later').waitFor()

    await page.getByRole('button', { name: 'Pause', exact: true }).click()
    await produce('while paused')
    await status.filter({ hasText: '1 new' }).waitFor()
    await page.getByRole('button', { name: 'Resume', exact: true }).click()
    await top.getByText('while paused').waitFor()

    assert.equal(await takesTails(url, admin, TAILS), false, 'the page has one of them')
    // A page in the background has no stream either; it goes on where it was.
    await show(page, 'hidden')
    await eventually('no stream is open', () => takesTails(url, admin, TAILS))
    await produce('while hidden')
    await show(page, 'visible')
    await top.getByText('while hidden').waitFor()

    assert.equal(await takesTails(url, admin, TAILS), false, 'the page has one again')
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Topics' }).click()
    await page.getByRole('heading', { name: 'Topics', level: 1 }).waitFor()
    await eventually('no stream is open', () => takesTails(url, admin, TAILS))
    assertQuiet()
  },
}
