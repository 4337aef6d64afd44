// A remote tier over the real archive, for tests of logs on real stores: one topic, whose table is in memory or in a
// folder. A test archives segments itself, without jobs.

import { systemClock } from '../src/base/clock.ts'
import { uuidText } from '../src/base/random.ts'
import type { ArchivedPiece, ArchivePlace, ArchiveTrouble, ColdTier, TableFacts } from '../src/log/archive.ts'
import type { Logs } from '../src/log/logs.ts'
import { type OpenArchive, openArchive } from '../src/tier/archive/open-archive.ts'
import { type Change, commit } from '../src/tier/iceberg/commit.ts'
import { filesOf, OffsetIndexer } from '../src/tier/iceberg/offset-index.ts'
import type { CommitDeps } from '../src/tier/iceberg/put-once.ts'
import { addable, addRange, covers, moveLogStart, readArchived, writeArchived } from '../src/tier/iceberg/ranges.ts'
import { loadTable } from '../src/tier/iceberg/table.ts'
import { dataFileKey } from '../src/tier/iceberg/table-files.ts'
import type { Objects } from '../src/tier/objects/objects.ts'
import type { CleanUp } from './broker.ts'
import { encodeFile } from './data-files.ts'
import { LOCATION, newest, newTable, testDeps, unguarded } from './iceberg-table.ts'
import { MemoryObjects } from './memory-objects.ts'

export class ArchiveTier implements ColdTier {
  readonly archive: OpenArchive
  readonly #objects: Objects
  readonly #deps: CommitDeps
  #version = 0

  constructor(cleanUp: CleanUp, objects: Objects = new MemoryObjects(systemClock)) {
    this.#objects = objects
    this.#deps = testDeps(1, systemClock)
    const limits = { threads: 2, queueCapacity: 100, cacheBytes: 16e6 }
    this.archive = openArchive(objects, { ...limits, locationOf: () => LOCATION }, { clock: systemClock })
    cleanUp.after(() => this.archive.close())
  }

  noticed(): number {
    return this.#version
  }

  async table({ id }: { readonly id: string }): Promise<TableFacts> {
    const table = await loadTable(this.#objects, LOCATION)
    this.archive.refresh(id)
    const archived = table === null ? null : readArchived(table.metadata.properties)
    return {
      version: table?.version ?? 0,
      partition: index => ({
        ranges: archived?.ranges.get(index) ?? [],
        logStart: archived?.logStarts.get(index) ?? 0,
      }),
    }
  }

  async pieces({ partition }: ArchivePlace): Promise<readonly ArchivedPiece[] | ArchiveTrouble> {
    const table = await loadTable(this.#objects, LOCATION)
    if (table === null) return []
    const index = await new OffsetIndexer(systemClock, this.#objects).index(table)
    return filesOf(index, partition).map(({ lo, hi, kafkaBytes, maxTimestamp, epochs }) => ({
      base: lo,
      next: hi + 1,
      bytes: kafkaBytes ?? 0,
      maxTimestamp,
      epochs: epochs?.map(([epoch, startOffset]) => ({ epoch, startOffset })) ?? null,
    }))
  }

  /** Archives the sealed segments of a partition that the table has not, and tells the broker. */
  async offload(logs: Logs, topicId: string, partition = 0): Promise<number> {
    if ((await loadTable(this.#objects, LOCATION)) === null) await newTable(this.#objects, this.#deps)
    const { segments, remote } = await logs.sealedSegments(topicId, partition)
    let added = 0
    for (const { base, next } of segments) {
      const table = await newest(this.#objects)
      let archived = readArchived(table.metadata.properties)
      if (remote !== null) archived = moveLogStart(archived, partition, remote.logStart)
      if (covers(archived, partition, [base, next])) continue
      const batches: Uint8Array[] = []
      for await (const some of logs.readRange(topicId, partition, base, next))
        batches.push(...some.map(each => Uint8Array.from(each)))
      const range = addable(archived, partition, [base, next])!
      const properties: Change['properties'] = () => writeArchived(addRange(archived, partition, range))
      const append = batches.length === 0 ? [] : [await this.#upload(batches, partition, base, next)]
      await commit(table, { append, properties }, unguarded, this.#deps)
      added++
    }
    this.#version = (await newest(this.#objects)).version
    return added
  }

  async #upload(batches: readonly Uint8Array[], partition: number, base: number, next: number) {
    const { bytes, facts } = encodeFile(batches, { partition }, { base, next })
    const name = { partition, ingestedAt: facts.ingestedAt, base, next, kafkaBytes: facts.kafkaBytes }
    const key = dataFileKey(LOCATION, name, uuidText(this.#deps.random))
    await this.#objects.write(key, bytes)
    return { ...facts, key }
  }
}
