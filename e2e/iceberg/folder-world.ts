// Tables in a folder without a broker that writes them: a holder of the lease offloads batches of every form, also of
// forms that no client of ours produces, and another writer commits in between.

import assert from 'node:assert/strict'
import { seededRandom, uuidText } from '../../src/base/random.ts'
import { commit } from '../../src/tier/iceberg/commit.ts'
import { expireSnapshots } from '../../src/tier/iceberg/expire-snapshots.ts'
import { OffsetIndexer } from '../../src/tier/iceberg/offset-index.ts'
import { removeBelow } from '../../src/tier/iceberg/retention.ts'
import { loadTable } from '../../src/tier/iceberg/table.ts'
import { dataFileKey } from '../../src/tier/iceberg/table-files.ts'
import { type CleanUp, startBroker } from '../../testing/broker.ts'
import { catalogTables } from '../../testing/catalog-tables.ts'
import { craftBatch, encodeFile } from '../../testing/data-files.ts'
import { auditTable } from '../../testing/iceberg-audit.ts'
import { archive, foreignCommit, unguarded } from '../../testing/iceberg-table.ts'
import { type Holder, SEALED_AT } from '../../testing/offloading.ts'
import { type History, historyOf } from './histories.ts'
import type { SeenRecord } from './sums.ts'
import { TOKEN, type World } from './world.ts'

const DAY_MS = 24 * 3_600_000

export async function openFolderWorld(cleanUp: CleanUp): Promise<World> {
  const tables = await catalogTables(cleanUp)
  const random = seededRandom(20)
  const topics = new Map<string, readonly SeenRecord[]>()
  const orders = await tables.open('orders')
  const histories: History[] = []
  const offload = async (holder: Holder, more: readonly History[]) => {
    histories.push(...more)
    const outcomes = await holder.round(histories.filter(({ segment }) => segment.next > 0))
    for (const [id, { kind }] of outcomes) assert.equal(kind, 'done', id)
  }
  const first = [0, 1, 2].map(partition => historyOf(random, partition, partition * 1_000, 10))
  await offload(orders, first)
  // Another writer leaves a snapshot whose id has 63 bits.
  await foreignCommit(tables.objects)
  orders.table = (await loadTable(tables.objects, orders.table.location))!
  for (const rounds of [6, 9, 4])
    await offload(
      orders,
      [0, 1].map(partition => historyOf(random, partition, endOf(histories, partition), rounds)),
    )
  topics.set(
    'orders',
    histories.flatMap(({ records }) => records),
  )

  for (const [name, count] of [
    ['a.b', 1],
    ['a_b', 2],
  ] as const) {
    const history = historyOf(random, 0, 0, count)
    await (await tables.open(name)).round([history])
    topics.set(name, history.records)
  }
  topics.set('aborted', await archiveAborted(await tables.open('aborted')))
  await tables.open('empty')
  topics.set('empty', [])

  const settings = { 'admin.password': 'a long password', 'storage.remote.catalog.token': TOKEN }
  const { url } = await startBroker(cleanUp, settings, { http: { catalogSource: tables.source } })
  return {
    catalog: `${url}/iceberg`,
    token: TOKEN,
    folder: tables.folder,
    lake: null,
    topics,
    async retain() {
      const { deps, table } = orders
      const logStart = histories.filter(({ segment }) => segment.partition === 0)[1]!.segment.base + 9
      const index = await new OffsetIndexer(tables.clock, tables.objects).index(table)
      const { table: cut } = await removeBelow(table, index, new Map([[0, logStart]]), unguarded, deps)
      tables.clock.atMs += 2 * DAY_MS
      const properties = () => ({ 'history.expire.min-snapshots-to-keep': '1' })
      const { table: hasty } = await commit(cut, { properties }, unguarded, deps)
      const { expired, deletedFiles } = await expireSnapshots(hasty, unguarded, deps)
      assert.ok(expired > 0 && deletedFiles > 0, 'old snapshots and the file below the log start are gone')
      const { findings } = await auditTable(tables.objects, table.location, { nowMs: tables.clock.now(), graceMs: 0 })
      assert.deepEqual(findings, [])
      return logStart
    },
  }
}

/**
 * Archives transactions of which the second is aborted. No broker of this version has transactions, so the file does
 * not come from its log. Resolves with all their records.
 */
async function archiveAborted({ table, deps }: Holder): Promise<SeenRecord[]> {
  const records = Array.from({ length: 30 }, (_, offset): SeenRecord & { readonly isAborted: boolean } => ({
    ...{ partition: 0, offset, key: null, value: Buffer.from(`value ${offset}`), headers: [] },
    isAborted: offset >= 10 && offset < 20,
  }))
  const batches = [0, 10, 20].map(baseOffset =>
    craftBatch({
      baseOffset,
      records: records.slice(baseOffset, baseOffset + 10).map(({ value }) => ({ value })),
      isTransactional: true,
      producerId: 7n,
      producerEpoch: 0,
      baseSequence: baseOffset,
    }),
  )
  const aborted = [{ producerId: 7, firstOffset: 10, lastOffset: 19 }]
  const segment = { base: 0, next: records.length, ingestedAt: SEALED_AT, aborted }
  const { bytes, facts } = encodeFile(batches, { partition: 0 }, segment)
  const name = { partition: 0, ingestedAt: SEALED_AT, base: 0, next: records.length, kafkaBytes: bytes.length }
  const key = dataFileKey(table.location, name, uuidText(deps.random))
  await table.objects.write(key, bytes)
  await commit(table, archive([{ ...facts, key }]), unguarded, deps)
  return records
}

const endOf = (histories: readonly History[], of: number) =>
  Math.max(...histories.filter(({ segment }) => segment.partition === of).map(({ segment }) => segment.next))
