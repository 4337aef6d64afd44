// Stops an embedded store at chosen disk calls while streams are appended to, rewritten and trimmed, and compares what
// the next start finds with a list of batches. Small files and checkpoints make sure that checkpoints, copy-forward
// and freed files meet every step of a pass.

import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../src/base/clock.ts'
import { type Random, seededRandom } from '../src/base/random.ts'
import { type EmbeddedStoreOptions, openEmbeddedStore } from '../src/store/embedded/embedded-store.ts'
import { exampleAppend, exampleBatch, expectKind } from '../src/store/examples.ts'
import { type Batch, OutcomeUnknown, type Pass, type Store, StoreUnavailable } from '../src/store/store.ts'
import { createFaultyDisk } from './sim/faulty-disk.ts'

const EVERYTHING = { maxBytes: Number.MAX_SAFE_INTEGER, until: Number.MAX_SAFE_INTEGER }
/** The first one is appended to rarely, so that old files have a few live batches. */
const STREAMS = Array.from({ length: 4 }, (_, i) => `AAAAAAAAAAAAAAAAAAAAAQ:${i}`)
const STEPS = 60

interface State {
  readonly start: number
  readonly end: number
  readonly batches: readonly Batch[]
  /** The row that the last call wrote. */
  readonly row: string
}

/** The states that a stream may have: the acknowledged one, and the one after a call whose outcome is unknown. */
interface Held {
  sure: State
  maybe: State
}

const sizeOf = (batches: readonly Batch[]) => batches.reduce((sum, { bytes }) => sum + bytes.length, 0)

function asText({ start, end, batches, row }: State): string {
  return JSON.stringify({
    start,
    end,
    row,
    batches: batches.map(({ baseOffset, nextOffset, bytes }) => [
      baseOffset,
      nextOffset,
      Buffer.from(bytes).toString('base64'),
    ]),
  })
}

class Writer {
  readonly #store: Store
  readonly #stream: string
  readonly #held: Held
  readonly #random: Random
  #epoch = 0
  #pass: Pass = { to: 0, until: 0 }

  constructor(store: Store, stream: string, held: Held, random: Random) {
    this.#store = store
    this.#stream = stream
    this.#held = held
    this.#random = random
  }

  async work(steps: number): Promise<void> {
    const opened = expectKind(await this.#store.open(this.#stream, 0, 0), 'opened')
    this.#epoch = opened.epoch
    this.#pass = opened.pass
    for (let step = 0; step < steps; step++) {
      const what = this.#random.below(10)
      if (what < 4) await this.#append()
      else if (what < 9) await this.#rewrite()
      else await this.#trim()
    }
  }

  /** Makes the call. If it is refused, the stream has either state until the next start. */
  async #become(state: State, call: () => Promise<unknown>): Promise<void> {
    this.#held.maybe = state
    await call()
    this.#held.sure = state
  }

  #row(): { readonly row: string; readonly rows: { key: string; value: Buffer }[] } {
    const row = String(this.#random.below(1_000_000))
    return { row, rows: [{ key: 'last', value: Buffer.from(row) }] }
  }

