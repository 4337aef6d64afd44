import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readOpenMetrics } from '../../testing/openmetrics.ts'
import { systemClock } from '../base/clock.ts'
import { chooseFormat } from './exposition.ts'
import { createMetrics, type Metrics, metricRows } from './metrics.ts'

const OPENMETRICS = 'application/openmetrics-text'

async function textOf(metrics: Metrics, accept: string | undefined): Promise<string> {
  let text = ''
  for await (const chunk of metrics.exposition(accept, systemClock).chunks) text += chunk
  return text
}

/** Every metric of the table, with children whose labels are hard to escape. */
function everything(): Metrics {
  const metrics = createMetrics({ 'svc.redis.command': [] })
  const hostile = 'a"} 1\nforged 2\\\ud800\u2028é'
  for (const { name, kind, labels, notYet } of metricRows) {
    if (notYet !== null) continue
    for (const value of ['a', hostile, '']) {
      const all = Object.fromEntries(labels.map(label => [label, value])) as never
      if (kind === 'counter') metrics.count(name as never, all, 1e22)
      else if (kind === 'gauge') metrics.set(name as never, all, value === 'a' ? Number.NaN : -0.5)
      else for (const observed of [0, 3.3, 1e9]) metrics.observe(name as never, all, observed)
    }
  }
  return metrics
}

test('a strict reader reads an OpenMetrics scrape, whatever the labels are', async () => {
  const families = readOpenMetrics(await textOf(everything(), OPENMETRICS))
  for (const { scrapedName, kind, notYet, doc } of metricRows) {
    const family = families.get(kind === 'counter' ? scrapedName.slice(0, -'_total'.length) : scrapedName)
    if (notYet !== null) assert.equal(family, undefined)
    else {
      assert.equal(family?.help, doc.replaceAll('"', '\\"'))
      assert.equal(family.unit, kind === 'timer' ? 'seconds' : '')
      assert.ok(family.samples.size > 0, scrapedName)
    }
  }
  const lag = [...families.get('svc_group_lag')!.samples]
  assert.deepEqual(lag[1], ['svc_group_lag{group="a\\"} 1\\nforged 2\\\\\ufffd\u2028é"}', -0.5])
})

test('bounds are written as Go and Python write them', async () => {
  const metrics = createMetrics()
  metrics.observe('svc.broker.frame_size', { direction: 'in', api_key: 'Fetch' }, 1)
  metrics.observe('jvm.gc.pause', { action: 'minor' }, 1)
  const text = await metrics.scrape()
  const bounds = [...text.matchAll(/^svc_broker_frame_size_bucket\{le="([^"]+)"/gm)].map(match => match[1])
  assert.deepEqual(
    bounds.slice(-5),
    ['262144.0', '1.048576e+06', '4.194304e+06', '1.6777216e+07', '1.048576e+08'].slice(-4).concat('+Inf'),
  )
  assert.match(text, /^jvm_gc_pause_seconds_bucket\{le="0.0005",action="minor"\} 0$/m)
  assert.match(text, /^jvm_gc_pause_seconds_bucket\{le="1.0",action="minor"\} 1$/m)
})

test('a client that prefers OpenMetrics gets it, and every other client gets the text format', () => {
  const prometheus =
    'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2'
  assert.equal(chooseFormat(prometheus), 'openmetrics')
  assert.equal(chooseFormat('application/openmetrics-text'), 'openmetrics')
  assert.equal(chooseFormat('Application/OpenMetrics-Text; q=0.5, text/plain; q=0.5'), 'openmetrics')
  for (const accept of [
    undefined,
    '',
    '*/*',
    'text/plain',
    'application/json',
    'application/openmetrics-text;q=0',
    'text/plain, application/openmetrics-text;q=0.9',
  ])
    assert.equal(chooseFormat(accept), 'text', accept)
  const metrics = createMetrics()
  assert.equal(metrics.exposition(undefined, systemClock).contentType, 'text/plain; version=0.0.4; charset=utf-8')
  assert.equal(
    metrics.exposition(OPENMETRICS, systemClock).contentType,
    'application/openmetrics-text; version=1.0.0; charset=utf-8',
  )
})

test('thousands of series are written in slices of whole children, with turns of other work in between', async () => {
  const metrics = createMetrics()
  for (let i = 0; i < 1000; i++) metrics.observe('svc.broker.produce', { topic: `t${i}` }, 1)
  let turns = 0
  const clock = {
    ...systemClock,
    soon(fn: () => void) {
      turns++
      // A child that is observed between two slices is written with all its lines before or after it.
      for (let i = 0; i < 1000; i += 100) metrics.observe('svc.broker.produce', { topic: `t${i}` }, turns)
      systemClock.soon(fn)
    },
  }
  let text = ''
  for await (const chunk of metrics.exposition(OPENMETRICS, clock).chunks) {
    assert.ok(chunk.split('\n').length < 400)
    text += chunk
  }
  assert.ok(turns > 15, `${turns} turns`)
  assert.equal(readOpenMetrics(text).get('svc_broker_produce_seconds')!.samples.size, 17_000)
})
