// The console with a record of 5 MB, and with a live tail of 2,000 records a second. It asserts that everything is
// there and right; it prints the times and the long tasks, of which the benchmark of the console keeps results.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { systemClock } from '../../src/base/clock.ts'
import { encodeBatch } from '../../src/protocol/records.ts'
import { eventually } from '../../testing/eventually.ts'
import { noBrowser, openBrowser, visitAs } from './browser.ts'
import { append, appendBatch } from './records.ts'
import { must, startWorld } from './world.ts'

const BIG_BYTES = 5_000_000

const DENSE = 2_000_000
/** On a quiet machine it is a fifth; with every mark drawn it was 5,000 to 30,000. */
const MOST_STANDSTILL_MS = 1_500

const RECORDS_PER_SECOND = 2_000
const EVERY_MS = 100
const LASTS_MS = 6_000
const MOST_ROWS = 500

/** Notes the tasks of the page that last longer than 50 ms. */
const NOTE_LONG_TASKS = `window.longTasks = []
new PerformanceObserver(list => window.longTasks.push(...list.getEntries().map(({ duration }) => Math.round(duration))))
  .observe({ type: 'longtask', buffered: true })`

async function tasksOf(page: Page): Promise<string> {
  const tasks = await page.evaluate<number[]>('window.longTasks.splice(0).sort((one, other) => other - one)')
  return tasks.length === 0 ? 'no task above 50 ms' : `${tasks.length} tasks above 50 ms, the longest ${tasks[0]} ms`
}

async function heapOf(page: Page): Promise<string> {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  await session.detach()
  return `a heap of ${Math.round(usedSize / 1_000_000)} MB`
}

