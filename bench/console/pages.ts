// The console with 5,000 topics: how soon the topics are painted, compared with a bare page that fetches the same JSON;
// how soon a filter shows its rows; and what a page does while it is only watched, and while it is hidden. Both pages
// come from the same broker and take turns.

import type { Browser } from 'playwright-core'
import { openBrowser } from '../../e2e/console/browser.ts'
import { type Finding, type Harness, median, type Question } from '../harness.ts'
import { tasksOf } from './tasks.ts'
import { openWorld, pause, TOPICS, type Visit, type World } from './world.ts'

const VISITS = 7
const FIRST_PAGE = '/api/v1/topics?sort=name&order=asc&internal=false&offset=0&limit=100'
/** The console, and the bare page. */
const PATHS = ['/topics', `/assets/bare.html#${FIRST_PAGE}`] as const

interface Machine {
  readonly name: string
  /** The largest ratio to the bare page, and the largest time in ms to the largest paint. */
  readonly ceiling: number
  readonly largestPaintMs: number
  slow(visit: Visit): Promise<void>
}

const MACHINES: readonly Machine[] = [
  { name: 'unthrottled', ceiling: 3, largestPaintMs: 1000, slow: async () => {} },
  {
    name: 'with a fourth of the CPU, 9 Mbit/s and 60 ms',
    ceiling: 2,
    largestPaintMs: 2000,
    async slow({ devtools }) {
      const bytesPerSecond = 9_000_000 / 8
      await devtools.send('Network.enable')
      await devtools.send('Network.emulateNetworkConditions', {
        offline: false,
        latency: 60,
        downloadThroughput: bytesPerSecond,
        uploadThroughput: bytesPerSecond,
      })
      await devtools.send('Emulation.setCPUThrottlingRate', { rate: 4 })
    },
  },
]

/** The texts that are typed into the filter, letter by letter. */
const FILTERS = [
  'payments',
  'us-east.audit',
  'fraud.sa-east',
  'catalog.eu-west.snapshot.2',
  'shipping.us-east.updated.24',
]

const WATCHED = [
  { name: 'Topics', path: '/topics' },
  { name: 'Overview', path: '/' },
] as const
const WATCHED_MS = 60_000
const MOST_SHIFT = 0.02
const MOST_REQUESTS = 40

export const consolePages: Question = {
  name: 'console',
  asks: `the web console with ${TOPICS} topics: time to the rows, time to a filter's rows, layout shift, requests`,
  async answer(harness) {
    const world = await openWorld(harness)
    const browser = await openBrowser()
    harness.after(() => browser.close())
    const findings: Finding[] = []
    for (const machine of MACHINES) findings.push(...(await measurePaint(world, browser, machine, harness)))
    findings.push(await measureWork(world, browser))
    findings.push(await measureFilter(world, browser, harness))
    await world.fullHistory()
    return [...findings, ...(await measureWatching(world, browser, harness))]
  },
}

interface Painted {
  readonly rowsMs: number
  readonly largestMs: number
}

/** Opens a page as a user who never saw it. */
async function paint(world: World, browser: Browser, path: string, machine: Machine): Promise<Painted> {
  const visit = await world.visit(browser)
  await machine.slow(visit)
  await visit.page.goto(path, { waitUntil: 'commit' })
  const rowsMs: number = await visit.page.evaluate('bench.rows')
  const largestMs: number = await visit.page.evaluate('bench.largestPaintMs()')
  await visit.close()
  return { rowsMs, largestMs }
}

/** Measures the part of the time that does not depend on how busy the machine is. */
async function measureWork(world: World, browser: Browser): Promise<Finding> {
  const found = PATHS.map((): number[] => [])
  for (let at = 0; at < VISITS; at++)
    for (const [each, path] of PATHS.entries()) {
      const { page, close } = await world.visit(browser)
      const { ranMs } = await tasksOf(browser, page, async () => {
        await page.goto(path, { waitUntil: 'commit' })
        await page.evaluate('bench.rows')
      })
      found[each]!.push(ranMs)
      await close()
    }
  const [samples, baseSamples] = found as [number[], number[]]
  return {
    what: 'processor time of the page until the rows of Topics are painted',
    value: median(samples),
    unit: 'ms',
    samples,
    baseSamples,
    notes: `bare page ${median(baseSamples).toFixed(0)} ms`,
  }
}

