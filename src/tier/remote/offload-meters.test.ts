import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import { newJob } from '../offload/jobs.ts'
import { OffloadMeters } from './offload-meters.ts'

function open() {
  const clock = new SimulatedClock()
  const metrics = createMetrics()
  const logger = createLogger({ clock, write: () => {}, format: 'plain' })
  const meters = new OffloadMeters({ clock, metrics, logger })
  const jobOf = (bytes: number) =>
    newJob(
      {
        ...{ topicId: 'topic', topicName: 'orders', partition: 0, base: 0, next: 10 },
        ...{ bytes, plainBytes: bytes, sealedAtMs: 0, maxAttempts: 5 },
      },
      0,
    )
  return { clock, metrics, meters, jobOf }
}

test('the rates are those of the last sixty seconds', async () => {
  const { clock, meters, jobOf } = open()
  assert.deepEqual(meters.perMinute(), { segmentsPerMin: 0, bytesPerMin: 0 })
  meters.done(jobOf(100), 5)
  await clock.advance(30_000)
  meters.done(jobOf(20), 5)
  await clock.advance(29_999)
  assert.deepEqual(meters.perMinute(), { segmentsPerMin: 2, bytesPerMin: 120 })
  await clock.advance(1)
  assert.deepEqual(meters.perMinute(), { segmentsPerMin: 1, bytesPerMin: 20 })
  await clock.advance(30_000)
  assert.deepEqual(meters.perMinute(), { segmentsPerMin: 0, bytesPerMin: 0 })
})

test('an offload counts with its bytes and its time, and a failed attempt with its kind', async () => {
  const { metrics, meters, jobOf } = open()
  meters.done(jobOf(100), 2_000)
  meters.failed(jobOf(50), 'a checksum', 3, 500)
  meters.failed(jobOf(50), 'a file has this name', null, 500)
  const scraped = await metrics.scrape()
  for (const line of [
    'svc_storage_archive_segments_total 1',
    'svc_storage_archive_bytes_total 100',
    'svc_storage_archive_seconds_count{result="success"} 1',
    'svc_storage_archive_seconds_sum{result="success"} 2',
    'svc_storage_archive_seconds_count{result="error"} 2',
    'svc_storage_archive_failures_total{error_type="damaged_batch"} 1',
    'svc_storage_archive_failures_total{error_type="failed"} 1',
  ])
    assert.ok(scraped.includes(`\n${line}\n`), line)
})
