// The archive with the meters of reads (svc.storage.read with tier=remote). It changes no answer.

import type { Clock } from '../../base/clock.ts'
import type { Archive, ArchivePlace, ArchiveRead } from '../../log/archive.ts'
import { viewBatch } from '../../protocol/records.ts'
import type { Metrics } from '../../telemetry/metrics.ts'

export function meteredArchive(archive: Archive, clock: Clock, metrics: Metrics): Archive {
  const done = metrics.child('svc.storage.read', { tier: 'remote', result: 'success', mode: 'stream' })
  const failed = metrics.child('svc.storage.read', { tier: 'remote', result: 'error', mode: 'stream' })
  const records = metrics.child('svc.storage.read.messages', { tier: 'remote', mode: 'stream' })

  function observed(answer: ArchiveRead, beganAtMs: number): ArchiveRead {
    const isDone = answer.kind === 'read' || answer.kind === 'nothing'
    ;(isDone ? done : failed).observe(clock.monotonic() - beganAtMs)
    if (answer.kind === 'read')
      records.observe(answer.batches.reduce((sum, batch) => sum + viewBatch(batch).recordCount, 0))
    return answer
  }

  return {
    read(place: ArchivePlace, ...rest) {
      const beganAtMs = clock.monotonic()
      const answer = archive.read(place, ...rest)
      if (!(answer instanceof Promise)) return observed(answer, beganAtMs)
      return answer.then(each => observed(each, beganAtMs))
    },
    firstSince: (...ask) => archive.firstSince(...ask),
    largest: (...ask) => archive.largest(...ask),
  }
}
