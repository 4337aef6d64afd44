// A search over a log so long that the broker ends its pages early: the console goes on by itself and shows how far it
// is. The user stops it, lets it go on, and finds the one record at the end.

import assert from 'node:assert/strict'
import { encodeBatch } from '../../../src/protocol/records.ts'
import { eventually } from '../../../testing/eventually.ts'
import { visitAs } from '../browser.ts'
import { append, appendBatch } from '../records.ts'
import { must, startWorld } from '../world.ts'
import type { Journey } from './journey.ts'

/** A page of the broker ends after it has unpacked 256 MiB. A batch of these unpacks to 25 MiB. */
const IN_BATCH = 100
const VALUE = Buffer.alloc(256 * 1024, 'hay ')
const BATCHES = 44
/** A page takes a fraction of a second. On a machine with much other work it may take a minute. */
const LONGEST_PAGE_MS = 60_000
const NEEDLE = 'the needle'

export const searchAndStop: Journey = {
  name: 'search-and-stop',
  async run({ t, browser, store }) {
    const { url, admin, connect } = await startWorld(t, store)
    await must(admin, 'POST', '/api/v1/topics', { name: 'hay', partitions: 1 })
    const wire = await connect()
    const records = Array.from({ length: IN_BATCH }, () => ({ value: VALUE, timestamp: 1_700_000_000_000 }))
    const batch = encodeBatch(records, { compression: 'zstd' })
    for (let sent = 0; sent < BATCHES; sent++) await appendBatch(wire, 'hay', 0, Buffer.from(batch))
    const place = await append(wire, 'hay', 0, [{ value: `before ${NEEDLE} after` }])

    const { page, assertQuiet } = await visitAs(t, browser, url, admin.cookie)
    await page.goto('/topics/hay/messages')
    await page.getByText('50 records').waitFor()
    const line = page.getByRole('status').filter({ hasText: /scanned/ })
    const scanned = async () => Number(/scanned ([\d,]+)/.exec(await line.innerText())?.[1]?.replaceAll(',', ''))
    await page.getByLabel('Search').fill(NEEDLE)
    await page.getByText('Searching …').waitFor()
    await line.filter({ hasText: /Searching .*scanned/ }).waitFor({ timeout: LONGEST_PAGE_MS })
    const first = await scanned()
    await eventually('the search goes on', async () => (await scanned()) > first, LONGEST_PAGE_MS)
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('Stopped before the end.').waitFor()
    const stopped = await scanned()
    assert.ok(stopped >= first && stopped < IN_BATCH * BATCHES, `stopped after ${stopped} records`)
    assert.equal(await page.locator('tr[data-key]').count(), 0)

    // Nothing more is asked for until the user wants it.
    const asked = page.waitForRequest(/\/messages\?/)
    await page.getByRole('button', { name: 'Continue' }).click()
    assert.ok(new URL((await asked).url()).searchParams.get('cursor'), 'it continues where it stopped')
    await page
      .locator(`tr[data-key="0-${place}"]`)
      .getByText(NEEDLE)
      .waitFor({ timeout: 3 * LONGEST_PAGE_MS })
    assert.equal(await page.getByRole('button', { name: 'Stop' }).count(), 0)
    assert.equal(await page.locator('tr[data-key]').count(), 1)
    const [rest, then] = [IN_BATCH * BATCHES + 1 - stopped, await scanned()]
    // If the time of a page ends inside a batch, the next page looks at records of this batch again.
    assert.ok(then >= rest && then <= rest + IN_BATCH, `${then} records scanned, and ${rest} were left`)
    assertQuiet()
  },
}
