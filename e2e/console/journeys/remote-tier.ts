// The remote tier of a topic, from its table to the files of a segment, and what the console says while its place is
// away: the breaker is open, no attempt is spent, and all is well again by itself.

import assert from 'node:assert/strict'
import { rename, rm, writeFile } from 'node:fs/promises'
import { eventually } from '../../../testing/eventually.ts'
import { visitAs } from '../browser.ts'
import { fill, RECORDS, runUntil, seedTier, TIERED } from '../seeded-tier.ts'
import { must, startTieredWorld } from '../world.ts'
import type { Journey } from './journey.ts'

export const remoteTier: Journey = {
  name: 'remote-tier',
  async run({ t, browser, store }) {
    const world = await startTieredWorld(t, store)
    const { url, admin, tables } = world
    await seedTier(world)
    const { page, assertQuiet } = await visitAs(t, browser, url, admin.cookie)
    const stat = (label: string) => page.locator('main dl > div').filter({ hasText: label }).locator('dd').first()

    await page.goto('/storage?tab=remote')
    const rows = page.getByRole('region', { name: 'Tables of the remote tier' }).locator('tbody tr')
    const archive = rows.filter({ hasText: TIERED.archived })
    await archive.getByText(`file://${tables}/default/${TIERED.archived}-`).waitFor()
    const [topicCell, shownRows] = await archive.locator('th, td').allInnerTexts()
    assert.deepEqual([topicCell, shownRows], [TIERED.archived, String(2 * RECORDS)])
    assert.match(await stat('Circuit breaker').innerText(), /closed/)
    assert.match(await stat('Create-only probe').innerText(), /kept/)
    assert.match(await stat('Segments that wait').innerText(), /^2\n/)
    // Most engines take this address as it is, and put the version behind it.
    await page.getByText(/^http:\/\/\S+\/iceberg$/).waitFor()
    await page.getByText('Copy as command').click()
    await page.getByRole('region', { name: 'ketch' }).getByText('storage remote').waitFor()
    await page.getByLabel('Filter by topic').fill('nothing like this')
    await page.getByText('No topic with a table contains “nothing like this”.').waitFor()

    // The worker drops the local copy with the next round.
    await must(admin, 'POST', '/api/v1/storage/worker/run')
    await page.goto(`/topics/${TIERED.archived}?tab=configuration`)
    await page.getByText('keeps all records in Iceberg, 1 ms of it also in the local tier').waitFor()
    await page.goto(`/storage?tab=segments&topic=${TIERED.archived}`)
    const segments = page.getByRole('region', { name: `Segments of ${TIERED.archived} 0` }).locator('tbody tr')
    await eventually('the ranges of the table and the active segment', async () => {
      await page.getByRole('button', { name: 'Refresh now' }).click()
      const texts = await segments.allInnerTexts()
      return /remote/.test(texts[0] ?? '') && /local\s+i?\s*active/.test(texts.at(-1)!)
    })
    assert.equal(await stat('First offset').innerText(), '0')
    const configs = page.getByRole('region', { name: /^Configs of archive/ }).locator('tr')
    assert.match(await configs.filter({ hasText: 'local.retention.ms' }).innerText(), /1 ms\s+this topic/)
    await segments.first().getByRole('button').click()
    const dialog = page.getByRole('dialog', { name: `Segment of ${TIERED.archived} 0 from offset 0` })
    await dialog.getByRole('region', { name: 'Files in the remote tier' }).getByText('.parquet').first().waitFor()
    await dialog
      .getByText(/^✓?done$/)
      .first()
      .waitFor()
    assert.match(page.url(), /segment=0$/)
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    assert.doesNotMatch(page.url(), /segment=/)

    // The place is away: a file lies where its folder was.
    await rename(tables, `${tables}.away`)
    await writeFile(tables, 'not a folder')
    await fill(await world.connect(), TIERED.archived, true)
    await page.goto('/storage?tab=remote')
    const said = page.getByText(/^The place does not answer: .* no attempt is spent\.$/)
    await eventually('the breaker is open', async () => {
      await admin.ask('POST', '/api/v1/storage/worker/run')
      await page.getByRole('button', { name: 'Refresh now' }).click()
      return await said.isVisible()
    })
    assert.match(await stat('Circuit breaker').innerText(), /open/)
    await page.goto('/')
    await page.locator('[data-attention=remote]').getByText('The place has not worked since').waitFor()
    await rm(tables)
    await rename(`${tables}.away`, tables)
    await page.goto('/storage?tab=remote')
    await eventually('the breaker is closed again', async () => {
      await admin.ask('POST', '/api/v1/storage/worker/run')
      await page.getByRole('button', { name: 'Refresh now' }).click()
      return !(await said.isVisible()) && (await archive.count()) === 1
    })
    await runUntil(world, { done: 3, failed: 1, pending: 1 })
    assertQuiet()
  },
}
