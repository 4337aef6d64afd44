// Audits the folder of an embedded store after its broker has ended: each journal file but the newest has a batch that
// a reader may need. It computes that from the index and does not use the counts of the store.

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../src/base/clock.ts'
import { systemRandom } from '../src/base/random.ts'
import { openEmbeddedStore } from '../src/store/embedded/embedded-store.ts'
import { fileNumber } from '../src/store/embedded/journal.ts'
import { INDEX } from '../src/store/embedded/open-folder.ts'
import { decodeRun, type Run, streamEnd, streamStart } from '../src/store/embedded/run-index.ts'
import { openTables } from '../src/store/embedded/tables.ts'

/** Resolves with one sentence for each problem. */
export async function auditFolder(path: string): Promise<readonly string[]> {
  const problems: string[] = []
  // The last checkpoint of the broker may be the first one that shows that a file is dead. The next start frees it.
  const store = await openEmbeddedStore({
    path,
    fsync: 'always',
    fsyncIntervalMs: 3,
    clock: systemClock,
    random: systemRandom,
    report: message => problems.push(message),
  })
  await store.close()
  const used = new Set((await runsIn(path)).map(({ file }) => file))
  const numbers = readdirSync(path).flatMap(name => fileNumber(name) ?? [])
  const newest = Math.max(...numbers)
  for (const number of numbers)
    if (number !== newest && !used.has(number)) problems.push(`journal file ${number} of ${newest} is dead`)
  for (const number of used) if (!numbers.includes(number)) problems.push(`journal file ${number} is missing`)
  return problems
}

/** Returns the runs of batches of all streams, at or above their log starts. No store may be open in the folder. */
export async function runsIn(path: string): Promise<readonly Run[]> {
  const runs: Run[] = []
  const tables = openTables(join(path, INDEX), 0)
  try {
    for (const { key, value } of tables.streams.range({ start: Buffer.alloc(4), end: Buffer.alloc(4, 0xff) })) {
      const number = key.readUInt32BE(0)
      const { start } = JSON.parse(value.toString()) as { readonly start: number }
      for (const row of tables.runs.range({ start: streamStart(number), end: streamEnd(number) })) {
        const run = decodeRun(row.key, row.value)
        if (run.nextOffset > start) runs.push(run)
      }
    }
  } finally {
    await tables.close()
  }
  return runs
}
