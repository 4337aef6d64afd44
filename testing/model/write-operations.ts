// Writes and deletions while nothing is broken: every answer must be exactly the model's.

import type { Random } from '../../src/base/random.ts'
import {
  CORRUPT_MESSAGE,
  INVALID_TIMESTAMP,
  MESSAGE_TOO_LARGE,
  NONE,
  OFFSET_OUT_OF_RANGE,
  OUT_OF_ORDER_SEQUENCE_NUMBER,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../../src/protocol/errors.ts'
import { deleteRecords } from '../../src/protocol/messages/delete-records.ts'
import { produce } from '../../src/protocol/messages/produce.ts'
import { encodeBatch } from '../../src/protocol/records.ts'
import { expectSame } from './difference.ts'
import type { LogModel, SentBatch } from './log-model.ts'
import { anyPlace, placesOfOne } from './places.ts'
import { checkProduced, makeBatch, requestOf, rowsOf, type Sending } from './producing.ts'
import { settle } from './reconciling.ts'
import type { Peer, Scene } from './scene.ts'
import type { Origin } from './sequences.ts'

/**
 * Sends requests without waiting for answers, each for some partitions. Sometimes a request with acks=0 comes first.
 */
export async function produceSome(scene: Scene, random: Random): Promise<void> {
  const chosen = placesOfOne(scene, random, 3)
  if (chosen === null) return
  const { peer, places } = chosen
  const wire = await scene.wire(peer)
  const requests = Array.from({ length: random.below(4) === 0 ? 4 : 1 }, () =>
    places.map((place): Sending => ({ ...place, batch: makeBatch(scene, random) })),
  )
  const silent = places.map((place): Sending => ({ ...place, batch: makeBatch(scene, random) }))
  // A producer with acks=0 learns neither of a refusal nor of the broker's timestamp.
  const isTold = silent.some(({ topic, batch }) => topic.isAppendTime || batch.bytes.length > topic.maxMessageBytes)
  const isSilentFirst = !scene.mayMove && !isTold && random.below(5) === 0
  if (isSilentFirst) {
    // Nothing is broken, so the batch is written. The answer to the next batch confirms this.
    const { version, body } = requestOf(silent, random, 0)
    await wire.post(produce, version, body)
    for (const { topic, partition, batch } of silent) {
      const log = topic.logs[partition]!
      log.place(batch, log.end, -1)
    }
  }
  scene.note(
    `${places.map(({ log }) => log.name)}: ${requests.length} requests${isSilentFirst ? ' after one without an answer' : ''}`,
  )
  await sendAll(scene, peer, requests, random)
}

/** Sends all requests without waiting, and checks the answers in their order. */
async function sendAll(
  scene: Scene,
  peer: Peer,
  requests: readonly (readonly Sending[])[],
  random: Random,
): Promise<void> {
  const asked = requests.map(sendings => {
    const { version, body } = requestOf(sendings, random, random.below(2) === 0 ? -1 : 1)
    return scene.ask(peer, produce, version, body)
  })
  const answers = await Promise.all(asked)
  const unmade = new Set<Sending>()
  for (const [i, sendings] of requests.entries()) {
    for (const [j, row] of rowsOf(sendings, answers[i]!.responses).entries()) {
      const sending = sendings[j]!
      if (!checkProduced(sending, row, scene.mayMove)) unmade.add(sending)
    }
  }
  for (const { topic, partition } of unmade)
    await settle(scene, { topic, partition, log: topic.logs[partition]! }, random)
}

/**
 * Acts as an idempotent producer: it sends the next batches before the first is answered, repeats a batch, leaves a
 * gap, or changes its epoch.
 */
export async function produceInSequence(scene: Scene, random: Random): Promise<void> {
  const place = anyPlace(scene, random)
  if (place === null) return
  const { topic, partition, log } = place
  const producerId = 1_000 + random.below(3)
  const known = log.producers.get(producerId)
  const awaited = log.awaited.get(producerId)
  const epoch = known?.epoch ?? awaited?.epoch ?? random.below(3)
  const next = known?.next ?? awaited?.sequence ?? [0, 0, 2 ** 31 - 4, 7][random.below(4)]!
  const batches = batchesOf(scene, random, log, { producerId, epoch, sequence: next }, known !== undefined)
  scene.note(
    `${log.name}: producer ${producerId}, epoch and sequence ${batches.map(({ origin }) => `${origin!.epoch}/${origin!.sequence}`)}`,
  )
  const peer = scene.leader(topic, partition)
  const answers = await Promise.all(
    batches.map(batch => {
      const { version, body } = requestOf([{ topic, partition, batch }], random, -1)
      return scene.ask(peer, produce, version, body)
    }),
  )
  let hasPassed = false
  for (const [i, answer] of answers.entries()) {
    const sending = { topic, partition, batch: batches[i]! }
    const row = rowsOf([sending], answer.responses)[0]!
    if (hasPassed && row.errorCode === OUT_OF_ORDER_SEQUENCE_NUMBER.code) continue
    if (!checkProduced(sending, row, scene.mayMove)) hasPassed = true
  }
  if (hasPassed) await settle(scene, place, random)
}

/**
 * Returns some batches that continue the sequence, or one batch that is a repeat, leaves a gap, or has another epoch.
 */
function batchesOf(scene: Scene, random: Random, log: LogModel, usual: Origin, isKnown: boolean): readonly SentBatch[] {
  switch (isKnown ? random.below(8) : 0) {
    case 4:
    case 5: {
      const own = log.batches.filter(({ sent }) => sent.origin?.producerId === usual.producerId)
      return [own[Math.max(0, own.length - 1 - random.below(7))]!.sent]
    }
    case 6:
      return [makeBatch(scene, random, { ...usual, sequence: (usual.sequence + 1 + random.below(100)) % 2 ** 31 })]
    case 7: {
      const epoch = Math.max(0, random.below(3) === 0 ? usual.epoch - 1 : usual.epoch + 1)
      return [makeBatch(scene, random, { ...usual, epoch, sequence: random.below(3) === 0 ? usual.sequence : 0 })]
    }
    default: {
      let { sequence } = usual
      return Array.from({ length: 1 + random.below(4) }, () => {
        const batch = makeBatch(scene, random, { ...usual, sequence })
        sequence = (sequence + batch.records.length) % 2 ** 31
        return batch
      })
    }
  }
}

/** Sends a produce request that must be refused and must not change the log. */
export async function produceWrongly(scene: Scene, random: Random): Promise<void> {
  const place = anyPlace(scene, random)
  if (place === null) return
  const { topic, partition, log } = place
  const send = (index: number, records: Buffer) =>
    scene.settled(`${log.name} takes a wrong batch`, async () => {
      const topicData = [{ name: topic.name, partitionData: [{ index, records }] }]
      const body = { acks: -1, timeoutMs: 20_000, topicData }
      const { responses } = await scene.ask(scene.leader(topic, partition), produce, 9, body)
      return responses[0]!.partitionResponses[0]!
    })
  const { bytes, tag } = makeBatch(scene, random)
  const wrong = Buffer.from(bytes)
  scene.note(`${log.name}: batch ${tag} is wrong`)
  if (random.below(2) === 0) {
    wrong[wrong.length - 1]! ^= 0xff
    expectSame(`${log.name}: a wrong checksum`, (await send(partition, wrong)).errorCode, CORRUPT_MESSAGE.code)
  } else {
    const { errorCode } = await send(topic.logs.length, wrong)
    expectSame(`${log.name}: a partition that is not there`, errorCode, UNKNOWN_TOPIC_OR_PARTITION.code)
  }
}

/** Produces a batch larger than max.message.bytes, or with a timestamp in the future. */
export async function produceBeyondLimits(scene: Scene, random: Random): Promise<void> {
  const place = anyPlace(scene, random)
  if (place === null) return
  const { topic, partition, log } = place
  const isLarge = topic.isAppendTime || random.below(2) === 0
  const value = Buffer.alloc(isLarge ? topic.maxMessageBytes : 10)
  const bytes = encodeBatch([{ value, timestamp: Date.now() + (isLarge ? 0 : 2 * 3_600_000) }])
  const row = await scene.settled(`${log.name} takes a batch beyond the limits`, async () => {
    const topicData = [{ name: topic.name, partitionData: [{ index: partition, records: Buffer.from(bytes) }] }]
    const body = { acks: 1, timeoutMs: 20_000, topicData }
    const { responses } = await scene.ask(scene.leader(topic, partition), produce, 9, body)
    return responses[0]!.partitionResponses[0]!
  })
  scene.note(`${log.name}: ${isLarge ? 'too large' : 'from the future'}`)
  const { code } = isLarge ? MESSAGE_TOO_LARGE : INVALID_TIMESTAMP
  expectSame(`${log.name}: a batch beyond the limits`, row.errorCode, code)
}

/**
 * Deletes records: often below an offset inside a batch, or up to the end, below the current start, or beyond the
 * end.
 */
export async function deleteSome(scene: Scene, random: Random): Promise<void> {
  const place = anyPlace(scene, random)
  if (place === null) return
  const { topic, partition, log } = place
  const within = log.start + random.below(Math.max(1, Math.ceil((log.end - log.start) / 2)))
  const choice = random.below(12)
  const offset = [-1, log.end, log.end + 1, -2, Math.max(0, log.start - 1), log.start][choice] ?? within
  const ask = async () => {
    const body = {
      topics: [{ name: topic.name, partitions: [{ partitionIndex: partition, offset }] }],
      timeoutMs: 20_000,
    }
    const answer = await scene.ask(scene.leader(topic, partition), deleteRecords, random.below(3), body)
    return answer.topics[0]!.partitions[0]!
  }
  scene.note(`${log.name}: delete below ${offset} of ${log.start} to ${log.end}`)
  const row = await scene.settled(`${log.name}: records are deleted`, ask)
  if (offset < -1 || offset > log.end) {
    expectSame(`${log.name}: DeleteRecords below ${offset} of ${log.end}`, row.errorCode, OFFSET_OUT_OF_RANGE.code)
    return
  }
  expectSame(`${log.name}: DeleteRecords below ${offset}`, row.errorCode, NONE)
  log.start = Math.max(log.start, offset === -1 ? log.end : offset)
  log.sawStart(row.lowWatermark, Date.now())
}
