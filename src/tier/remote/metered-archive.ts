// The archive with the meters of reads (svc.storage.read with tier=remote), and with a line in the log about damage:
// clients only learn that the broker cannot read. It changes no answer.

import type { Clock } from '../../base/clock.ts'
import type { Archive, ArchivePlace, ArchiveRead } from '../../log/archive.ts'
import { viewBatch } from '../../protocol/records.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics.ts'

interface Rooms {
  readonly clock: Clock
  readonly metrics: Metrics
  readonly logger: Logger
}

/** A client that cannot read goes on asking. */
const SAY_EVERY_MS = 60_000

export function meteredArchive(archive: Archive, { clock, metrics, logger }: Rooms): Archive {
  const done = metrics.child('svc.storage.read', { tier: 'remote', result: 'success', mode: 'stream' })
  const failed = metrics.child('svc.storage.read', { tier: 'remote', result: 'error', mode: 'stream' })
  const records = metrics.child('svc.storage.read.messages', { tier: 'remote', mode: 'stream' })

  function observed(answer: ArchiveRead, place: ArchivePlace, offset: number, beganAtMs: number): ArchiveRead {
    const isDone = answer.kind === 'read' || answer.kind === 'nothing'
    ;(isDone ? done : failed).observe(clock.monotonic() - beganAtMs)
    if (answer.kind === 'read')
      records.observe(answer.batches.reduce((sum, batch) => sum + viewBatch(batch).recordCount, 0))
    if (answer.kind === 'damaged')
      logger
        .limited('unreadable', SAY_EVERY_MS)
        .warn('the remote tier cannot read a partition, and answers no records', {
          ...{ topic: place.topicName, partition: place.partition, offset, reason: answer.why },
        })
    return answer
  }

  return {
    read(place, offset, ...rest) {
      const beganAtMs = clock.monotonic()
      const answer = archive.read(place, offset, ...rest)
      if (!(answer instanceof Promise)) return observed(answer, place, offset, beganAtMs)
      return answer.then(each => observed(each, place, offset, beganAtMs))
    },
    firstSince: (...ask) => archive.firstSince(...ask),
    largest: (...ask) => archive.largest(...ask),
  }
}
