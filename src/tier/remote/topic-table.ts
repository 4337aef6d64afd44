// The table of a topic as the holder commits to it: loaded once, fenced before the first commit, and under a guard
// that confirms the lease before each request that may commit.

import type { Patience } from '../../base/patience.ts'
import type { Guard } from '../iceberg/commit.ts'
import { fenced, fenceOf, takeFence } from '../iceberg/fence.ts'
import type { CommitDeps } from '../iceberg/put-once.ts'
import { createTable, loadTable, type Table } from '../iceberg/table.ts'
import { tableLocation, uriOf } from '../iceberg/table-files.ts'
import { ObjectStoreError } from '../objects/objects.ts'
import { probeCreateOnly } from '../objects/probe.ts'
import type { TopicOfJobs } from '../offload/plan-jobs.ts'
import type { HolderRooms } from './remote-rounds.ts'
import type { TierParts } from './tier-parts.ts'

/** One term of the lease: from the takeover to its loss. */
export interface Term {
  /** The version of the takeover; 0 on the embedded store. */
  readonly fence: number
  /** Over when the lease is lost or given back, or while the breaker is open. */
  readonly patience: Patience
  readonly lease: HolderRooms['lease']
}

/** The place lets two writers create one object. Nothing may be committed there. */
export class PlaceUnsafe extends Error {
  override readonly name = 'PlaceUnsafe'

  constructor(uri: string) {
    super(`${uri} does not create an object only once (If-None-Match: *): two brokers could commit one version`)
  }
}

/**
 * The place has nothing of a table that it had, or an older version. It may be another place, not be mounted, or an old
 * copy. Offsets that it lacks may have been archived, so it must not be taken for the table.
 */
export class TableMissing extends Error {
  override readonly name = 'TableMissing'

  /** `found` is the version of the table; 0 if the place has no table. */
  constructor(uri: string, found: number, expected: number) {
    super(
      `${uri} has ${found === 0 ? 'no table' : `version ${found} of its table`}, and it had version ${expected}: nothing is offloaded there; bring it back, or begin anew by switching remote.storage.enable off (with remote.log.delete.on.disable) and on again`,
    )
  }
}

/** This broker gave the lease back, or lost it. Another one goes on. */
export class NotHolder extends Error {
  override readonly name = 'NotHolder'
}

export class TopicTable {
  readonly #parts: TierParts
  readonly #term: Term
  readonly #topic: TopicOfJobs
  readonly location: string
  /** The newest version that is known; null before it is loaded, and if the topic has no table. */
  table: Table | null = null
  /** Whether the place was asked for the table. */
  isLoaded = false
  /** The fence that this holder has committed; null before. */
  fence: number | null = null

  constructor(parts: TierParts, term: Term, topic: TopicOfJobs) {
    this.#parts = parts
    this.#term = term
    this.#topic = topic
    this.location = tableLocation(parts.namespace, topic.topicName, topic.topicId)
  }