async function measurePaint(world: World, browser: Browser, machine: Machine, harness: Harness): Promise<Finding[]> {
  // The first of each pays for the broker's compiler.
  for (const path of PATHS) await paint(world, browser, path, machine)
  const pairs: (readonly [Painted, Painted])[] = []
  for (let at = 0; at < VISITS; at++) {
    const found = new Map<string, Painted>()
    for (const path of at % 2 === 0 ? PATHS : [...PATHS].reverse())
      found.set(path, await paint(world, browser, path, machine))
    const pair = [found.get(PATHS[0])!, found.get(PATHS[1])!] as const
    pairs.push(pair)
    harness.say(`${machine.name}: rows after ${pair[0].rowsMs.toFixed(0)} ms, bare ${pair[1].rowsMs.toFixed(0)} ms`)
  }
  const [samples, baseSamples] = [pairs.map(([ours]) => ours.rowsMs), pairs.map(([, bare]) => bare.rowsMs)]
  const value = median(samples)
  const largest = pairs.map(([ours]) => ours.largestMs)
  const ratios = pairs.map(([ours, bare]) => ours.rowsMs / bare.rowsMs)
  return [
    {
      what: `100 rows of Topics painted, ${machine.name}`,
      value,
      unit: 'ms',
      ratio: value / median(baseSamples),
      ratioOf: `a bare page (${median(baseSamples).toFixed(0)} ms)`,
      ceiling: machine.ceiling,
      samples,
      baseSamples,
      notes: `median of the pairs ${median(ratios).toFixed(2)}`,
    },
    {
      what: `largest paint of Topics, ${machine.name}`,
      value: median(largest),
      unit: 'ms',
      ceiling: machine.largestPaintMs,
      samples: largest,
    },
  ]
}

async function measureFilter(world: World, browser: Browser, harness: Harness): Promise<Finding> {
  const { page, close } = await world.visit(browser)
  await page.goto('/topics')
  await page.evaluate('bench.rows')
  const samples: number[] = []
  for (const filter of FILTERS) {
    await page.getByLabel('Filter topics by name').fill('')
    await page.locator('main [role=status]', { hasText: /topics$/ }).waitFor()
    for (let at = 0; at < filter.length; at++) {
      const text = filter.slice(0, at + 1)
      const filtered = page.evaluate<number>(`bench.filtered(${JSON.stringify(text)})`)
      await page.keyboard.press(filter[at]!)
      samples.push(await filtered)
    }
  }
  await close()
  const sorted = [...samples].sort((a, b) => a - b)
  const value = sorted[Math.ceil(sorted.length * 0.95) - 1]!
  harness.say(`${samples.length} keystrokes: half of them within ${median(samples).toFixed(0)} ms`)
  return {
    what: `keystroke in the filter to painted rows, p95 of ${samples.length}`,
    value,
    unit: 'ms',
    ceiling: 100,
    samples,
    notes: `median ${median(samples).toFixed(0)} ms, slowest ${sorted.at(-1)!.toFixed(0)} ms`,
  }
}

interface Shift {
  readonly value: number
  readonly atMs: number
  readonly of: readonly string[]
}

/** Leaves each page open for a minute, and hidden for another. */
async function measureWatching(world: World, browser: Browser, harness: Harness): Promise<Finding[]> {
  const watch = async ({ name, path }: (typeof WATCHED)[number]): Promise<Finding[]> => {
    const visit = await world.visit(browser)
    const { page } = visit
    const sent: string[] = []
    page.on('request', request => sent.push(new URL(request.url()).pathname))
    await page.goto(path, { waitUntil: 'networkidle' })
    sent.length = 0
    await pause(WATCHED_MS)
    const requests = [...sent]
    const shifts = await page.evaluate<readonly Shift[]>('bench.shifts()')
    await hide(visit)
    // A request that had begun may end.
    await pause(1000)
    sent.length = 0
    await pause(WATCHED_MS)
    const hidden = [...sent]
    await visit.close()
    const shift = shifts.reduce((sum, each) => sum + each.value, 0)
    harness.say(`${name}: ${requests.length} requests, shift ${shift.toFixed(4)}, hidden ${hidden.length} requests`)
    return [
      {
        what: `layout shift of ${name} from the navigation through a minute of polling`,
        value: shift,
        unit: '(sum)',
        ceiling: MOST_SHIFT,
        ...(shifts.length > 0 && { notes: shiftNotes(shifts) }),
      },
      {
        what: `requests of ${name} in a minute`,
        value: requests.length,
        unit: '',
        ceiling: MOST_REQUESTS,
        notes: counts(requests),
      },
      {
        what: `requests of ${name} in a minute while it is hidden`,
        value: hidden.length,
        unit: '',
        ceiling: 0,
        notes: counts(hidden),
      },
    ]
  }
  return (await Promise.all(WATCHED.map(watch))).flat()
}

/** Says which elements moved most. */
function shiftNotes(shifts: readonly Shift[]): string {
  const largest = [...shifts].sort((a, b) => b.value - a.value).slice(0, 3)
  return largest
    .map(({ value, atMs, of }) => `${value.toFixed(4)} after ${(atMs / 1000).toFixed(1)} s: ${of.join(', ')}`)
    .join('; ')
}

function counts(paths: readonly string[]): string {
  const times = Map.groupBy(paths, path => path)
  return [...times].map(([path, all]) => `${all.length} × ${path}`).join(', ')
}

/** A browser without a window has no other tab to bring to the front, so the page is told that it is hidden. */
async function hide({ page }: Visit): Promise<void> {
  await page.evaluate(`
    Object.defineProperty(document, 'visibilityState', { value: 'hidden' })
    Object.defineProperty(document, 'hidden', { value: true })
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
  `)
}
