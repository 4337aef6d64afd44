// The faults of two holders of the storage worker's lease whose clocks are an hour apart: the first one stands still
// with a file that is uploaded and not committed, until the other one has taken over. It must not commit any more.

import assert from 'node:assert/strict'
import { tableLocation } from '../../../src/tier/iceberg/table-files.ts'
import type { Objects } from '../../../src/tier/objects/objects.ts'
import { eventually } from '../../../testing/eventually.ts'
import { auditTable } from '../../../testing/iceberg-audit.ts'
import type { BrokerProcess } from '../../../testing/process.ts'
import { startAnyway } from '../redis/kill-faults.ts'
import type { RemoteFault } from './round.ts'
import { CONFIRMED, KEPT_READ_BACK } from './steps.ts'
import { KEPT } from './topics.ts'

const HOUR_MS = 3_600_000
const PROGRESS = 60
/** The lease and the leads pass to the other broker within this time. */
const TAKEN_MS = 60_000
const MOST_LOOKS = 20

interface TableState {
  /** The data files that are uploaded and that no snapshot reaches. */
  readonly staged: readonly string[]
  readonly rows: number
}

/** Resolves with what the table is like. Upkeep may take files away meanwhile; then it looks again. */
async function stateOf(objects: Objects, id: string): Promise<TableState> {
  for (let attempt = 1; ; attempt++) {
    try {
      const location = tableLocation('default', KEPT, id)
      const { findings, unreached, rows } = await auditTable(objects, location, { nowMs: 0, graceMs: 0 })
      if (findings.length > 0) throw new Error(findings.join('\n'))
      return { staged: unreached.filter(key => key.endsWith('.parquet')), rows }
    } catch (error) {
      if (attempt === MOST_LOOKS) throw error
    }
  }
}

const stoppedAt = (step: string): RemoteFault => ({
  name: `the holder stands still when ${step}, and its clock is an hour ahead`,
  needs: { store: 'Redis', brokers: 2 },
  async act({ world, run, random, keptId }) {
    const { brokers, orders, objects } = world
    const clockMs = random.below(2) === 0 ? HOUR_MS : -HOUR_MS
    let first: BrokerProcess | null = null
    const isHeld = async () => {
      first = await world.holder()
      return first !== null
    }
    await eventually('a broker holds the lease', isHeld, TAKEN_MS)
    const other = brokers.find(broker => broker !== first)!
    await orders.give(other, { clockMs })
    const [stopped] = await orders.stopAt([first!], run, { step, nth: 1, signal: 'SIGSTOP' })
    assert.equal(stopped, first)
    const before = await stateOf(objects, keptId)
    assert.ok(before.staged.length > 0, 'a file is uploaded and not committed')
    await eventually('the other broker holds the lease', async () => (await world.holder()) === other, TAKEN_MS)
    await run.progress(PROGRESS)
    const hasMore = async () => (await stateOf(objects, keptId)).rows > before.rows
    await eventually('the other broker commits', hasMore, TAKEN_MS)
    first!.resume()
    await run.progress(PROGRESS)
    // Its file is an orphan: unreached, or swept already.
    const { staged } = await stateOf(objects, keptId)
    const present = new Set<string>()
    for await (const { key } of objects.list(`${tableLocation('default', KEPT, keptId)}/data/`)) present.add(key)
    const committed = before.staged.filter(key => present.has(key) && !staged.includes(key))
    assert.deepEqual(committed, [], 'the commit of the first holder is refused')
    await orders.give(other, {})
    // To set a clock right may be a jump forward. Its broker would drop nothing by time for a day.
    assert.equal(await other.kill('SIGTERM'), 0, 'the exit status after SIGTERM')
    await startAnyway(other)
    return `the holder stood still when ${step}; ${before.staged.length} files became orphans`
  },
})

/** The last moment before the request that creates the version. */
export const lateCommit = stoppedAt(CONFIRMED)

export const HOLDER_FAULTS: readonly RemoteFault[] = [stoppedAt(KEPT_READ_BACK), lateCommit]
