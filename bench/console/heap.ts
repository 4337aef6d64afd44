// Half an hour of Overview with a busy broker: how much the heap of the page, its DOM nodes and its listeners grow. The
// numbers are taken after a garbage collection, so that only the things that the page still holds count.

import type { CDPSession } from 'playwright-core'
import { openBrowser } from '../../e2e/console/browser.ts'
import { systemClock } from '../../src/base/clock.ts'
import { type Finding, median, type Question } from '../harness.ts'
import { openWorld, pause } from './world.ts'

const MINUTES = 30
const MINUTE_MS = 60_000
/** The page has painted everything and has asked each query more than once. */
const SETTLED_MS = MINUTE_MS

const MOST_HEAP_MB = 10
/** The slowest query polls every 30 s. A leak of one node or listener at each of its answers grows by this number. */
const MOST_OF_A_KIND = 60
/** Far below the pace of the page, and far above that of a page that has stopped polling. */
const FEWEST_REQUESTS = 10 * MINUTES
/** Rows come and go with the traffic. So the counts of several minutes are compared. */
const COMPARED = 5

export const consoleHeap: Question = {
  name: 'console-heap',
  asks: `the growth of the web console's heap, nodes and listeners in ${MINUTES} minutes on Overview with a busy broker`,
  async answer(harness) {
    const world = await openWorld(harness)
    const browser = await openBrowser()
    harness.after(() => browser.close())
    // While the history fills, the page has more to show with each step, and grows rightly.
    await world.fullHistory()
    const { page, devtools } = await world.visit(browser)
    await devtools.send('Performance.enable')
    let requests = 0
    page.on('request', () => requests++)
    await page.goto('/', { waitUntil: 'networkidle' })
    await pause(SETTLED_MS)
    requests = 0
    const begunAtMs = systemClock.monotonic()
    const taken = [await measure(devtools)]
    for (let minute = 1; minute <= MINUTES; minute++) {
      await pause(begunAtMs + minute * MINUTE_MS - systemClock.monotonic())
      const now = await measure(devtools)
      taken.push(now)
      harness.say(`minute ${minute}: ${now.heapMB.toFixed(2)} MB, ${now.nodes} nodes, ${now.listeners} listeners`)
    }
    if (!(await page.getByRole('heading', { level: 1, name: 'Overview' }).isVisible()))
      throw new Error('the page no longer shows Overview')
    const heaps = taken.map(({ heapMB }) => heapMB)
    return [
      {
        what: `growth of the heap in ${MINUTES} minutes, the largest over the first`,
        value: Math.max(...heaps) - heaps[0]!,
        unit: 'MB',
        ceiling: MOST_HEAP_MB,
        samples: heaps,
        notes: `from ${heaps[0]!.toFixed(2)} to ${heaps.at(-1)!.toFixed(2)} MB`,
      },
      growthOf(
        'DOM nodes',
        taken.map(({ nodes }) => nodes),
      ),
      growthOf(
        'event listeners',
        taken.map(({ listeners }) => listeners),
      ),
      { what: 'requests of the page in that time', value: requests, unit: '', floor: FEWEST_REQUESTS },
    ]
  },
}

interface Taken {
  readonly heapMB: number
  readonly nodes: number
  readonly listeners: number
}

async function measure(devtools: CDPSession): Promise<Taken> {
  await devtools.send('HeapProfiler.collectGarbage')
  const { metrics } = await devtools.send('Performance.getMetrics')
  const metric = (wanted: string) => {
    const found = metrics.find(({ name }) => name === wanted)
    if (found === undefined) throw new Error(`the browser does not tell ${wanted}`)
    return found.value
  }
  return {
    heapMB: metric('JSHeapUsedSize') / 1e6,
    nodes: metric('Nodes'),
    listeners: metric('JSEventListeners'),
  }
}

function growthOf(kind: string, samples: readonly number[]): Finding {
  const [first, last] = [median(samples.slice(0, COMPARED)), median(samples.slice(-COMPARED))]
  return {
    what: `growth of the ${kind}, median of the last ${COMPARED} minutes over the first ${COMPARED}`,
    value: last - first,
    unit: '',
    ceiling: MOST_OF_A_KIND,
    samples,
    notes: `from ${first} to ${last}`,
  }
}
