// The cost of consoles for producers: a browser's requests on Topics and on Overview are recorded, and those of ten
// consoles are replayed at their pace, while a producer sends single records at a fixed rate. The producer is measured
// with and without the consoles in turns.

import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { openBrowser } from '../../e2e/console/browser.ts'
import { systemClock } from '../../src/base/clock.ts'
import { cpuSeconds, type Finding, type Harness, median, type Question } from '../harness.ts'
import { GROUPS, openWorld, pause, TOPICS, type World } from './world.ts'

const CONSOLES = 10
const PATHS = ['/topics', '/'] as const
/** A multiple of every time between two polls. */
const RECORDED_MS = 60_000
const PACED = { topic: 'paced', partitions: 16, rate: 1000 }
/** As long as the longest time between two polls of the same thing. */
const MEASURED_SECONDS = 30
const LARGEST_RATIO = 1.5
/** The connections that a browser opens to a server at most. */
const CONNECTIONS = 6

interface Recorded {
  /** Since the recording began. */
  readonly atMs: number
  readonly path: string
}

export const consoleLoad: Question = {
  name: 'console-load',
  asks: `the cost of ${CONSOLES} web consoles on Topics and Overview for producers, with ${TOPICS} topics and ${GROUPS} groups`,
  async answer(harness) {
    const world = await openWorld(harness)
    await harness.topic(world.broker.port, PACED.topic, PACED.partitions)
    await world.fullHistory()
    const recordings = await record(world, harness)
    const { found, notes } = await harness.quietly(() => measureTurn(world, recordings, harness))
    const [without, watched] = [found.map(turn => turn.without), found.map(turn => turn.watched)]
    const p99 = (turns: readonly Turn[]) => turns.map(turn => turn.p99Ms)
    const cpu = (turns: readonly Turn[]) => turns.map(turn => turn.cpuPercent)
    return [
      {
        what: `produce p99 while ${CONSOLES} consoles look`,
        value: median(p99(watched)),
        unit: 'ms',
        ratio: median(p99(watched)) / median(p99(without)),
        ratioOf: `the same without (${median(p99(without)).toFixed(1)} ms)`,
        ceiling: LARGEST_RATIO,
        samples: p99(watched),
        baseSamples: p99(without),
        notes: `median of the pairs ${median(found.map(turn => turn.watched.p99Ms / turn.without.p99Ms)).toFixed(2)}; ${notes}`,
      },
      {
        what: `processor time of the broker while ${CONSOLES} consoles look`,
        value: median(cpu(watched)),
        unit: '% of a core',
        samples: cpu(watched),
        baseSamples: cpu(without),
        notes: `${median(cpu(without)).toFixed(0)} % without`,
      },
      ...recordings.map(
        ({ path, requests }): Finding => ({
          what: `recorded requests of ${path} in a minute`,
          value: requests.length,
          unit: '',
        }),
      ),
    ]
  },
}

interface Recording {
  readonly path: string
  readonly requests: readonly Recorded[]
}

/** Records the requests to the broker of pages that are only watched. */
async function record(world: World, harness: Harness): Promise<readonly Recording[]> {
  const browser = await openBrowser()
  const recordings: Recording[] = []
  for (const path of PATHS) {
    const { page, close } = await world.visit(browser)
    await page.goto(path, { waitUntil: 'networkidle' })
    const requests: Recorded[] = []
    const begunAtMs = systemClock.monotonic()
    page.on('request', request => {
      const { pathname, search } = new URL(request.url())
      requests.push({ atMs: systemClock.monotonic() - begunAtMs, path: pathname + search })
    })
    await pause(RECORDED_MS)
    await close()
    if (requests.length === 0) throw new Error(`the page ${path} sent no request`)
    harness.say(`${path} sent ${requests.length} requests`)
    recordings.push({ path, requests })
  }
  await browser.close()
  return recordings
}

interface Turn {
  readonly p99Ms: number
  /** Of the broker, in percent of a core. */
  readonly cpuPercent: number
}

async function measureTurn({ broker, signIn }: World, recordings: readonly Recording[], harness: Harness) {
  const produce = async (): Promise<Turn> => {
    const [begunAtMs, before] = [systemClock.monotonic(), cpuSeconds(broker.pid)]
    const paced = await harness.paced('produce', broker.port, { ...PACED, seconds: MEASURED_SECONDS })
    const seconds = (systemClock.monotonic() - begunAtMs) / 1000
    return { p99Ms: paced.latencyMs.p99, cpuPercent: (100 * (cpuSeconds(broker.pid) - before)) / seconds }
  }
  const without = await produce()
  const cookies = await Promise.all(Array.from({ length: CONSOLES }, signIn))
  const stop = new AbortController()
  const consoles = Promise.all(
    cookies.map((cookie, at) =>
      replay(broker.url, cookie, recordings[at % recordings.length]!, (at / CONSOLES) * RECORDED_MS, stop.signal),
    ),
  )
  // The error is thrown below.
  consoles.catch(() => {})
  const watched = await produce()
  stop.abort()
  const requests = (await consoles).reduce((sum, each) => sum + each, 0)
  harness.say(
    `p99 ${without.p99Ms.toFixed(1)} ms without, ${watched.p99Ms.toFixed(1)} ms with ${requests} requests; ` +
      `processor ${without.cpuPercent.toFixed(0)} %, ${watched.cpuPercent.toFixed(0)} %`,
  )
  return { without, watched }
}

/**
 * Sends the requests of a recording again and again at their pace, from a time of the recording on, until the signal.
 * Resolves with their number.
 */
async function replay(
  url: string,
  cookie: string,
  { requests }: Recording,
  fromMs: number,
  signal: AbortSignal,
): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const begunAtMs = systemClock.monotonic() - fromMs
  const pending = new Set<Promise<void>>()
  let sent = 0
  for (let round = 0; !signal.aborted; round++) {
    for (const { atMs, path } of requests) {
      const dueMs = begunAtMs + round * RECORDED_MS + atMs
      if (dueMs < begunAtMs + fromMs) continue
      await waitUntil(dueMs, signal)
      if (signal.aborted) break
      const request = receive(`${url}${path}`, agent, cookie)
      pending.add(request)
      sent++
      // A failed one stays, and is thrown at the end.
      request.then(() => pending.delete(request)).catch(() => {})
    }
  }
  await Promise.all(pending)
  agent.destroy()
  return sent
}

async function waitUntil(atMs: number, signal: AbortSignal): Promise<void> {
  const restMs = atMs - systemClock.monotonic()
  if (restMs > 0 && !signal.aborted) await Promise.race([pause(restMs), once(signal, 'abort')])
}

/** Sends the request as a browser does, and leaves the answer compressed: the work of a browser is not the broker's. */
async function receive(address: string, agent: Agent, cookie: string): Promise<void> {
  const asking = get(address, { agent, headers: { cookie, 'accept-encoding': 'gzip, deflate, br' } })
  const [response] = (await once(asking, 'response')) as [IncomingMessage]
  response.resume()
  await once(response, 'end')
  if (response.statusCode !== 200) throw new Error(`${address} was answered ${response.statusCode}`)
}
