// Sees a topic before its records leave the local store, and compares it with what clients get afterwards: the bytes
// of all batches, answers to fetches in the middle of batches, look-ups by time, and ends of leader epochs.

import assert from 'node:assert/strict'
import { offsetForLeaderEpoch } from '../../src/protocol/messages/offset-for-leader-epoch.ts'
import { type BatchView, InvalidRecords, readRecords, splitBatches } from '../../src/protocol/records.ts'
import type { Wire } from '../../testing/wire.ts'
import { assertSameBatches, lookUp, patientRow, readBatches, TIME, type TimeAnswer, timesAround } from './tiered.ts'

/** Questions that are asked at a time. More than the queue of remote reads would be refused. */
const AT_ONCE = 16

interface EpochAnswer {
  readonly errorCode: number
  readonly leaderEpoch: number
  readonly endOffset: number
}

/** The answers of one partition. */
export interface Seen {
  readonly batches: readonly BatchView[]
  readonly times: readonly (readonly [time: number, answer: TimeAnswer])[]
  readonly epochs: readonly (readonly [epoch: number, answer: EpochAnswer])[]
}

/** Sees a partition, with this many look-ups by random times. */
export async function see(wire: Wire, topic: string, index: number, lookUps: number, seed: number): Promise<Seen> {
  const batches = await readBatches(wire, topic, index)
  const exact = batches.flatMap(({ baseTimestamp: time }) => [time - 1, time, time + 1]).filter(time => time >= 0)
  // A request of the raw client has numbers of at most 53 bits.
  const asked = [TIME.largest, TIME.earliest, 0, ...exact, ...timesAround(batches, lookUps, seed)].filter(
    Number.isSafeInteger,
  )
  const times = await inTurns(asked, async time => [time, await lookUp(wire, topic, index, time)] as const)
  const newest = batches.at(-1)?.leaderEpoch ?? 0
  const epochs: [number, EpochAnswer][] = []
  // The end of the newest epoch moves with the log, so it is asked for by assertSeenAgain alone.
  for (let epoch = 0; epoch < newest; epoch++) epochs.push([epoch, await endOf(wire, topic, index, epoch)])
  return { batches, times, epochs }
}

async function endOf(wire: Wire, topic: string, partition: number, leaderEpoch: number): Promise<EpochAnswer> {
  const topics = [{ topic, partitions: [{ partition, leaderEpoch }] }]
  const answer = await wire.send(offsetForLeaderEpoch, 4, { replicaId: -1, topics })
  const { errorCode, leaderEpoch: found, endOffset } = answer.topics[0]!.partitions[0]!
  return { errorCode, leaderEpoch: found, endOffset }
}

/** Asserts that a partition answers everything as it did before. Records that came since are behind the old ones. */
export async function assertSeenAgain(wire: Wire, topic: string, index: number, before: Seen): Promise<void> {
  const where = `${topic}-${index}`
  const { batches } = before
  const all = await readBatches(wire, topic, index)
  assertSameBatches(all.slice(0, batches.length), batches, where)
  await assertMiddles(wire, topic, index, batches)
  await inTurns(before.times, async ([time, answer]) =>
    assert.deepEqual(await lookUp(wire, topic, index, time), answer, `${where}: the look-up of ${time}`),
  )
  for (const [epoch, answer] of before.epochs)
    assert.deepEqual(await endOf(wire, topic, index, epoch), answer, `${where}: the end of epoch ${epoch}`)
}

/** A fetch from an offset inside of a batch returns the whole batch, as from its base, and from behind it the next. */
async function assertMiddles(wire: Wire, topic: string, index: number, batches: readonly BatchView[]): Promise<void> {
  const asked = batches.flatMap(batch => {
    const { baseOffset, lastOffset } = batch
    const offsets = new Set([baseOffset, (baseOffset + lastOffset) >> 1, lastOffset])
    return [...offsets].map(offset => [offset, batch] as const)
  })
  await inTurns(asked, async ([offset, { bytes }]) => {
    const { records } = await patientRow(wire, topic, index, offset, 1)
    const first = splitBatches(records ?? new Uint8Array())[0]
    assert.ok(first?.bytes.equals(bytes), `${topic}-${index}: a fetch of one byte at ${offset}`)
  })
}

/** Asks a few questions at a time, in order. */
async function inTurns<Q, A>(questions: readonly Q[], ask: (question: Q) => Promise<A>): Promise<A[]> {
  const answers: A[] = []
  for (let at = 0; at < questions.length; at += AT_ONCE)
    answers.push(...(await Promise.all(questions.slice(at, at + AT_ONCE).map(ask))))
  return answers
}

/** Asserts that the batches have the same records at the same offsets, though their bytes may differ. */
export async function assertSameRecords(actual: readonly BatchView[], expected: readonly BatchView[], where: string) {
  const recordsOf = async (batches: readonly BatchView[]) => {
    const all: unknown[] = []
    for (const { bytes, baseOffset, leaderEpoch, producerId, producerEpoch, baseSequence } of batches) {
      const head = { baseOffset, leaderEpoch, producerId, producerEpoch, baseSequence }
      // Bytes that no reader can unpack must come back as they are.
      const records = await readRecords(bytes).catch(error => {
        if (error instanceof InvalidRecords) return bytes
        throw error
      })
      all.push({ head, records })
    }
    return all
  }
  assert.deepEqual(await recordsOf(actual), await recordsOf(expected), `${where}: the records`)
}