  async #append(): Promise<void> {
    const { sure } = this.#held
    const added: Batch[] = []
    let { end } = sure
    for (let i = this.#random.below(4); i >= 0; i--) {
      const batch = exampleBatch(end, 1 + this.#random.below(5), 100 + this.#random.below(8_000), this.#epoch)
      added.push(batch)
      end = batch.nextOffset
    }
    const { row, rows } = this.#row()
    const state = { ...sure, end, batches: [...sure.batches, ...added], row }
    const asked = exampleAppend(this.#stream, this.#epoch, sure.end, added, rows)
    await this.#become(state, async () => expectKind(await this.#store.append(asked), 'appended'))
  }

  async #rewrite(): Promise<void> {
    const { sure } = this.#held
    const isNew = this.#pass.to >= sure.end || (this.#pass.to >= this.#pass.until && this.#random.below(8) === 0)
    const from = isNew ? sure.start : Math.max(sure.start, this.#pass.to)
    const replaced = sure.batches.filter(({ nextOffset }) => nextOffset > from).slice(0, 1 + this.#random.below(6))
    const last = replaced.at(-1)
    if (last === undefined) return
    const kept: Batch[] = []
    for (const batch of replaced) {
      const fate = batch === sure.batches.at(-1) ? 1 : this.#random.below(3)
      const count = batch.nextOffset - batch.baseOffset
      if (fate === 2) kept.push(batch)
      else if (fate === 1)
        kept.push(exampleBatch(batch.baseOffset, count, 80 + this.#random.below(batch.bytes.length), this.#epoch))
    }
    const { row, rows } = this.#row()
    const below = sure.batches.filter(({ nextOffset }) => nextOffset <= from)
    const state = { ...sure, batches: [...below, ...kept, ...sure.batches.slice(below.length + replaced.length)], row }
    const asked = { stream: this.#stream, epoch: this.#epoch, from, to: last.nextOffset, batches: kept, rows }
    await this.#become(state, async () => {
      const outcome = expectKind(await this.#store.rewrite(asked), 'rewritten')
      this.#pass = outcome
      assert.equal(outcome.bytes, sizeOf(state.batches), 'a rewrite tells the bytes of the stream')
    })
  }

  async #trim(): Promise<void> {
    const { sure } = this.#held
    const start = Math.min(sure.end, sure.start + this.#random.below(12))
    const { row, rows } = this.#row()
    const state = { ...sure, start, batches: sure.batches.filter(({ nextOffset }) => nextOffset > start), row }
    await this.#become(state, async () => {
      const { bytes } = expectKind(await this.#store.trim(this.#stream, this.#epoch, start, rows), 'trimmed')
      assert.equal(bytes, sizeOf(sure.batches) - sizeOf(state.batches), 'a trim tells its bytes')
    })
  }
}

async function check(store: Store, all: Map<string, Held>): Promise<void> {
  for (const [stream, held] of all) {
    const opened = expectKind(await store.open(stream, 0, 0), 'opened')
    assert.equal(opened.damage, null)
    const { batches } = expectKind(await store.read(stream, opened.start, EVERYTHING), 'read')
    const row = Buffer.from(opened.rows.get('last') ?? []).toString()
    const found: State = { start: opened.start, end: opened.end, batches, row }
    const text = asText(found)
    const is = [held.sure, held.maybe].find(state => asText(state) === text)
    if (is === undefined) {
      const places = ({ start, end, batches: those, row: its }: State) =>
        `${its} [${start}, ${end}) ${those.map(({ baseOffset, bytes }) => `${baseOffset}/${bytes.length}`).join(' ')}`
      assert.fail(`${stream} holds\n${places(found)}, not\n${places(held.sure)} or\n${places(held.maybe)}`)
    }
    assert.equal(opened.bytes, sizeOf(batches), `${stream} counts its bytes`)
    held.sure = is
    held.maybe = is
  }
}

/** Runs stores one after the other on one folder. Each ends at a chosen disk call, or is closed. */
export async function rewriteCrashRun(seed: number, lives: number): Promise<void> {
  const random = seededRandom(seed)
  const path = mkdtempSync(join(tmpdir(), 'ketch-rewrite-'))
  const empty: State = { start: 0, end: 0, batches: [], row: '' }
  const all = new Map(STREAMS.map(stream => [stream, { sure: empty, maybe: empty }]))
  const open = (more: Partial<EmbeddedStoreOptions>) =>
    openEmbeddedStore({
      path,
      fsync: 'always',
      fsyncIntervalMs: 3,
      journalFileBytes: 96 << 10,
      checkpointBytes: 48 << 10,
      clock: systemClock,
      random,
      report: message => assert.match(message, /torn tail|disk stops here|disk is gone|round could neither|checkpoint/),
      ...more,
    })
  let where = ''
  try {
    const first = await open({})
    await first.create(STREAMS)
    await first.close()
    for (let life = 0; life < lives; life++) {
      const disk = createFaultyDisk(random)
      const when = (['before', 'partly', 'after'] as const)[random.below(3)]!
      const call = random.below(400)
      const power = random.below(2) === 0
      where = `seed ${seed}, life ${life}: stop ${when} call ${call}, ${power ? 'power' : 'process'} lost`
      disk.stopAt(call, when)
      const store = await open({ disk }).catch((error: Error) => {
        assert.ok(disk.stopped, error.stack)
        return null
      })
      if (store !== null) {
        const writers = [...all].map(([stream, held], i) =>
          new Writer(store, stream, held, random).work(i === 0 ? STEPS / 8 : STEPS),
        )
        for (const outcome of await Promise.allSettled(writers)) {
          if (outcome.status === 'fulfilled') continue
          const { reason } = outcome
          if (!(reason instanceof StoreUnavailable || reason instanceof OutcomeUnknown)) throw reason
        }
        await store.close().catch((error: Error) => assert.ok(disk.stopped, error.stack))
      }
      if (disk.stopped && power) disk.losePower()
      const after = await open({})
      try {
        await check(after, all)
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
