// Makes the batches of the model's producers, sends Produce requests, and records the outcome of each row.

import type { Random } from '../../src/base/random.ts'
import { codecs } from '../../src/protocol/compression.ts'
import {
  MESSAGE_TOO_LARGE,
  NONE,
  NOT_ENOUGH_REPLICAS_AFTER_APPEND,
  OUT_OF_ORDER_SEQUENCE_NUMBER,
  REQUEST_TIMED_OUT,
} from '../../src/protocol/errors.ts'
import { produce } from '../../src/protocol/messages/produce.ts'
import { encodeBatch } from '../../src/protocol/records.ts'
import type { RequestInput } from '../../src/protocol/schema.ts'
import type { ProducedRow } from '../kafka.ts'
import { Difference, expect, expectSame } from './difference.ts'
import type { ModelRecord, SentBatch } from './log-model.ts'
import { PASSING, type Peer, type Scene, type TopicModel } from './scene.ts'
import type { Origin } from './sequences.ts'

/** A batch for a partition. */
export interface Sending {
  readonly topic: TopicModel
  readonly partition: number
  readonly batch: SentBatch
}

const FIRST_WITH_ZSTD = 7
const FIRST_WITH_IDS = 13
const NEWEST = 13

/** After these errors it is unknown whether the batch is in the log. */
const UNCERTAIN: ReadonlySet<number> = new Set([REQUEST_TIMED_OUT.code, NOT_ENOUGH_REPLICAS_AFTER_APPEND.code])

export function makeBatch(scene: Scene, random: Random, origin: Origin | null = null): SentBatch {
  const tag = scene.nextTag()
  const sentAtMs = Date.now()
  const isLarge = random.below(8) === 0
  const count = 1 + random.below(isLarge ? 3 : random.below(4) === 0 ? 60 : 8)
  const largest = isLarge ? 250_000 : random.below(4) === 0 ? 20_000 : 200
  const hasTimes = random.below(20) > 0
  const records = Array.from({ length: count }, (_, i): ModelRecord => {
    const length = random.below(largest)
    const filler = random.below(3) === 0 ? Buffer.alloc(length, i) : scene.noise(random.below(60_000), length)
    return {
      key: random.below(3) === 0 ? `key ${random.below(100)}` : null,
      value: Buffer.concat([Buffer.from(`${tag}${i} `), filler]),
      timestamp: hasTimes ? sentAtMs - random.below(1_000_000) : -1,
    }
  })
  const compression = codecs[random.below(codecs.length)]!
  const producer =
    origin === null ? {} : { producerId: origin.producerId, producerEpoch: origin.epoch, baseSequence: origin.sequence }
  const bytes = encodeBatch(records, { compression, ...producer })
  return { tag, records, bytes, isZstd: compression === 'zstd', origin, sentAtMs }
}

/** Returns one request for these batches. They go to different partitions with the same leader. */
export function requestOf(
  sendings: readonly Sending[],
  random: Random,
  acks: number,
  timeoutMs = 20_000,
): { version: number; body: RequestInput<typeof produce> } {
  const least = sendings.some(({ batch }) => batch.isZstd) ? FIRST_WITH_ZSTD : 3
  const version = least + random.below(NEWEST + 1 - least)
  const topicData = [...Map.groupBy(sendings, each => each.topic)].map(([{ name, id }, rows]) => ({
    ...(version >= FIRST_WITH_IDS ? { topicId: id } : { name }),
    // A copy, because the log writes offsets and timestamps into the bytes that it gets. The model keeps its own
    // bytes.
    partitionData: rows.map(({ partition, batch }) => ({ index: partition, records: Buffer.from(batch.bytes) })),
  }))
  return { version, body: { acks, timeoutMs, topicData } }
}

/** Returns the row of each sending, in their order. */
export function rowsOf(
  sendings: readonly Sending[],
  responses: readonly { readonly partitionResponses: readonly ProducedRow[] }[],
): ProducedRow[] {
  const topics = [...new Set(sendings.map(each => each.topic))]
  return sendings.map(({ topic, partition }) => {
    const row = responses[topics.indexOf(topic)]?.partitionResponses.find(each => each.index === partition)
    if (row === undefined) throw new Difference(`Produce does not answer for ${topic.name}-${partition}`)
    return row
  })
}

