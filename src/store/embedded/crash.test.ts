import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createFaultyDisk } from '../../../testing/sim/faulty-disk.ts'
import { systemClock } from '../../base/clock.ts'
import { type Random, seededRandom } from '../../base/random.ts'
import { exampleAppend, exampleBatch, expectKind } from '../examples.ts'
import type { Store } from '../store.ts'
import { type EmbeddedStoreOptions, openEmbeddedStore } from './embedded-store.ts'

const EVERYTHING = { maxBytes: Number.MAX_SAFE_INTEGER, until: Number.MAX_SAFE_INTEGER }
const STREAMS = Array.from({ length: 6 }, (_, i) => `AAAAAAAAAAAAAAAAAAAAAQ:${i}`)

/** The calls of a writer and their results. */
interface Told {
  /** The acknowledged and the attempted ends, starts and versions. */
  readonly ends: Map<string, number>
  readonly tried: Map<string, number>
  readonly starts: Map<string, number>
  readonly triedStarts: Map<string, number>
  readonly versions: Map<string, number>
  readonly removed: Set<string>
}

const newTold = (): Told => ({
  ends: new Map(),
  tried: new Map(),
  starts: new Map(),
  triedStarts: new Map(),
  versions: new Map(),
  removed: new Set(),
})

const sizeAt = (offset: number) => 200 + ((offset * 7919) % 9_000)

/**
 * Writes until all steps are done or the store stops. The busy streams are trimmed; the slow stream keeps old files
 * alive.
 */
async function work(store: Store, random: Random, told: Told, steps: number): Promise<void> {
  try {
    await store.create(STREAMS)
    for (const stream of STREAMS) if (!told.tried.has(stream)) told.tried.set(stream, 0)
    await Promise.all(
      STREAMS.map(async (stream, i) => {
        const opened = await store.open(stream, 0, 0)
        if (opened.kind !== 'opened') return
        let at = opened.end
        for (let step = 0; step < (i === 0 ? steps / 8 : steps); step++) {
          const batches = [
            exampleBatch(at, 1, sizeAt(at), opened.epoch),
            exampleBatch(at + 1, 2, sizeAt(at + 1), opened.epoch),
          ]
          told.tried.set(stream, Math.max(told.tried.get(stream) ?? 0, at + 3))
          const rows = [{ key: 'end', value: Buffer.from(String(at + 3)) }]
          const outcome = await store.append(exampleAppend(stream, opened.epoch, at, batches, rows))
          at = expectKind(outcome, 'appended').end
          told.ends.set(stream, at)
          if (i > 0 && step % 4 === 3) {
            told.triedStarts.set(stream, at - 6)
            await store.trim(stream, opened.epoch, at - 6, [])
            told.starts.set(stream, at - 6)
          }
          if (random.below(4) === 0) {
            const version = told.versions.get(stream) ?? (await store.load('k', stream))?.version ?? 0
            const committed = await store.commit({
              kind: 'k',
              name: stream,
              expect: version,
              changes: [{ key: 'f', value: Buffer.from(stream) }],
            })
            told.versions.set(stream, expectKind(committed, 'committed').version)
          }
        }
      }),
    )
  } catch (error) {
    assert.match((error as Error).name, /StoreUnavailable|OutcomeUnknown/, (error as Error).stack)
  }
}

/**
 * Checks that everything that was acknowledged exists (unless `lossy`), complete, in order and with its rows, and
 * that there is no other data.
 */
