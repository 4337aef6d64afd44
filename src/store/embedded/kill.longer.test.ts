import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../base/clock.ts'
import { exampleBatch, expectKind } from '../examples.ts'
import { openEmbeddedStore } from './embedded-store.ts'

const WRITER = fileURLToPath(new URL('../../../testing/store-writer.ts', import.meta.url))
const EVERYTHING = { maxBytes: Number.MAX_SAFE_INTEGER, until: Number.MAX_SAFE_INTEGER }

interface Acknowledged {
  readonly ends: Map<string, number>
  readonly starts: Map<string, number>
  readonly versions: Map<string, number>
}

/** Lets a writer run until it has printed this many lines, kills it, and keeps the lines. */
async function writeAndKill(path: string, fsync: string, lines: number, told: Acknowledged): Promise<void> {
  const child = spawn(process.execPath, [WRITER, path, fsync], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise<NodeJS.Signals | null>(resolve => child.on('exit', (_, signal) => resolve(signal)))
  let seen = 0
  for await (const line of createInterface({ input: child.stdout })) {
    const { stream, end, start, document, version, message } = JSON.parse(line)
    assert.ok(message === undefined || /torn tail/.test(message), message)
    if (end !== undefined) told.ends.set(stream, end)
    if (start !== undefined) told.starts.set(stream, start)
    if (document !== undefined) told.versions.set(document, version)
    if (++seen === lines) child.kill('SIGKILL')
  }
  assert.equal(await ended, 'SIGKILL')
}

async function checkAcknowledged(t: TestContext, path: string, told: Acknowledged): Promise<void> {
  const store = await openEmbeddedStore({
    path,
    fsync: 'always',
    fsyncIntervalMs: 0,
    journalFileBytes: 1 << 20,
    clock: systemClock,
    report: message => {
      t.diagnostic(message)
      assert.match(message, /torn tail/)
    },
  })
  try {
    for (const [stream, end] of told.ends) {
      const opened = expectKind(await store.open(stream, 0, 0), 'opened')
      assert.ok(opened.end >= end, `${stream} ends at ${opened.end} and ${end} was acknowledged`)
      assert.ok(opened.start >= (told.starts.get(stream) ?? 0), `${stream} starts at ${opened.start}`)
      assert.equal(Buffer.from(opened.rows.get('end')!).toString(), String(opened.end), 'rows came with their append')
      let at = opened.start
      for (const batch of expectKind(await store.read(stream, at, EVERYTHING), 'read').batches) {
        assert.ok(batch.baseOffset <= at && batch.nextOffset > at, `${stream} has a hole at ${at}`)
        const size = batch.recordCount === 2 ? 3_000 : 20_000
        const epoch = Buffer.from(batch.bytes).readInt32BE(12)
        const expected = exampleBatch(batch.baseOffset, batch.recordCount, size, epoch).bytes
        assert.ok(Buffer.from(batch.bytes).equals(expected), `${stream} holds other bytes at ${batch.baseOffset}`)
        at = batch.nextOffset
      }
      assert.equal(at, opened.end)
    }
    for (const [name, version] of told.versions) {
      const document = await store.load('k', name)
      assert.ok(document !== null && document.version >= version, `${name} is behind`)
    }
  } finally {
    await store.close()
  }
}

test('if only the index cannot grow, checkpoints wait and nothing acknowledged is lost', async t => {
  const path = mkdtempSync(join(tmpdir(), 'ketch-full-'))
  t.after(() => rmSync(path, { recursive: true }))
  const modules = ['../../base/clock.ts', '../examples.ts', './embedded-store.ts']
  const urls = modules.map(name => String(new URL(name, import.meta.url)))
  const script = `
    const [{ systemClock }, { exampleAppend, exampleBatch }, { openEmbeddedStore }] = await Promise.all(
      ${JSON.stringify(urls)}.map(url => import(url)),
    )
    const store = await openEmbeddedStore({
      path: ${JSON.stringify(path)}, fsync: 'interval', fsyncIntervalMs: 1, clock: systemClock,
      journalFileBytes: 64 << 10, checkpointBytes: 32 << 10, report: message => console.log(message),
    })
    await store.create(['a:0'])
    await store.open('a:0', 0, 0)
    for (let at = 0; at < 100; at++) {
      const rows = [{ key: 'row' + at, value: Buffer.alloc(3000, 1) }]
      const outcome = await store.append(exampleAppend('a:0', 1, at, [exampleBatch(at)], rows))
      if (outcome.kind !== 'appended') throw new Error(outcome.kind)
    }
    await store.close()`
  // The limit is in blocks of 512 bytes or more: much less than the rows need, and much more than a journal file.
  const command = `ulimit -f 320; exec "$0" --input-type=module -e "$1"`
  const child = spawn('sh', ['-c', command, process.execPath, script], { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (said += chunk))
  const status = await new Promise(resolve => child.on('close', resolve))
  assert.equal(status, 0, said)
  assert.match(said, /the checkpoint waits: lmdb could not commit: /)
  assert.match(said, /the last checkpoint could not be written, the next start replays the journal/)
  const store = await openEmbeddedStore({
    path,
    fsync: 'always',
    fsyncIntervalMs: 0,
    clock: systemClock,
    report: message => t.diagnostic(message),
  })
  const opened = expectKind(await store.open('a:0', 0, 0), 'opened')
  assert.deepEqual([opened.end, opened.rows.size, opened.damage], [100, 100, null])
  await store.close()
})

test('nothing acknowledged is lost by kill -9, twice on one folder, with either fsync', async t => {
  const path = mkdtempSync(join(tmpdir(), 'ketch-kill-'))
  t.after(() => rmSync(path, { recursive: true }))
  const told: Acknowledged = { ends: new Map(), starts: new Map(), versions: new Map() }
  await writeAndKill(path, 'always', 121, told)
  await writeAndKill(path, 'interval', 302, told)
  await checkAcknowledged(t, path, told)
})
