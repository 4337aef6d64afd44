// Audits the folder of an embedded store: each journal file but the newest has a batch that a reader may need. It
// computes that from the index and does not use the counts of the store.

import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../src/base/clock.ts'
import { systemRandom } from '../src/base/random.ts'
import { openEmbeddedStore } from '../src/store/embedded/embedded-store.ts'
import { fileNumber } from '../src/store/embedded/journal.ts'
import { INDEX } from '../src/store/embedded/open-folder.ts'
import { decodeRun, type Run, streamEnd, streamStart } from '../src/store/embedded/run-index.ts'
import { openTables } from '../src/store/embedded/tables.ts'

/** Audits a folder that no store has open. Resolves with one sentence for each problem. */
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
  for (const number of await deadFiles(path)) problems.push(`journal file ${number} is dead`)
  const numbers = new Set(journalFiles(path))
  for (const number of new Set((await runsIn(path)).map(({ file }) => file)))
    if (!numbers.has(number)) problems.push(`journal file ${number} is missing`)
  return problems
}

/**
 * Resolves with the numbers of the files that no reader needs, without the newest one. A store that has the folder open
 * must stand still until this function returns its promise. Such a store still has to free what its last checkpoint
 * shows to be dead, and its index lacks the files behind this checkpoint.
 */
export async function deadFiles(path: string): Promise<readonly number[]> {
  const numbers = journalFiles(path)
  const copy = mkdtempSync(join(tmpdir(), 'ketch-index-'))
  try {
    copyFileSync(join(path, INDEX), join(copy, INDEX))
    const used = new Set((await runsIn(copy)).map(({ file }) => file))
    const newest = Math.max(...numbers)
    return numbers.filter(number => number !== newest && !used.has(number))
  } finally {
    rmSync(copy, { recursive: true })
  }
}

function journalFiles(path: string): readonly number[] {
  return readdirSync(path).flatMap(name => fileNumber(name) ?? [])
}

/** Resolves with the runs of all streams, at or above their log starts. No store may have the folder open. */
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
