// Random histories of a log over two tiers, on a server that loses its tail now and then, against a plain model.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { CleanUp } from '../../testing/broker.ts'
import { MemoryTier } from '../../testing/cold-tier.ts'
import { type OpenedLogs, openLogsOn } from '../../testing/open-logs.ts'
import { seed as seedOfRun } from '../../testing/seed.ts'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { batchOf } from '../../testing/sim/logs.ts'
import { ReplicatedServer } from '../../testing/sim/replicated-server.ts'
import { connectReplicatedStore, type Wire } from '../../testing/sim/replicated-store.ts'
import { type Random, seededRandom } from '../base/random.ts'
import { isRefusal } from '../protocol/errors.ts'
import { readRecords, viewBatch } from '../protocol/records.ts'
import { isStoreFailure, type Store } from '../store/store.ts'
import type { Partition } from './partition.ts'

const MINUTE = 60_000
const SHARE = { concurrency: 4, isCleaningAllowed: false }

type Apart = 'together' | 'apart'
type Lost = 'streams' | 'documents' | 'both'

/** Returns a store over one server, or over two: one with the streams, and one with the documents. */
function connect(clock: SimulatedClock, streams: ReplicatedServer, documents: ReplicatedServer): Store {
  const wire: Wire = {
    fate: () => 'answered',
    toServer: queueMicrotask,
    toBroker: queueMicrotask,
    later: (ms, due) => clock.timer(ms, due).cancel,
    delayMs: () => 10,
  }
  const on = (server: ReplicatedServer) =>
    connectReplicatedStore({ server, wire, waitReplicas: 0, waitTimeoutMs: 1_000, lookEveryMs: MINUTE })
  const store = on(streams)
  if (documents === streams) return store
  const { load, version, list, commit, close } = on(documents)
  const closeBoth = async () => void (await Promise.all([store.close(), close()]))
  return { ...store, load, version, list, commit, close: closeBoth }
}

class History {
  readonly #cleanUp: CleanUp
  readonly #random: Random
  readonly #clock = new SimulatedClock()
  readonly #tier = new MemoryTier()
  readonly #streams = new ReplicatedServer(0)
  readonly #documents: ReplicatedServer
  /** The values that were acknowledged at an offset; more than one only after a loss. */
  readonly #acknowledged = new Map<number, string[]>()
  /** The records that a reader must find, if they are at or above the log start. */
  #expected = new Map<number, string>()
  #opened!: OpenedLogs
  #id = ''
  #logStart = 0
  /** The effects that both servers had when the topic was opened for the first time. They are not lost. */
  #first = { streams: 0, documents: 0 }
  #hasLostDocuments = false
  #hasLostStreams = false
  #values = 0
  #losses = 0
  /** For messages. */
  readonly steps: string[] = []

  constructor(cleanUp: CleanUp, random: Random, apart: Apart) {
    this.#cleanUp = cleanUp
    this.#random = random
    this.#documents = apart === 'together' ? this.#streams : new ReplicatedServer(0)
  }

  get losses(): number {
    return this.#losses
  }

  async begin(configs: Readonly<Record<string, string>>): Promise<void> {
    this.#opened = await this.#open()
    const [topic] = await this.#opened.catalogue.add([{ name: 'orders', partitions: 1, configs }])
    assert.ok(topic !== undefined && !isRefusal(topic))
    this.#id = topic.id
    await this.#settle()
    this.#first = { streams: this.#streams.position, documents: this.#documents.position }
  }

  #open(): Promise<OpenedLogs> {
    const store = connect(this.#clock, this.#streams, this.#documents)
    const options = { clock: this.#clock, coldTier: this.#tier }
    return this.#clock.passing(openLogsOn(this.#cleanUp, store, options))
  }

  get #partition(): Partition {
    const partition = this.#opened.logs.partition(this.#id, 0)
    assert.ok(partition !== null)
    return partition
  }

  /** Waits until the table was read, and the newest chunks are learned. */
  async #settle(): Promise<void> {
    await this.#clock.advance(2 * MINUTE)
    assert.equal(this.#partition.state.hold, null)
  }

