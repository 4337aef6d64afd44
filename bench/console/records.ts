// The console with large and with many records: how soon a record of 5 MB is open, and a live tail of 2,000 records a
// second. The browser and the broker share this machine, so that a busy machine makes the tasks longer.

import type { Browser } from 'playwright-core'
import { openBrowser } from '../../e2e/console/browser.ts'
import { systemClock } from '../../src/base/clock.ts'
import { batchOf, produceTo } from '../../testing/kafka.ts'
import { connect } from '../../testing/wire.ts'
import { produceHead } from '../frames.ts'
import { type Finding, type Harness, median, type Question } from '../harness.ts'
import { type Tasks, tasksOf } from './tasks.ts'
import { keepProducing, openWorld, pause, type World } from './world.ts'

const LARGE = { topic: 'large-record', bytes: 5_000_000, openMs: 2000, longestTaskMs: 500 }
const OPENINGS = 5
/** The time after the opening in which its tasks still count. */
const LOOK_MS = 2000

const TAIL = { topic: 'followed', rate: 2000, seconds: 60, rows: 500, longestTaskMs: 100, heapMB: 100 }
const RECORDS_A_BATCH = 50
const LOOK_EVERY_MS = 1000

export const consoleRecords: Question = {
  name: 'console-records',
  asks: `the web console with a record of ${LARGE.bytes / 1e6} MB, and a live tail of ${TAIL.rate} records a second`,
  async answer(harness) {
    const world = await openWorld(harness)
    const browser = await openBrowser()
    harness.after(() => browser.close())
    return [...(await measureLarge(world, browser, harness)), ...(await measureTail(world, browser, harness))]
  },
}

const entry = (id: number) => ({ id, name: `customer ${id}`, amount: '1.10', tags: ['a', 'b'], isPaid: id % 2 === 0 })

/** Opens the record from the list again and again, each time as a user who never saw the console. */
async function measureLarge({ broker, visit }: World, browser: Browser, harness: Harness): Promise<Finding[]> {
  await harness.topic(broker.port, LARGE.topic, 1, { 'max.message.bytes': String(2 * LARGE.bytes) })
  const wire = await connect({ port: broker.port })
  const count = Math.ceil(LARGE.bytes / (JSON.stringify(entry(10_000)).length + 1))
  const records = batchOf([JSON.stringify(Array.from({ length: count }, (_, id) => entry(id)))], {}, systemClock.now())
  const { errorCode } = await produceTo(wire, records, {
    topicData: [{ name: LARGE.topic, partitionData: [{ index: 0, records }] }],
  })
  if (errorCode !== 0) throw new Error(`the record of ${LARGE.bytes} bytes was refused with ${errorCode}`)
  await wire.close()
  const openings: number[] = []
  const tasks: Tasks[] = []
  for (let at = 0; at < OPENINGS; at++) {
    const { page, close } = await visit(browser)
    await page.goto(`/topics/${LARGE.topic}/messages?from=earliest`)
    const link = page.locator('tbody[data-rows] a').first()
    await link.waitFor()
    const task = await tasksOf(browser, page, async () => {
      const opened = page.evaluate<number>('bench.opened()')
      await link.click()
      openings.push(await opened)
      await pause(LOOK_MS)
    })
    tasks.push(task)
    harness.say(`open after ${openings.at(-1)!.toFixed(0)} ms, ${taskText(task)}`)
    await close()
  }
  return [
    { what: 'a record of 5 MB is open', value: median(openings), unit: 'ms', ceiling: LARGE.openMs, samples: openings },
    taskFinding('longest task while it opens', tasks, LARGE.longestTaskMs),
  ]
}

async function measureTail({ broker, visit }: World, browser: Browser, harness: Harness): Promise<Finding[]> {
  await harness.topic(broker.port, TAIL.topic, 1)
  const values = Array.from({ length: RECORDS_A_BATCH }, (_, id) => JSON.stringify(entry(id)))
  const batch = batchOf(values, {}, systemClock.now())
  const request = Buffer.concat([produceHead(TAIL.topic, 0, batch.length), batch])
  const { page, devtools, close } = await visit(browser)
  await devtools.send('Performance.enable')
  await page.goto(`/topics/${TAIL.topic}/messages?live=true`)
  await page.getByRole('status').filter({ hasText: 'Live' }).waitFor()
  const stop = await keepProducing(broker.port, [request], TAIL.rate / RECORDS_A_BATCH)
  await page.locator('tbody[data-rows] tr').first().waitFor()
  const rows: number[] = []
  const heaps: number[] = []
  const task = await tasksOf(browser, page, async () => {
    for (let at = 0; at < (TAIL.seconds * 1000) / LOOK_EVERY_MS; at++) {
      await pause(LOOK_EVERY_MS)
      rows.push(await page.locator('tbody[data-rows] tr').count())
      const { metrics } = await devtools.send('Performance.getMetrics')
      heaps.push(metrics.find(({ name }) => name === 'JSHeapUsedSize')!.value / 1e6)
    }
  })
  const status = await page.getByRole('status').filter({ hasText: 'record' }).first().textContent()
  await stop()
  await close()
  const [most, heap] = [Math.max(...rows), Math.max(...heaps)]
  harness.say(`${most} rows, ${taskText(task)}, heap ${heap.toFixed(0)} MB: ${status}`)
  const of = `a live tail of ${TAIL.rate} records a second for ${TAIL.seconds} s`
  return [
    { what: `rows of ${of}`, value: most, unit: '', floor: 1, ceiling: TAIL.rows, notes: `the page says: ${status}` },
    taskFinding(`longest task of ${of}`, [task], TAIL.longestTaskMs),
    { what: `largest heap of ${of}`, value: heap, unit: 'MB', ceiling: TAIL.heapMB, samples: heaps },
  ]
}

function taskText({ longestMs, longestRanMs }: Tasks): string {
  return `longest task ${longestMs.toFixed(0)} ms, on a processor ${longestRanMs.toFixed(0)} ms`
}

/** The judged time is the one that a user waits. The other one says whether the page or the machine needs it. */
function taskFinding(what: string, tasks: readonly Tasks[], ceiling: number): Finding {
  const samples = tasks.map(({ longestMs }) => longestMs)
  const ran = median(tasks.map(({ longestRanMs }) => longestRanMs))
  return { what, value: median(samples), unit: 'ms', ceiling, samples, notes: `on a processor ${ran.toFixed(0)} ms` }
}
