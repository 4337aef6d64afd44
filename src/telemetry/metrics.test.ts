import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics, metricRows } from './metrics.ts'

async function scraped(metrics: ReturnType<typeof createMetrics>): Promise<ReadonlyMap<string, string>> {
  const lines = (await metrics.scrape()).split('\n').filter(line => line !== '' && !line.startsWith('#'))
  return new Map(lines.map(line => [line.slice(0, line.lastIndexOf(' ')), line.slice(line.lastIndexOf(' ') + 1)]))
}

test('counters, gauges and timers are scraped under the specified names', async () => {
  const metrics = createMetrics()
  metrics.count('svc.broker.failures', { operation: 'auth', error_type: 'SASL_AUTHENTICATION_FAILED' })
  metrics.count('svc.broker.failures', { operation: 'auth', error_type: 'SASL_AUTHENTICATION_FAILED' }, 2)
  metrics.set('svc.broker.up', {}, 1)
  metrics.observe('svc.broker.produce', { topic: 'orders' }, 3)
  metrics.observe('svc.broker.produce', { topic: 'orders' }, 60_000)
  metrics.observe('svc.broker.frame_size', { direction: 'in', api_key: 'Produce' }, 64)
  const lines = await scraped(metrics)
  assert.equal(lines.get('svc_broker_failures_total{operation="auth",error_type="SASL_AUTHENTICATION_FAILED"}'), '3')
  assert.equal(lines.get('svc_broker_up'), '1')
  assert.equal(lines.get('svc_broker_produce_seconds_bucket{le="0.0025",topic="orders"}'), '0')
  assert.equal(lines.get('svc_broker_produce_seconds_bucket{le="0.005",topic="orders"}'), '1')
  assert.equal(lines.get('svc_broker_produce_seconds_bucket{le="10.0",topic="orders"}'), '1')
  assert.equal(lines.get('svc_broker_produce_seconds_bucket{le="+Inf",topic="orders"}'), '2')
  assert.equal(lines.get('svc_broker_produce_seconds_sum{topic="orders"}'), '60.003')
  assert.equal(lines.get('svc_broker_produce_seconds_count{topic="orders"}'), '2')
  assert.equal(lines.get('svc_broker_frame_size_bucket{le="64.0",direction="in",api_key="Produce"}'), '1')
})

test('metrics without labels are present from the start', async () => {
  const lines = await scraped(createMetrics())
  assert.equal(lines.get('svc_broker_up'), '0')
  assert.equal(lines.get('svc_broker_rebalances_total'), '0')
  assert.equal(lines.get('svc_broker_failures_total'), undefined)
})

test('the same labels always give the same child, and it counts like metrics.count', async () => {
  const metrics = createMetrics()
  const child = metrics.child('svc.broker.produce.bytes', { topic: 'a' })
  assert.equal(metrics.child('svc.broker.produce.bytes', { topic: 'a' }), child)
  child.inc(5)
  metrics.count('svc.broker.produce.bytes', { topic: 'a' }, 2)
  metrics.count('svc.broker.produce.bytes', { topic: 'b' })
  assert.equal(metrics.total('svc.broker.produce.bytes'), 8)
  assert.equal((await scraped(metrics)).get('svc_broker_produce_bytes_total{topic="a"}'), '7')
})

test('a sampled gauge is read at each scrape, and NaN is a value', async () => {
  const metrics = createMetrics()
  let open = 3
  metrics.sample('svc.broker.connections', {}, () => open)
  metrics.sample('svc.group.lag', { group: 'g' }, () => Number.NaN)
  assert.equal((await scraped(metrics)).get('svc_broker_connections'), '3')
  open = 4
  const lines = await scraped(metrics)
  assert.equal(lines.get('svc_broker_connections'), '4')
  assert.equal(lines.get('svc_group_lag{group="g"}'), 'NaN')
})