  async append(): Promise<void> {
    const values = Array.from({ length: 1 + this.#random.below(4) }, () => `value ${++this.#values}`)
    const batch = batchOf(values.map(value => ({ value, timestamp: this.#clock.now() })))
    const send = () => this.#clock.passing(this.#partition.append(viewBatch(Buffer.from(batch.bytes)), 0))
    let answer = await send()
    // A producer tries again: the broker may have noticed a loss only with this append.
    if (isRefusal(answer) && answer.name === 'KAFKA_STORAGE_ERROR' && this.#losses > 0) {
      await this.#settle()
      answer = await send()
    }
    assert.ok(!isRefusal(answer), isRefusal(answer) ? answer.message : '')
    const { baseOffset } = answer
    const archived = this.#tier.ranges(this.#id, 0).at(-1)?.[1] ?? 0
    assert.ok(baseOffset >= archived, `${baseOffset} was given out, and the table has offsets up to ${archived}`)
    for (const [i, value] of values.entries()) {
      this.#acknowledged.set(baseOffset + i, [...(this.#acknowledged.get(baseOffset + i) ?? []), value])
      this.#expected.set(baseOffset + i, value)
    }
    this.steps.push(`append ${values.length} at ${baseOffset}`)
  }

  async round(): Promise<void> {
    await this.#clock.advance(MINUTE)
    const { failures } = await this.#clock.passing(this.#opened.logs.runRound(SHARE))
    assert.equal(failures, 0)
    this.steps.push('round')
    // Records that were deleted, or that the stream had lost, may come back with both losses, until a round trims them.
    if (this.#hasLostDocuments && this.#hasLostStreams) await this.#takeOver()
  }

  async offload(): Promise<void> {
    const chosen = this.#random.below(4) > 0
    const added = await this.#clock.passing(
      this.#tier.offload(this.#opened.logs, this.#id, 0, base => chosen || base % 2 === 0),
    )
    this.steps.push(`offload ${added}`)
  }

  async deleteRecords(): Promise<void> {
    const { logStartOffset, highWatermark } = this.#partition
    const most = Math.floor((highWatermark - logStartOffset) / 3)
    const before = logStartOffset + this.#random.below(most + 1)
    const start = await this.#clock.passing(this.#partition.deleteRecords(before))
    assert.ok(!isRefusal(start) && start >= before)
    this.steps.push(`delete below ${before}`)
  }

  async restart(): Promise<void> {
    await this.#clock.passing(this.#opened.logs.close())
    await this.#clock.passing(this.#opened.store.close())
    this.#opened = await this.#open()
    await this.#settle()
    this.steps.push('restart')
    // The leader that led on had the lost document in memory.
    if (this.#hasLostDocuments) await this.#takeOver()
  }

  /** Loses the tail of a server, which had been written since `keep`. */
  async lose(what: Lost, isLedOn: boolean): Promise<void> {
    const name = what === 'documents' ? 'documents' : 'streams'
    const server = name === 'documents' ? this.#documents : this.#streams
    const kept = server.position - this.#random.below(Math.min(25, server.position - this.#first[name] + 1))
    if (!isLedOn) {
      await this.#clock.passing(this.#opened.logs.close())
      await this.#clock.passing(this.#opened.store.close())
    }
    server.restart(kept)
    if (!isLedOn) this.#opened = await this.#open()
    this.#losses++
    this.steps.push(`lose ${what} (${isLedOn ? 'led on' : 'a new leader'})`)
    // A connection that breaks is made anew, and the store notices the loss, with the next call.
    const call = () => this.#clock.passing(this.#opened.store.streams())
    await call().catch(async (error: unknown) => {
      assert.ok(isStoreFailure(error))
      await call()
    })
    await this.#settle()
    this.#hasLostDocuments ||= what === 'documents'
    this.#hasLostStreams ||= what === 'streams'
    await this.#takeOver()
  }

  /** Takes over what a reader finds after a loss: all that is archived, and nothing that was never acknowledged. */
  async #takeOver(): Promise<void> {
    // The log start of a lost document may be lower, unless the table knows a higher one.
    this.#logStart = 0
    const found = await this.#readAll(this.#partition.logStartOffset)
    const archived = await this.#archived()
    for (const [offset, value] of found) {
      assert.ok(this.#acknowledged.get(offset)?.includes(value), `${offset} has ${value}`)
    }
    // A document that is lost after a tail was lost does not tell any more which archived offsets the stream lacks.
    const isKnown = !(this.#hasLostStreams && this.#hasLostDocuments)
    for (const [offset, value] of isKnown ? archived : []) {
      if (offset >= this.#partition.logStartOffset) assert.equal(found.get(offset), value, `the archived ${offset}`)
    }
    this.#expected = found
  }

  /** Asserts that a reader finds exactly what it must find, from each offset on. */
  async check(): Promise<void> {
    const { logStartOffset, endOffset } = this.#partition
    assert.ok(logStartOffset >= this.#logStart, `the log start went back from ${this.#logStart} to ${logStartOffset}`)
    this.#logStart = logStartOffset
    const expected = [...this.#expected].filter(([offset]) => offset >= logStartOffset).sort((a, b) => a[0] - b[0])
    const found = await this.#readAll(logStartOffset)
    assert.deepEqual(
      [...found].filter(([offset]) => offset >= logStartOffset),
      expected,
    )
    const from = logStartOffset + this.#random.below(Math.max(1, endOffset - logStartOffset))
    const rest = await this.#readAll(from)
    assert.deepEqual(
      [...rest].filter(([offset]) => offset >= from),
      expected.filter(([offset]) => offset >= from),
    )
    if (logStartOffset > 0) {
      const below = await this.#clock.passing(Promise.resolve(this.#partition.read(logStartOffset - 1, 1_000, true)))
      assert.ok(isRefusal(below) && below.name === 'OFFSET_OUT_OF_RANGE')
    }
    const { sealed } = this.#partition.state
    for (const [i, { next }] of sealed.segments.entries())
      assert.equal(next, sealed.segments[i + 1]?.base ?? sealed.end)
    assert.ok(sealed.end <= endOffset, `the segments end at ${sealed.end}, the log at ${endOffset}`)
  }

  async #readAll(from: number): Promise<Map<number, string>> {
    const found = new Map<number, string>()
    let last = -1
    for (let offset = from; offset < this.#partition.highWatermark; ) {
      const read = await this.#clock.passing(Promise.resolve(this.#partition.read(offset, 200, true)))
      assert.ok(!isRefusal(read), isRefusal(read) ? `${offset}: ${read.message}` : '')
      if (read.batches.length === 0) break
      for (const bytes of read.batches) {
        for (const record of await readRecords(bytes)) {
          assert.ok(record.offset > last, `${record.offset} comes after ${last}`)
          last = record.offset
          found.set(record.offset, String(record.value))
        }
        offset = viewBatch(bytes).lastOffset + 1
      }
    }
    return found
  }

  async #archived(): Promise<Map<number, string>> {
    const found = new Map<number, string>()
    for (const bytes of this.#tier.batches(this.#id, 0)) {
      for (const { offset, value } of await readRecords(bytes)) found.set(offset, String(value))
    }
    return found
  }
}

async function runHistory(t: TestContext, seed: number, apart: Apart, mayLose: boolean): Promise<number> {
  const random = seededRandom(seed)
  const history = new History(t as CleanUp, random, apart)
  await history.begin({
    'remote.storage.enable': 'true',
    'segment.ms': '1',
    'local.retention.ms': '1',
    'retention.ms': random.below(3) === 0 ? String(20 * MINUTE) : '-1',
  })
  const lost: readonly Lost[] = apart === 'together' ? ['both'] : ['streams', 'documents']
  try {
    for (let step = 0; step < 40; step++) {
      const what = random.below(20)
      if (what < 8) await history.append()
      else if (what < 12) await history.round()
      else if (what < 15) await history.offload()
      else if (what < 16) await history.deleteRecords()
      else if (what < 18) await history.restart()
      else if (mayLose && step > 10) await history.lose(lost[random.below(lost.length)]!, random.below(2) === 0)
      await history.check()
    }
    return history.losses
  } catch (error) {
    const text = `seed ${seed}, ${apart}: ${history.steps.join(', ')}`
    throw new Error(`${text}: ${(error as Error).message}`, { cause: error })
  }
}

const SEEDS = 20

test('in every history readers find each record of both tiers once, in order', async t => {
  for (let seed = 0; seed < SEEDS; seed++) await runHistory(t, seedOfRun + seed, 'together', false)
})

for (const apart of ['together', 'apart'] as const) {
  test(`after losses of the tail, streams and documents ${apart}, what is archived is read, and its offsets are not used again`, async t => {
    let losses = 0
    for (let seed = 0; seed < SEEDS; seed++) losses += await runHistory(t, seedOfRun + seed, apart, true)
    assert.ok(losses >= SEEDS)
  })
}