async function check(store: Store, told: Told, lossy: boolean): Promise<void> {
  const exist = new Set(await store.streams())
  for (const stream of STREAMS) {
    if (!exist.has(stream)) {
      assert.ok(lossy || !told.ends.has(stream), `${stream} is gone`)
      continue
    }
    const opened = expectKind(await store.open(stream, 0, 0), 'opened')
    assert.equal(opened.damage, null)
    if (!lossy) {
      assert.ok(
        opened.end >= (told.ends.get(stream) ?? 0),
        `${stream} ends at ${opened.end}, not ${told.ends.get(stream)}`,
      )
      assert.ok(opened.start >= (told.starts.get(stream) ?? 0), `${stream} starts at ${opened.start}`)
    }
    assert.ok(opened.end <= (told.tried.get(stream) ?? 0), `${stream} ends at ${opened.end}, which no writer wrote`)
    assert.ok(opened.start <= (told.triedStarts.get(stream) ?? 0), `${stream} starts at ${opened.start}`)
    const end = opened.rows.get('end')
    assert.equal(end === undefined ? 0 : Number(Buffer.from(end)), opened.end, 'rows came with their append')
    let at = opened.start
    let bytes = 0
    for (const batch of expectKind(await store.read(stream, at, EVERYTHING), 'read').batches) {
      assert.ok(batch.baseOffset <= at && batch.nextOffset > at, `${stream} has a hole at ${at}`)
      const epoch = Buffer.from(batch.bytes).readInt32BE(12)
      const expected = exampleBatch(batch.baseOffset, batch.recordCount, sizeAt(batch.baseOffset), epoch)
      assert.ok(Buffer.from(batch.bytes).equals(expected.bytes), `${stream} holds other bytes at ${batch.baseOffset}`)
      at = batch.nextOffset
      bytes += batch.bytes.length
    }
    assert.equal(at, opened.end)
    assert.equal(bytes, opened.bytes, `${stream} counts its bytes`)
    const document = await store.load('k', stream)
    if (!lossy) assert.ok((document?.version ?? 0) >= (told.versions.get(stream) ?? 0), `document of ${stream}`)
    // The next run continues from this state.
    told.ends.set(stream, opened.end)
    told.starts.set(stream, opened.start)
    if (document === null) told.versions.delete(stream)
    else told.versions.set(stream, document.version)
  }
}

/**
 * Runs stores one after the other on one folder. Each ends at a chosen disk call; the contents are checked after
 * each.
 */
export async function crashRun(seed: number, lives: number): Promise<void> {
  const random = seededRandom(seed)
  const path = mkdtempSync(join(tmpdir(), 'ketch-crash-'))
  const told = newTold()
  const fsync = random.below(2) === 0 ? 'always' : 'interval'
  const open = (more: Partial<EmbeddedStoreOptions>) =>
    openEmbeddedStore({
      path,
      fsync,
      fsyncIntervalMs: 3,
      journalFileBytes: 96 << 10,
      checkpointBytes: 64 << 10,
      clock: systemClock,
      random,
      report: message => assert.match(message, /torn tail|disk stops here|disk is gone|round could neither/),
      ...more,
    })
  let where = ''
  try {
    for (let life = 0; life < lives; life++) {
      const disk = createFaultyDisk(random)
      const when = (['before', 'partly', 'after'] as const)[random.below(3)]!
      const call = random.below(90)
      const power = random.below(2) === 0
      where = `seed ${seed}, life ${life}, fsync ${fsync}: stop ${when} call ${call}, ${power ? 'power' : 'process'} lost`
      disk.stopAt(call, when)
      const store = await open({ disk }).catch((error: Error) => {
        assert.ok(disk.stopped, error.stack)
        return null
      })
      if (store !== null) {
        await work(store, random, told, 24)
        // The last sync may fail as well; then close() rejects.
        await store.close().catch((error: Error) => assert.ok(disk.stopped, error.stack))
      }
      if (disk.stopped && power) disk.losePower()
      const after = await open({})
      try {
        await check(after, told, fsync === 'interval' && power && disk.stopped)
      } finally {
        await after.close()
      }
    }
  } catch (error) {
    throw new Error(`${where} (${readdirSync(path).join(' ')}): ${(error as Error).message}`, { cause: error })
  } finally {
    rmSync(path, { recursive: true })
  }
}

for (let seed = 1; seed <= 3; seed++) {
  test(`acknowledged data survives a stop at any call of the disk (seed ${seed})`, () => crashRun(seed, 3))
}
