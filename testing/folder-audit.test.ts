import assert from 'node:assert/strict'
import { unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../src/base/clock.ts'
import { openEmbeddedStore } from '../src/store/embedded/embedded-store.ts'
import { fileName } from '../src/store/embedded/journal.ts'
import { INDEX } from '../src/store/embedded/open-folder.ts'
import { decodeRun, type Run } from '../src/store/embedded/run-index.ts'
import { openTables } from '../src/store/embedded/tables.ts'
import { exampleAppend, exampleBatch, expectKind } from '../src/store/examples.ts'
import type { CleanUp } from './broker.ts'
import { auditFolder, deadFiles, runsIn } from './folder-audit.ts'
import { newFolder } from './store-folder.ts'

const A = 'AAAAAAAAAAAAAAAAAAAAAQ:0'
const BATCHES = 40
const REWRITTEN = 30
const BATCH_BYTES = 100_000
/** A rewrite keeps one batch of this many. */
const KEPT = 10

/** Returns a folder of two files and more. A rewrite has removed most of the batches, and the store is closed. */
async function cleanedFolder(cleanUp: CleanUp): Promise<string> {
  const path = newFolder(cleanUp)
  const store = await openEmbeddedStore({
    path,
    fsync: 'interval',
    fsyncIntervalMs: 1_000,
    journalFileBytes: 1 << 20,
    clock: systemClock,
    report: message => assert.fail(message),
  })
  await store.create([A])
  const { epoch } = expectKind(await store.open(A, 0, 0), 'opened')
  const batches = Array.from({ length: BATCHES }, (_, at) => exampleBatch(at, 1, BATCH_BYTES, epoch))
  const append = async (from: number, to: number) => {
    for (const batch of batches.slice(from, to))
      expectKind(await store.append(exampleAppend(A, epoch, batch.baseOffset, [batch])), 'appended')
  }
  await append(0, REWRITTEN)
  const kept = batches.slice(0, REWRITTEN).filter(({ baseOffset }) => baseOffset % KEPT === 0)
  const rewrite = { stream: A, epoch, from: 0, to: REWRITTEN, batches: kept, rows: [] }
  expectKind(await store.rewrite(rewrite), 'rewritten')
  await append(REWRITTEN, BATCHES)
  await store.close()
  return path
}

test('the audit finds no problem in a folder in which every file has a batch', async t => {
  const path = await cleanedFolder(t)
  assert.deepEqual(await auditFolder(path), [])
  assert.deepEqual(await deadFiles(path), [])
})

test('the audit names a file that no batch needs and that the next start does not free', async t => {
  const path = await cleanedFolder(t)
  assert.deepEqual(await auditFolder(path), [])
  const [{ file: oldest }] = (await runsIn(path)) as [Run]
  const tables = openTables(join(path, INDEX), 0)
  const runs = [...tables.runs.range({ start: Buffer.alloc(1), end: Buffer.alloc(20, 0xff) })]
  const inOldest = runs.filter(({ key, value }) => decodeRun(key, value).file === oldest)
  // The count of live bytes of the file stays, as it does if a change forgets to lower it.
  await tables.commit(inOldest.map(({ key }) => ({ table: 'runs', key, value: null })))
  await tables.close()
  assert.deepEqual(await deadFiles(path), [oldest])
  assert.deepEqual(await auditFolder(path), [`journal file ${oldest} is dead`])
})

test('the audit names a file that is missing', async t => {
  const path = await cleanedFolder(t)
  const [{ file }] = (await runsIn(path)) as [Run]
  unlinkSync(join(path, fileName(file)))
  const problems = await auditFolder(path)
  assert.ok(problems.includes(`journal file ${file} is missing`), problems.join('; '))
})