  get deps(): CommitDeps {
    const { clock, random } = this.#parts
    return { clock, random, patience: this.#term.patience }
  }

  /**
   * Loads the table if it was not loaded yet. Rejects with TableMissing, and as loadTable does.
   */
  async load(): Promise<void> {
    if (this.isLoaded) return
    const { objects, notices } = this.#parts
    const known = notices.state.tables.get(this.#topic.topicId)
    try {
      const table = await loadTable(objects, this.location)
      const [found, expected] = [table?.version ?? 0, known?.version ?? 0]
      if (found < expected) throw new TableMissing(uriOf(objects, this.location), found, expected)
      this.table = table
    } catch (error) {
      // Operators must see why its segments wait. A place that is away concerns all tables; the breaker tells.
      const isAway = error instanceof ObjectStoreError && error.kind === 'away'
      if (!isAway && known !== undefined && known.foreign === null)
        await this.noteForeign({ path: this.location, why: (error as Error).message })
      throw error
    }
    this.isLoaded = true
  }

  /** Resolves when the lease is certain, or throws. */
  readonly confirm = async (): Promise<void> => {
    const { lease, fence, patience } = this.#term
    // An open breaker ends attempts in their own way.
    if (patience.ended?.aborted === true) throw new NotHolder('this broker gives the lease back')
    await lease.look()
    if (!lease.isHeld || lease.fence !== fence) throw new NotHolder('this broker no longer holds the lease')
  }

  /** Refuses a commit under another fence, or without the lease. */
  guard(fence: number): Guard {
    const check = fenced(fence)
    return async metadata => {
      check(metadata)
      await this.confirm()
    }
  }

  /**
   * Resolves with the table, which is created if it does not exist, and with this holder's fence, which is committed
   * if it was not yet. Rejects with PlaceUnsafe, and as commit does.
   */
  async fenced(): Promise<{ readonly table: Table; readonly fence: number }> {
    const { objects } = this.#parts
    if (this.table !== null && this.fence !== null) return { table: this.table, fence: this.fence }
    await this.#checkPlace()
    await this.#announce()
    await this.confirm()
    const { topicId, topicName } = this.#topic
    const properties = { 'kafka.topic': topicName, 'kafka.topic-id': topicId, ...this.#writerProperties() }
    const table = await createTable(objects, this.location, properties, this.deps)
    const taken = await takeFence(table, this.#term.fence, this.confirm, this.deps)
    this.table = taken.table
    this.fence = taken.fence
    this.isLoaded = true
    return taken
  }

  /**
   * Another holder committed a higher fence, or the table is gone. It is loaded and fenced again if the lease is
   * held.
   */
  forget(): void {
    this.table = null
    this.isLoaded = false
    this.fence = null
  }

  /** Writes what is new in the table into the notices. */
  async notify(): Promise<void> {
    const { notices } = this.#parts
    const { table } = this
    if (table === null) return
    const { topicId } = this.#topic
    const fence = Math.max(0, fenceOf(table.metadata))
    const known = notices.state.tables.get(topicId)
    if (known?.version === table.version && known.fence === fence) return
    await this.#change({ version: table.version, fence })
  }

  get isNotified(): boolean {
    const known = this.#parts.notices.state.tables.get(this.#topic.topicId)
    return this.table === null || known?.version === this.table.version
  }

  async noteSweep(): Promise<void> {
    await this.#change({ sweptAtMs: Math.floor(this.#parts.clock.now()) })
  }

  async noteForeign(foreign: { readonly path: string; readonly why: string } | null): Promise<void> {
    await this.#change({ foreign })
  }

  /** A table that no notice names would never be dropped. */
  async #announce(): Promise<void> {
    if (!this.#parts.notices.state.tables.has(this.#topic.topicId)) await this.#change({})
  }

  async #change(changes: object): Promise<void> {
    const { notices, clock, random } = this.#parts
    const { topicId, topicName } = this.#topic
    // The first sweep of a table comes at a time of its own within a day.
    const sweptAtMs = Math.floor(clock.now()) - random.below(DAY_MS)
    const first = { topicName, version: 0, fence: 0, sweptAtMs, droppedAtMs: null, isDropping: false, foreign: null }
    await notices.change(now => {
      const before = now.tables.get(topicId) ?? first
      return { tables: new Map([[topicId, { ...before, topicName, droppedAtMs: null, ...changes }]]) }
    })
  }

  async #checkPlace(): Promise<void> {
    const { objects, random, logger } = this.#parts
    if (this.#parts.createOnly === 'unknown') {
      const isKept = await probeCreateOnly(objects, random)
      this.#parts.createOnly = isKept ? 'kept' : 'broken'
      if (!isKept) logger.error('nothing is offloaded', { reason: new PlaceUnsafe(objects.uri).message })
    }
    if (this.#parts.createOnly === 'broken') throw new PlaceUnsafe(objects.uri)
  }

  #writerProperties(): Readonly<Record<string, string>> {
    const { settings } = this.#parts
    return {
      'write.parquet.row-group-size-bytes': String(settings.get('storage.remote.iceberg.row-group-size')),
      'write.target-file-size-bytes': String(settings.get('storage.remote.iceberg.target-file-size')),
    }
  }
}

const DAY_MS = 86_400_000
