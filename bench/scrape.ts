// Measures the cost of a scrape: the time for each series and the longest time for which the event loop is blocked,
// for few and many series, and how much produce throughput is lost while 5,000 series are scraped every second.

import { systemClock } from '../src/base/clock.ts'
import { createMetrics, type Metrics } from '../src/telemetry/metrics.ts'
import { startBrokerProcess } from '../testing/process.ts'
import { type Finding, type Harness, median, type Question } from './harness.ts'
import { LOOP_DELAY_FLAG, loopDelay } from './loop-delay.ts'

const SERIES = [5_000, 100_000] as const
const SCRAPE_EVERY_MS = 1_000
const ACCEPT = 'application/openmetrics-text'

/** The topics of the broker whose produce throughput is measured: two gauges for each partition are 5,120 series. */
const WIDE_TOPICS = 20
const WIDE_PARTITIONS = 128
const PARTITIONS = 16
const RETENTION = { 'retention.bytes': String(64 * 2 ** 20) }

export const scrape: Question = {
  name: 'scrape',
  asks: 'a scrape of many series: cost of each, longest hold of the event loop, and the lost produce rate',
  async answer(harness) {
    const findings: Finding[] = []
    for (const series of SERIES) findings.push(...(await measureText(harness, series)))
    return [...findings, ...(await measureProducing(harness))]
  },
}

/** Returns metrics with this many series. Half of the lines belong to histograms, as in a broker with traffic. */
function metricsWith(series: number): Metrics {
  const metrics = createMetrics()
  for (let at = 0, lines = 0; lines < series; at++) {
    const topic = `a-topic-of-some-length-${at}`
    metrics.observe('svc.broker.produce', { topic }, at % 100)
    metrics.count('svc.broker.produce.records', { topic }, at)
    for (let partition = 0; partition < 16; partition++)
      metrics.set('svc.broker.max_offset', { topic, partition: String(partition) }, at * 1e6 + partition)
    lines += 17 + 1 + 16
  }
  return metrics
}

/** Writes the text as the HTTP route does, without the socket. */
async function measureText(harness: Harness, series: number): Promise<Finding[]> {
  const metrics = metricsWith(series)
  const perSeries: number[] = []
  const holds: number[] = []
  for (let round = 0; round < harness.rounds + 1; round++) {
    const begunAtMs = performance.now()
    let lines = 0
    let longestMs = 0
    let sinceMs = begunAtMs
    const clock = {
      ...systemClock,
      soon(fn: () => void) {
        longestMs = Math.max(longestMs, performance.now() - sinceMs)
        systemClock.soon(() => {
          sinceMs = performance.now()
          fn()
        })
      },
    }
    for await (const chunk of metrics.exposition(ACCEPT, clock).chunks)
      lines += Buffer.from(chunk).toString('latin1').split('\n').length - 1
    const tookMs = performance.now() - begunAtMs
    // The first round runs code that is not compiled yet. It counts only for the holds.
    holds.push(longestMs)
    if (round > 0) perSeries.push((tookMs * 1000) / lines)
  }
  harness.say(`${series} series: ${median(perSeries).toFixed(2)} µs each, holds ${Math.max(...holds).toFixed(1)} ms`)
  return [
    { what: `a series of ${series}`, value: median(perSeries), unit: 'µs', ceiling: 5, samples: perSeries },
    { what: `longest hold, ${series} series`, value: Math.max(...holds), unit: 'ms', ceiling: 20, samples: holds },
  ]
}

async function measureProducing(harness: Harness): Promise<Finding[]> {
  const settings = { 'svc.admin.anonymous-prometheus': 'true', 'svc.storage.worker.tick-interval': '1s' }
  const broker = await startBrokerProcess(harness, { settings, nodeFlags: [LOOP_DELAY_FLAG] })
  await harness.topic(broker.port, 'bench', PARTITIONS, RETENTION)
  for (let at = 0; at < WIDE_TOPICS; at++) await harness.topic(broker.port, `wide-${at}`, WIDE_PARTITIONS)
  const url = `${/the admin API answers at (\S+)/.exec(broker.output())![1]}/actuator/prometheus`
  const args = { partitions: PARTITIONS, connections: 8, 'in-flight': 5, seconds: harness.seconds }
  await harness.load('produce', broker, args)
  const without: number[] = []
  const scraped: number[] = []
  const times: number[] = []
  const holds: number[] = []
  let series = 0
  for (let round = 0; round < harness.rounds; round++) {
    await loopDelay(broker)
    without.push((await harness.load('produce', broker, args)).megabytesPerSecond)
    const { max: holdWithout } = await loopDelay(broker)
    const load = harness.load('produce', broker, args)
    let isOver = false
    void load.finally(() => {
      isOver = true
    })
    while (!isOver) {
      const begunAtMs = performance.now()
      const response = await fetch(url, { headers: { accept: ACCEPT, 'accept-encoding': 'gzip' } })
      const text = await response.text()
      if (response.status !== 200 || !text.endsWith('# EOF\n'))
        throw new Error(`a scrape was answered ${response.status}`)
      series = text.split('\n').filter(line => !line.startsWith('#')).length - 1
      times.push(performance.now() - begunAtMs)
      await new Promise(resolve => setTimeout(resolve, SCRAPE_EVERY_MS - (performance.now() - begunAtMs)))
    }
    scraped.push((await load).megabytesPerSecond)
    holds.push((await loopDelay(broker)).max)
    harness.say(
      `${without.at(-1)!.toFixed(0)} MB/s (held ${holdWithout.toFixed(0)} ms), scraped ${scraped.at(-1)!.toFixed(0)} MB/s (held ${holds.at(-1)!.toFixed(0)} ms)`,
    )
  }
  return [
    {
      what: `acknowledged produce while ${series} series are scraped every second`,
      value: median(scraped),
      unit: 'MB/s',
      ratio: median(scraped) / median(without),
      ratioOf: `the same without (${median(without).toFixed(0)} MB/s)`,
      floor: 0.97,
      samples: scraped,
      baseSamples: without,
    },
    { what: 'such a scrape from begin to end', value: median(times), unit: 'ms', samples: times },
    {
      what: 'longest hold of the event loop meanwhile, of whatever cause',
      value: Math.max(...holds),
      unit: 'ms',
      samples: holds,
    },
  ]
}