/** Compares one row with the model. Returns false if the row has a passing error, so that the outcome is open. */
export function checkProduced({ topic, partition, batch }: Sending, row: ProducedRow, mayPass: boolean): boolean {
  const log = topic.logs[partition]!
  const what = `${log.name}: batch ${batch.tag} of ${batch.records.length} records`
  if (mayPass && PASSING.has(row.errorCode)) return false
  if (batch.bytes.length > topic.maxMessageBytes) {
    expectSame(`${what} and ${batch.bytes.length} bytes, its error`, row.errorCode, MESSAGE_TOO_LARGE.code)
    return true
  }
  const verdict = log.verdict(batch)
  if (verdict.kind === 'refused') {
    expectSame(`${what}, its error`, row.errorCode, verdict.code)
    return true
  }
  expectSame(`${what}, its error (${row.errorMessage})`, row.errorCode, NONE)
  if (row.logStartOffset >= 0) log.sawStart(row.logStartOffset, Date.now())
  if (verdict.kind === 'repeat') {
    expectSame(`${what}, a repeat, its offset`, row.baseOffset, verdict.baseOffset)
    return true
  }
  expectSame(`${what}, its offset`, row.baseOffset, log.end)
  expect(topic.isAppendTime === row.logAppendTimeMs >= 0, () => `${what}: log append time ${row.logAppendTimeMs}`)
  log.place(batch, row.baseOffset, row.logAppendTimeMs)
  return true
}

/** Sends while links break or brokers end; settle() later finds the outcome. Rejects only with a Difference. */
export async function sendLoosely(
  scene: Scene,
  peer: Peer,
  sendings: readonly Sending[],
  random: Random,
): Promise<void> {
  const acks = random.below(3) === 0 ? 1 : -1
  const timeoutMs = [100, 1_000, 20_000][random.below(3)]
  const { version, body } = requestOf(sendings, random, acks, timeoutMs)
  const places = sendings.map(({ topic, partition, batch }) => {
    const { pending } = topic.logs[partition]!
    return { pending, at: pending.push({ sent: batch, baseOffset: null, appendTimeMs: -1 }) - 1 }
  })
  let rows: ProducedRow[]
  try {
    rows = rowsOf(sendings, (await scene.ask(peer, produce, version, body)).responses)
  } catch (error) {
    if (error instanceof Difference) throw error
    return
  }
  for (const [i, { errorCode, baseOffset, logAppendTimeMs }] of rows.entries()) {
    const { pending, at } = places[i]!
    const sent = sendings[i]!.batch
    if (errorCode === NONE) pending[at] = { sent, baseOffset, appendTimeMs: logAppendTimeMs }
    else if (!UNCERTAIN.has(errorCode)) {
      const { topic } = sendings[i]!
      const mayBeRefused =
        PASSING.has(errorCode) ||
        sent.bytes.length > topic.maxMessageBytes ||
        (sent.origin !== null && errorCode === OUT_OF_ORDER_SEQUENCE_NUMBER.code)
      expect(mayBeRefused, () => `${topic.name}: batch ${sent.tag} is refused with ${errorCode}`)
      pending[at] = { sent, baseOffset: null, appendTimeMs: -1, isRefused: true }
    }
  }
}

/**
 * Sends one batch at a time until one is acknowledged. After that each earlier batch is in the log or never will be.
 */
export async function sendBarrier(scene: Scene, topic: TopicModel, partition: number, random: Random): Promise<void> {
  const { name, pending } = topic.logs[partition]!
  await scene.until(`${name} takes a batch`, async () => {
    const at = pending.length
    const batch = makeBatch(scene, random)
    await sendLoosely(scene, scene.leader(topic, partition), [{ topic, partition, batch }], random)
    if (pending[at]!.baseOffset !== null) return true
    await scene.ready()
    return undefined
  })
}
