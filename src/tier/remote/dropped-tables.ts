// The tables of topics that are gone: a deleted topic's table is dropped a day later, so that a mistake can be undone
// by copying it, unless svc.storage.remote.iceberg.keep-deleted-tables keeps it. A topic whose remote tier was
// switched off with remote.log.delete.on.disable loses its table at once. Only tables that a notice names are
// dropped: those of another cluster in the same place are not ours.

import { mayExist, type Topic } from '../../log/catalogue.ts'
import { dropTable } from '../iceberg/old-metadata.ts'
import { tableLocation } from '../iceberg/table-files.ts'
import type { TableNotice } from './notices.ts'
import type { OffloadMeters } from './offload-meters.ts'
import type { TierParts } from './tier-parts.ts'

const DAY_MS = 86_400_000

export interface DropRooms {
  readonly parts: TierParts
  readonly meters: OffloadMeters
  /** Throws or rejects without the lease. */
  confirm(): Promise<void>
  isRunning(topicId: string): boolean
}

export async function dropTables({ parts, meters, confirm, isRunning }: DropRooms): Promise<void> {
  const { catalogue, clock, settings, breaker, notices } = parts
  const current = catalogue.current()
  const existing = mayExist(current)
  for (const [topicId, notice] of notices.state.tables) {
    const topic = current.topicsById.get(topicId)
    if (isRunning(topicId)) continue
    try {
      if (topic !== undefined && isSwitchedOff(topic)) await drop(topicId, notice)
      else if (existing.has(topicId)) {
        if (notice.droppedAtMs !== null) await change(topicId, now => ({ ...now, droppedAtMs: null }))
      } else if (notice.droppedAtMs === null) {
        await parts.jobs.remove(topicId)
        await change(topicId, now => ({ ...now, droppedAtMs: Math.floor(clock.now()) }))
      } else if (settings.get('storage.remote.iceberg.keep-deleted-tables')) await change(topicId, () => null)
      else if (clock.now() - notice.droppedAtMs >= DAY_MS) await drop(topicId, notice)
    } catch (error) {
      meters.phaseFailed('upkeep', notice.topicName, error)
    }
  }

  async function drop(topicId: string, { topicName }: TableNotice): Promise<void> {
    if (breaker.isOpen) return
    await confirm()
    await parts.jobs.remove(topicId)
    await dropTable(parts.objects, tableLocation(parts.namespace, topicName, topicId))
    parts.archive.forget(topicId)
    await change(topicId, () => null)
    parts.logger.info('the table of a topic was dropped', { topic: topicName, topicId })
  }

  async function change(topicId: string, to: (now: TableNotice) => TableNotice | null): Promise<void> {
    await notices.change(({ tables }) => {
      const now = tables.get(topicId)
      return now === undefined ? null : { tables: new Map([[topicId, to(now)]]) }
    })
  }
}

const isSwitchedOff = ({ resolved }: Topic) => !resolved.remoteStorageEnable && resolved.remoteLogDeleteOnDisable