test('forget drops the children of a topic in every metric', async () => {
  const metrics = createMetrics()
  for (const topic of ['a', 'b']) {
    metrics.observe('svc.broker.fetch', { topic }, 1)
    metrics.set('svc.broker.max_offset', { topic, partition: '0' }, 9)
    metrics.sample('svc.broker.log_start_offset', { topic, partition: '0' }, () => 1)
  }
  metrics.forget('topic', 'a')
  const text = await metrics.scrape()
  assert(!text.includes('topic="a"'))
  assert.equal(text.match(/svc_broker_(max|log_start)_offset\{topic="b"/g)?.length, 2)
})

test('label values cannot break out of their line', async () => {
  const metrics = createMetrics()
  metrics.set('svc.group.lag', { group: 'a"} 1\nforged 2\\' }, 1)
  const lines = (await metrics.scrape()).split('\n')
  assert(lines.includes('svc_group_lag{group="a\\"} 1\\nforged 2\\\\"} 1'))
  assert(!lines.some(line => line.startsWith('forged')))
})

test('two brokers share nothing', async () => {
  const [one, two] = [createMetrics(), createMetrics()]
  one.count('svc.broker.rebalances', {})
  assert.equal(two.total('svc.broker.rebalances'), 0)
  assert.equal((await scraped(two)).get('svc_broker_rebalances_total'), '0')
})

test('every metric of this version is scraped with its help and type, under a unique name', async () => {
  const text = await createMetrics().scrape()
  assert.equal(new Set(metricRows.map(row => row.scrapedName)).size, metricRows.length)
  for (const { name, scrapedName, kind, doc, buckets, notYet } of metricRows) {
    assert.match(scrapedName, /^(svc|jvm|process|system)_[a-z0-9_]+$/)
    assert.match(doc, /\.$/)
    assert.deepEqual(
      [...buckets].sort((a, b) => a - b),
      buckets,
      name,
    )
    const type = kind === 'timer' || kind === 'distribution' ? 'histogram' : kind
    assert.equal(text.includes(`# TYPE ${scrapedName} ${type}\n`), notYet === null, name)
  }
})

test('the metrics of the remote tier have the common tags, and are not scraped if they are switched off', async () => {
  const tags = new Map([
    ['region', 'eu "1"'],
    ['cost-center', '7'],
    ['tier', 'never'],
    ['le', 'never'],
  ])
  const text = async (isScraped: boolean) => {
    const metrics = createMetrics({}, { isScraped, tags })
    metrics.count('svc.storage.archive.segments', {})
    metrics.observe('svc.storage.archive', { result: 'success' }, 20)
    metrics.sample('svc.storage.archive.lag.bytes', {}, () => 9)
    for (const tier of ['local', 'remote']) metrics.observe('svc.storage.write', { tier, result: 'success' }, 1)
    return await metrics.scrape()
  }
  const on = await text(true)
  const own = 'region="eu \\"1\\"",cost_center="7"'
  assert.ok(on.includes(`svc_storage_archive_segments_total{${own},tier="never"} 1\n`), on)
  assert.ok(on.includes(`svc_storage_archive_lag_bytes{${own},tier="never"} 9\n`))
  assert.ok(on.includes(`svc_storage_archive_seconds_count{result="success",${own},tier="never"} 1\n`))
  assert.ok(on.includes(`svc_storage_write_seconds_count{tier="remote",result="success",${own}} 1\n`))
  assert.ok(on.includes('svc_storage_write_seconds_count{tier="local",result="success"} 1\n'))
  const off = await text(false)
  assert.doesNotMatch(off, /svc_storage_archive|remote/)
  assert.match(off, /svc_storage_write_seconds_count\{tier="local"/)
})

test('forget finds the series of a topic without a scan of all series', () => {
  const metrics = createMetrics()
  const topics = Array.from({ length: 20_000 }, (_, i) => `topic-${i}`)
  for (const topic of topics) {
    metrics.count('svc.broker.produce.records', { topic })
    metrics.observe('svc.broker.produce', { topic }, 1)
    for (const partition of ['0', '1']) metrics.set('svc.broker.max_offset', { topic, partition }, 1)
  }
  metrics.sample('svc.broker.log_start_offset', { topic: 'topic-7', partition: '0' }, () => 7)
  metrics.remove('svc.broker.max_offset', { topic: 'topic-8', partition: '0' })
  // If each call searched all series, there would be 1,600 million looks.
  const startedAt = process.cpuUsage()
  for (const topic of topics.slice(1)) metrics.forget('topic', topic)
  const { user } = process.cpuUsage(startedAt)
  assert(user < 5_000_000, `it took ${user / 1e6} s of the processor`)
  assert.deepEqual(
    [...metrics.series('svc.broker.max_offset')].map(({ labels }) => labels),
    [
      { topic: 'topic-0', partition: '0' },
      { topic: 'topic-0', partition: '1' },
    ],
  )
  assert(Number.isNaN(metrics.read('svc.broker.log_start_offset', { topic: 'topic-7', partition: '0' })))
  assert.equal([...metrics.series('svc.broker.produce')].length, 1)
  assert.equal(metrics.total('svc.broker.produce.records'), 20_000)
})
