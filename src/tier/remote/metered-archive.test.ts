import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import type { Archive, ArchiveRead } from '../../log/archive.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import { meteredArchive } from './metered-archive.ts'

const PLACE = Object.freeze({ topicId: 'A'.repeat(22), topicName: 'orders', partition: 3 })

function archiveOf(read: () => ArchiveRead | Promise<ArchiveRead>) {
  const clock = new SimulatedClock()
  const lines: string[] = []
  const logger = createLogger({ clock, write: line => lines.push(line), format: 'plain' })
  const bare: Archive = { read, firstSince: async () => null, largest: async () => null }
  const archive = meteredArchive(bare, { clock, metrics: createMetrics(), logger })
  return { clock, lines, read: (offset: number) => archive.read(PLACE, offset, 1_000, true, 100) }
}

test('damage is told with its place and its reason once in a minute, however often a client asks', async () => {
  const damage: ArchiveRead = { kind: 'damaged', why: 'file:///lake/a.parquet: the data file is missing' }
  const answers = [damage, Promise.resolve(damage)]
  const { clock, lines, read } = archiveOf(() => answers.pop() ?? damage)
  for (const offset of [7, 8, 9]) assert.equal(await read(offset), damage)
  assert.equal(lines.length, 1)
  assert.match(
    lines[0]!,
    /WARN .* topic=orders partition=3 offset=7 reason="file:.*a\.parquet: the data file is missing"/,
  )
  await clock.advance(60_001)
  await read(10)
  assert.match(lines[1]!, /offset=10 .*suppressed=2/)
})

test('a place that is away has a line of its own elsewhere, and good answers have none', async () => {
  const answers: ArchiveRead[] = [
    { kind: 'away', why: 'no answer' },
    { kind: 'busy' },
    { kind: 'nothing' },
    { kind: 'read', batches: [], bytes: 0, release: null },
  ]
  for (const answer of answers) {
    const { lines, read } = archiveOf(() => answer)
    assert.equal(await read(0), answer)
    assert.deepEqual(lines, [])
  }
})
