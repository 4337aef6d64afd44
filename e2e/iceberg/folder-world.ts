// Tables in a folder without a broker that writes them: a holder of the lease offloads batches of every form, also of
// forms that no client of ours produces, and another writer commits in between.

import assert from 'node:assert/strict'
import { seededRandom } from '../../src/base/random.ts'
import { commit } from '../../src/tier/iceberg/commit.ts'
import { expireSnapshots } from '../../src/tier/iceberg/expire-snapshots.ts'
import { OffsetIndexer } from '../../src/tier/iceberg/offset-index.ts'
import { removeBelow } from '../../src/tier/iceberg/retention.ts'
import { loadTable } from '../../src/tier/iceberg/table.ts'
import { type CleanUp, startBroker } from '../../testing/broker.ts'
import { catalogTables } from '../../testing/catalog-tables.ts'
import { auditTable } from '../../testing/iceberg-audit.ts'
import { foreignCommit, unguarded } from '../../testing/iceberg-table.ts'
import type { Holder } from '../../testing/offloading.ts'
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

const endOf = (histories: readonly History[], of: number) =>
  Math.max(...histories.filter(({ segment }) => segment.partition === of).map(({ segment }) => segment.next))
