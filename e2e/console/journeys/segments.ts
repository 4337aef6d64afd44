// A compacted topic from its creation to its cleaned segments: the dialog offers the configs of compaction and shows
// what the broker says of them, a round of the storage worker seals and cleans, and the tab Segments & retention shows
// both. A VIEWER sees the same, without the button.

import assert from 'node:assert/strict'
import { signInAt } from '../../../testing/admin-client.ts'
import { eventually } from '../../../testing/eventually.ts'
import { visitAs } from '../browser.ts'
import { produceAs } from '../seeded.ts'
import { must, startWorld, VIEWER } from '../world.ts'
import type { Journey } from './journey.ts'

const KEYS = 5
const ROUNDS = 4

export const segments: Journey = {
  name: 'segments',
  async run({ t, browser, store }) {
    const { url, admin, connect } = await startWorld(t, store)
    const { page, assertQuiet } = await visitAs(t, browser, url, admin.cookie)
    await page.goto('/topics?create=true')
    const dialog = page.getByRole('dialog', { name: 'Create topic' })
    await dialog.getByLabel('Name', { exact: true }).fill('balances')
    await dialog.getByLabel('Partitions', { exact: true }).fill('2')
    const shortest = dialog.getByLabel('Shortest time before a record is cleaned')
    assert.equal(await shortest.count(), 0, 'a topic that is not compacted has no field for compaction')
    await dialog.getByLabel('Cleanup').selectOption('compact')
    await dialog.getByLabel('Dirty share above which it is cleaned').fill('2')
    await dialog.getByText('got "2", takes a number from 0 to 1').waitFor()
    await dialog.getByLabel('Dirty share above which it is cleaned').fill('0')
    await shortest.fill('2 h')
    await dialog.getByLabel('Longest time before a record is cleaned').fill('1 h')
    await dialog.getByText('got 7200000, takes at most max.compaction.lag.ms, which is 3600000').waitFor()
    await shortest.fill('')
    await dialog.getByLabel('Time for which tombstones stay').fill('2 d')
    await dialog.getByText('needs another value').waitFor({ state: 'hidden' })
    await dialog.getByRole('button', { name: 'Create topic' }).click()
    await page.getByRole('heading', { name: 'balances', level: 1 }).waitFor()
    await page.getByText('keeps the last record of each key in the local tier').waitFor()
    const { configs } = await must(admin, 'GET', '/api/v1/topics/balances')
    assert.deepEqual(configs, {
      'cleanup.policy': 'compact',
      'delete.retention.ms': '172800000',
      'max.compaction.lag.ms': '3600000',
      'min.cleanable.dirty.ratio': '0',
    })
    // Each round seals all that was appended before it.
    await must(admin, 'PUT', '/api/v1/topics/balances/configs', { set: { 'segment.ms': '1' } })

    const wire = await connect()
    const produce = async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const records = Array.from({ length: KEYS }, (_, key) => ({ key: `${key}`, value: `${round}` }))
        await produceAs(wire, 'balances', 1, records)
      }
    }
    await produce()
    await page.goto('/topics/balances?tab=partitions')
    await page.getByTitle('Segments of partition 1').click()
    await page.getByRole('heading', { name: 'Storage', level: 1 }).waitFor()
    assert.match(page.url(), /\/storage\?tab=segments&topic=balances&partition=1$/)
    const rows = page.getByRole('region', { name: 'Segments of balances 1' }).locator('tbody tr')
    const cells = async () => await Promise.all((await rows.all()).map(row => row.locator('th, td').allInnerTexts()))
    await eventually('one active segment', async () => {
      const [first, ...others] = await cells()
      return others.length === 0 && /^0 – 19$/.test(first?.[0] ?? '') && /active/.test(first![1]!) && first![2] === '20'
    })

    await page.getByRole('button', { name: 'Run a round now' }).click()
    await page.getByText(/^Round \d+ took .*: 1 segment sealed, 1 partition cleaned \(.+ freed\)\.$/).waitFor()
    await page
      .locator('[data-round=done]')
      .getByText(/1 segment sealed, 1 partition cleaned/)
      .waitFor()
    const part = page.getByRole('region', { name: 'Parts of the brokers in the last round' }).locator('tbody tr')
    assert.match(await part.innerText(), /done/)
    await eventually('a cleaned and an active segment', async () => {
      const [cleaned, active, ...others] = await cells()
      const isCleaned = /^0 – 19$/.test(cleaned?.[0] ?? '') && /cleaned/.test(cleaned![1]!) && cleaned![2] === `${KEYS}`
      return isCleaned && /from 20, empty/.test(active?.[0] ?? '') && others.length === 0
    })
    const stat = (label: string) => page.locator('main dl > div').filter({ hasText: label }).locator('dd span').first()
    assert.equal(await stat('Cleaned up to').innerText(), '20')
    assert.equal(await stat('Holder').innerText(), 'broker 0')
    const configRow = page.getByRole('region', { name: /^Configs of balances/ }).locator('tr')
    const shown = (name: string) => configRow.filter({ hasText: name }).locator('td').allInnerTexts()
    assert.deepEqual(await shown('delete.retention.ms'), ['2 d', 'this topic'])
    assert.deepEqual(await shown('min.compaction.lag.ms'), ['0 ms', 'default'])
    assert.deepEqual(await shown('retention.bytes'), [], 'compact has no retention')

    // Another partition and another topic by the fields.
    await page.getByLabel('Partition').selectOption('0')
    await page.getByRole('region', { name: 'Segments of balances 0' }).waitFor()
    await page.getByLabel('Topic').fill('no-such-topic')
    await page.keyboard.press('Enter')
    await page.getByText('No topic has the name “no-such-topic”.').waitFor()
    await page.getByLabel('Topic').fill('balances')
    await page.getByRole('region', { name: 'Segments of balances 0' }).waitFor()

    const viewer = await visitAs(t, browser, url, (await signInAt(url, VIEWER.username, VIEWER.password)).cookie)
    await viewer.page.goto('/storage?tab=segments&topic=balances&partition=1')
    await viewer.page
      .getByRole('region', { name: 'Segments of balances 1' })
      .getByRole('cell', { name: 'cleaned' })
      .waitFor()
    assert.equal(await viewer.page.getByRole('button', { name: /round/ }).count(), 0)
    viewer.assertQuiet()
    assertQuiet()
  },
}