describe('what is large', { skip: noBrowser }, () => {
  let browser: Browser
  before(async () => {
    browser = await openBrowser()
  })
  after(() => browser?.close())

  test('a record of 5 MB is opened, searched and downloaded byte for byte', { timeout: 500_000 }, async t => {
    const { url, admin, connect } = await startWorld(t, 'embedded')
    const configs = { 'max.message.bytes': '20000000' }
    await must(admin, 'POST', '/api/v1/topics', { name: 'large', partitions: 1, configs })
    const words = Array.from({ length: BIG_BYTES / 90 }, () => randomBytes(42).toString('hex'))
    const value = `{${words.map((word, at) => `"line ${at}":"${word}"`).join(',')},"end":73314510714175488}`
    assert.ok(value.length >= BIG_BYTES)
    await append(await connect(), 'large', 0, [{ value: 'small' }, { value }, { value: 'small again' }])

    const { page, assertQuiet } = await visitAs(t, browser, url, admin.cookie)
    await page.addInitScript(NOTE_LONG_TASKS)
    await page.goto('/topics/large/messages')
    const rows = page.locator('tr[data-key]')
    await page.getByText('3 records').first().waitFor()
    await page.evaluate('window.longTasks.length = 0')
    const begunAtMs = systemClock.monotonic()
    await rows.nth(1).getByRole('link').click()
    const record = page.locator('[data-record="0-1"]')
    const text = record.getByRole('textbox', { name: 'Value' })
    await text.getByText(words[0]!).first().waitFor()
    const openedInMs = Math.round(systemClock.monotonic() - begunAtMs)
    console.log(`5 MB: opened in ${openedInMs} ms, ${await tasksOf(page)}, ${await heapOf(page)}`)

    // The editor holds the whole text, and draws only what is in view.
    await text.press('Control+End')
    await text.getByText('73314510714175488').waitFor()
    const downloading = page.waitForEvent('download')
    await record.getByRole('link', { name: 'Download' }).click()
    const downloaded = await readFile(await (await downloading).path())
    assert.ok(downloaded.equals(Buffer.from(value)), 'the download has the produced bytes')
    // All of it in one line is the hardest to draw.
    await record.getByRole('button', { name: 'Raw', exact: true }).click()
    await text.getByText(words[0]!).first().waitFor()
    console.log(`5 MB in one line: ${await tasksOf(page)}`)
    // The list beside it answers.
    await page.getByRole('button', { name: 'Record below' }).click()
    await page.locator('[data-record="0-2"]').getByText('small again').waitFor()
    console.log(`5 MB: until the next record ${await tasksOf(page)}`)
    assertQuiet()
  })

  test('a line of two million characters that cannot be read does not hold up the page, and is copied exactly', {
    timeout: 500_000,
  }, async t => {
    const { url, admin, connect } = await startWorld(t, 'embedded')
    const configs = { 'max.message.bytes': '20000000' }
    await must(admin, 'POST', '/api/v1/topics', { name: 'dense', partitions: 1, configs })
    const wire = await connect()
    const units = ['\u0001', '\u001B', '\u0001a', '\u0301', '\u200B']
    const values = units.map(unit => `begin ${unit.repeat(DENSE / unit.length)} ${'x'.repeat(1_000)} needle`)
    for (const value of values) await append(wire, 'dense', 0, [{ value }])

    const permissions = ['clipboard-read', 'clipboard-write']
    const { page, complaints } = await visitAs(t, browser, url, admin.cookie, { permissions })
    await page.addInitScript(NOTE_LONG_TASKS)
    for (const [at, value] of values.entries()) {
      await page.goto(`/topics/dense/messages?at=0-${at}`)
      const record = page.locator(`[data-record="0-${at}"]`)
      const text = record.getByRole('textbox', { name: 'Value' })
      await text.getByText('begin').waitFor()
      await text.getByText(/^\d,\d{3},\d{3} characters are not drawn/).waitFor()
      if (units[at] !== '\u0301') assert.ok((await text.locator('.hidden-mark[role=img]').count()) > 100)
      await text.press('Control+End')
      await text.press('Control+F')
      await page.keyboard.type('needle')
      await text.locator('.cm-searchMatch').getByText('needle').waitFor()
      const longest = await page.evaluate<number>('Math.max(0, ...window.longTasks.splice(0))')
      console.log(`${JSON.stringify(units[at])}: the longest task ${longest} ms`)
      assert.ok(longest < MOST_STANDSTILL_MS, `${JSON.stringify(units[at])}: a task of ${longest} ms`)

      await text.focus()
      await page.keyboard.press('Control+A')
      await page.keyboard.press('Control+C')
      assert.ok((await page.evaluate('navigator.clipboard.readText()')) === value, 'the copied selection')
      await page.evaluate('navigator.clipboard.writeText("")')
      await record.getByRole('button', { name: /^Copy$/ }).click()
      await eventually('it is copied', async () => (await page.evaluate('navigator.clipboard.readText()')) === value)
    }
    await page.goto('/topics/dense/messages?at=0-0&pin=0-2&view=compare')
    await page
      .getByText(/^ \d,\d{3},\d{3} more characters are not shown/)
      .nth(1)
      .waitFor()
    const longest = await page.evaluate<number>('Math.max(0, ...window.longTasks.splice(0))')
    assert.ok(longest < MOST_STANDSTILL_MS, `comparing: a task of ${longest} ms`)
    assert.deepEqual(complaints, [])
  })

  test('a live tail of 2,000 records a second shows the newest 500', { timeout: 500_000 }, async t => {
    const { url, admin, connect } = await startWorld(t, 'embedded')
    await must(admin, 'POST', '/api/v1/topics', { name: 'quick', partitions: 1 })
    const wire = await connect()
    const { page, assertQuiet } = await visitAs(t, browser, url, admin.cookie)
    await page.addInitScript(NOTE_LONG_TASKS)
    await page.goto('/topics/quick/messages?live=true')
    await page.getByText('Live · 0 records').waitFor()
    await page.evaluate('window.longTasks.length = 0')

    const rows = page.locator('tr[data-key]')
    let sent = 0
    let mostRows = 0
    const untilMs = systemClock.monotonic() + LASTS_MS
    while (systemClock.monotonic() < untilMs) {
      const nextMs = systemClock.monotonic() + EVERY_MS
      const records = Array.from({ length: (RECORDS_PER_SECOND * EVERY_MS) / 1_000 }, () => ({
        key: `key ${sent}`,
        value: `{"number":${sent++},"text":"a line that is as long as most records"}`,
        timestamp: Date.now(),
      }))
      await appendBatch(wire, 'quick', 0, encodeBatch(records))
      mostRows = Math.max(mostRows, await rows.count())
      await pause(Math.max(0, nextMs - systemClock.monotonic()))
    }
    await eventually('the last record is on top', async () => {
      return (await rows.first().getAttribute('data-key')) === `0-${sent - 1}`
    })
    await page.getByText(`${MOST_ROWS} records (the newest)`).waitFor()
    await eventually('all that are kept are drawn', async () => (await rows.count()) === MOST_ROWS)
    assert.ok(mostRows <= MOST_ROWS, `${mostRows} rows`)
    const keys = await rows.evaluateAll(all => all.map(row => Number(row.getAttribute('data-key')!.slice(2))))
    const said = await page.getByText(/^Live · .* records/).innerText()
    const skipped = Number(/([\d,]+) skipped/.exec(said)?.[1]?.replaceAll(',', '') ?? 0)
    // In their order; and without a gap, unless the page says that it was too slow.
    assert.deepEqual(
      keys,
      keys.toSorted((one, other) => other - one),
    )
    if (skipped === 0) assert.equal(keys[0]! - keys.at(-1)!, MOST_ROWS - 1)
    console.log(`live: ${sent} records, ${skipped} skipped, ${await tasksOf(page)}, ${await heapOf(page)}`)
    assertQuiet()
  })
})
