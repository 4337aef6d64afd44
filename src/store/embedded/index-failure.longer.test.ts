// The index on a disk that refuses its writes: every commit and every close ends. lmdb opens its files itself, so these
// tests put /dev/full, which has no room for any byte, in the place of one of its descriptors. No other test may open
// files in this process meanwhile.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../base/clock.ts'
import { exampleAppend, exampleBatch, expectKind } from '../examples.ts'
import { OutcomeUnknown, StoreUnavailable } from '../store.ts'
import { openEmbeddedStore } from './embedded-store.ts'
import { INDEX } from './open-folder.ts'
import { type Change, IndexFailed, openTables, type Tables } from './tables.ts'

const A = 'AAAAAAAAAAAAAAAAAAAAAQ:0'
const AHEAD = 1 << 16

function folderOf(t: TestContext): string {
  const path = fs.mkdtempSync(join(tmpdir(), 'ketch-index-'))
  t.after(() => fs.rmSync(path, { recursive: true }))
  return path
}

/** Returns the descriptor with which lmdb writes the meta pages of this file. */
function metaDescriptorOf(path: string): number {
  const descriptors = fs.readdirSync('/proc/self/fd').filter(each => {
    try {
      return fs.readlinkSync(`/proc/self/fd/${each}`) === path
    } catch {
      return false // the descriptor of the listed folder itself
    }
  })
  const isSync = (each: string) => {
    const flags = /^flags:\s+([0-7]+)$/m.exec(fs.readFileSync(`/proc/self/fdinfo/${each}`, 'utf8'))![1]!
    return (Number.parseInt(flags, 8) & fs.constants.O_DSYNC) !== 0
  }
  return Number(descriptors.map(String).find(isSync))
}

/** Makes a descriptor one of another file. */
function redirect(descriptor: number, path: string): void {
  fs.closeSync(descriptor)
  const opened: number[] = []
  do opened.push(fs.openSync(path, 'r+'))
  while (opened.at(-1)! < descriptor)
  assert.equal(opened.pop(), descriptor)
  for (const each of opened) fs.closeSync(each)
}

const rows = (from: number, count: number): Change[] =>
  Array.from({ length: count }, (_, i) => ({
    table: 'rows',
    key: Buffer.from(`row ${String(from + i).padStart(3, '0')}`),
    value: Buffer.alloc(3000, from + i),
  }))
const stored = (tables: Tables) => [...tables.rows.range({ start: Buffer.of(0), end: Buffer.of(0xff) })]
const expected = (changes: readonly Change[]) => changes.map(({ key, value }) => ({ key, value }))

test('if a meta page cannot be written, all later commits and reads are refused, and the file opens again', async t => {
  const path = join(folderOf(t), INDEX)
  const tables = openTables(path, AHEAD)
  await tables.commit(rows(0, 5))
  assert.deepEqual(stored(tables), expected(rows(0, 5)))
  redirect(metaDescriptorOf(path), '/dev/full')
  const message = 'lmdb could not commit: No space left on device; it refuses all reads and writes until the next start'
  for (let attempt = 0; attempt < 5; attempt++) {
    await assert.rejects(tables.commit(rows(5, 1)), { name: 'IndexFailed', message })
    assert.throws(() => tables.rows.get(rows(0, 1)[0]!.key), IndexFailed)
    assert.throws(() => stored(tables), IndexFailed)
  }
  await tables.close()
  const again = openTables(path, AHEAD)
  assert.deepEqual(stored(again), expected(rows(0, 5)))
  await again.commit(rows(5, 1))
  assert.deepEqual(stored(again), expected(rows(0, 6)))
  await again.close()
})

test('a store whose index failed stops, closes, and opens again with all that it acknowledged', async t => {
  const path = folderOf(t)
  const stopped = Promise.withResolvers<Error>()
  const options = { path, fsync: 'always' as const, fsyncIntervalMs: 0, clock: systemClock, report: () => {} }
  const store = await openEmbeddedStore({ ...options, checkpointBytes: 1, onFatal: stopped.resolve })
  await store.create([A])
  const { epoch } = expectKind(await store.open(A, 0, 0), 'opened')
  const append = (at: number) => {
    const row = { key: `row ${at}`, value: Buffer.of(1) }
    return store.append(exampleAppend(A, epoch, at, [exampleBatch(at, 1, 300, epoch)], [row]))
  }
  expectKind(await append(0), 'appended')
  redirect(metaDescriptorOf(join(path, INDEX)), '/dev/full')
  // The checkpoint of the first append may still be on its way and stop the store in the middle of this one.
  const isAppended = await append(1).then(
    outcome => outcome.kind === 'appended',
    (error: Error) => assert.ok(error instanceof OutcomeUnknown || error instanceof StoreUnavailable),
  )
  assert.ok((await stopped.promise) instanceof IndexFailed)
  await assert.rejects(store.open(A, epoch, 0), StoreUnavailable)
  await assert.rejects(store.load('k', 'n'), StoreUnavailable)
  await store.close()
  const again = await openEmbeddedStore(options)
  const opened = expectKind(await again.open(A, epoch, 0), 'opened')
  assert.ok(opened.end === 2 || (opened.end === 1 && !isAppended), `it ends at ${opened.end}`)
  assert.deepEqual([[...opened.rows.keys()], opened.damage], [['row 0', 'row 1'].slice(0, opened.end), null])
  await again.close()
})

test('a store writes its last checkpoint also if nothing else keeps the process alive', async t => {
  const path = folderOf(t)
  const modules = ['../../base/clock.ts', '../examples.ts', './embedded-store.ts']
  const urls = modules.map(name => String(new URL(name, import.meta.url)))
  // Every turn of this clock is long, so that the checkpoint pauses after every step, as on a busy machine.
  const script = `
    const [{ systemClock }, { exampleAppend, exampleBatch }, { openEmbeddedStore }] = await Promise.all(
      ${JSON.stringify(urls)}.map(url => import(url)),
    )
    let nowMs = 0
    const store = await openEmbeddedStore({
      path: ${JSON.stringify(path)}, fsync: 'always', fsyncIntervalMs: 0,
      clock: { ...systemClock, monotonic: () => (nowMs += 3) }, report: message => console.log(message),
    })
    await store.create(['${A}'])
    await store.open('${A}', 0, 0)
    await store.append(exampleAppend('${A}', 1, 0, [exampleBatch(0)], []))
    await store.close()
    console.log('closed')`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (said += chunk))
  const status = await new Promise(resolve => child.on('close', resolve))
  assert.deepEqual([status, said], [0, 'closed\n'])
})
