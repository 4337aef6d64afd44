// Faults while requests are in flight: brokers that close or are killed, links to Redis that are cut, held or
// refused, a Redis that loses its connections and functions. If an answer is lost, both outcomes are possible;
// reconcile() then reads which one it was and checks that it is allowed.

import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from '../../src/base/random.ts'
import { NONE } from '../../src/protocol/errors.ts'
import { deleteRecords } from '../../src/protocol/messages/delete-records.ts'
import { offsetCommit } from '../../src/protocol/messages/offset-commit.ts'
import { Difference } from './difference.ts'
import { anyCommit, anyGroup, commitOf } from './group-operations.ts'
import type { LogModel } from './log-model.ts'
import { anyPlace } from './places.ts'
import { makeBatch, sendLoosely } from './producing.ts'
import { reconcile } from './reconciling.ts'
import type { Peer, Scene } from './scene.ts'
import type { Origin } from './sequences.ts'
import { changeTopicLoosely } from './topic-operations.ts'

/** Starts some requests and does not wait for them. */
function someWork(scene: Scene, random: Random): Promise<void>[] {
  return Array.from({ length: random.below(8) }, () => {
    switch (random.below(8)) {
      case 0:
        return deleteLoosely(scene, random)
      case 1:
      case 2:
        return commitLoosely(scene, random)
      default:
        return produceLoosely(scene, random)
    }
  })
}

async function produceLoosely(scene: Scene, random: Random): Promise<void> {
  const place = anyPlace(scene, random)
  if (place === null) return
  const { topic, partition, log } = place
  const origin = random.below(2) === 0 ? null : originAfterAll(log, 1_000 + random.below(3))
  scene.note(`  ${log.name}: a batch`)
  const batch = makeBatch(scene, random, origin)
  await sendLoosely(scene, scene.leader(topic, partition), [{ topic, partition, batch }], random)
}

/** Returns the origin of the next batch of the producer, as if all its pending batches were in the log. */
function originAfterAll({ producers, awaited, pending }: LogModel, producerId: number): Origin {
  const last = pending.findLast(({ sent }) => sent.origin?.producerId === producerId)?.sent
  if (last?.origin != null) return { ...last.origin, sequence: (last.origin.sequence + last.records.length) % 2 ** 31 }
  const known = producers.get(producerId)
  if (known === undefined) return awaited.get(producerId) ?? { producerId, epoch: 0, sequence: 0 }
  return { producerId, epoch: known.epoch, sequence: known.next ?? 0 }
}

async function deleteLoosely(scene: Scene, random: Random): Promise<void> {
  const place = anyPlace(scene, random)
  if (place === null) return
  const { topic, partition, log } = place
  const offset = log.start + random.below(Math.max(1, log.end - log.start))
  scene.note(`  ${log.name}: delete below ${offset}`)
  if (offset > log.start) log.lateStarts.add(offset)
  const body = {
    topics: [{ name: topic.name, partitions: [{ partitionIndex: partition, offset }] }],
    timeoutMs: 20_000,
  }
  try {
    const answer = await scene.ask(scene.leader(topic, partition), deleteRecords, 2, body)
    const { errorCode, lowWatermark } = answer.topics[0]!.partitions[0]!
    if (errorCode === NONE) log.sawStart(Math.max(lowWatermark, log.start), Date.now())
  } catch (error) {
    if (error instanceof Difference) throw error
  }
}

async function commitLoosely(scene: Scene, random: Random): Promise<void> {
  const place = anyPlace(scene, random)
  const group = anyGroup(scene, random)
  if (place === null || group.members.length > 0) return
  const committed = anyCommit(random, 8)
  const { topic, partition, log } = place
  const kept = { ...committed, expiresAtMs: null }
  group.commitWithoutAnswer(topic.id, partition, kept)
  scene.note(`  ${group.name}: commit ${committed.offset} for ${log.name}`)
  try {
    await scene.ask(await scene.coordinator(group), offsetCommit, 8, commitOf(group, place, 8, committed, -1, null, -1))
  } catch (error) {
    if (error instanceof Difference) throw error
  }
}

const anyPeer = ({ running }: Scene, random: Random): Peer => running[random.below(running.length)]!

/** Closes one broker, or all of them one after the other, and starts them again. */
export async function restart(scene: Scene, random: Random): Promise<void> {
  await endBrokers(scene, random, 'close')
}

export async function kill(scene: Scene, random: Random): Promise<void> {
  if (scene.plan.areProcesses) await endBrokers(scene, random, 'kill')
}

async function endBrokers(scene: Scene, random: Random, how: 'close' | 'kill'): Promise<void> {
  const ended = random.below(2) === 0 ? [anyPeer(scene, random)] : [...scene.running]
  scene.note(`${how} ${ended.map(peer => peer.id)} with this under way:`)
  const settleTopic = random.below(3) === 0 ? changeTopicLoosely(scene, random, ended[0]!) : null
  const work = someWork(scene, random)
  if (random.below(2) === 0) await pause(random.below(30))
  // The other brokers may get requests before this broker is back.
  for (const peer of ended) await scene.stop(peer, how)
  if (scene.running.length > 0 && random.below(2) === 0) {
    await Promise.all(work)
    await reconcile(scene, random)
  }
  for (const peer of ended) await scene.start(peer)
  await Promise.all(work)
  await settleTopic?.()
  await reconcile(scene, random)
}

/** Breaks the link of one broker, for an instant or for some time. */
export async function breakLink(scene: Scene, random: Random): Promise<void> {
  const { proxy, id } = anyPeer(scene, random)
  if (proxy === null) return
  const heldMs = random.below(4) === 0 ? random.below(1_500) : random.below(100)
  const direction = random.below(2) === 0 ? 'to-server' : 'to-client'
  const faults: readonly [name: string, begin: () => void | Promise<void>][] = [
    ['reset', () => proxy.reset()],
    ['swallow a reply', () => proxy.swallowNextReply()],
    ['cut', () => proxy.cutAfter(1 + random.below(20_000), direction)],
    [`freeze ${direction} for ${heldMs} ms`, () => proxy.freeze(direction)],
    [
      `refuse for ${heldMs} ms`,
      async () => {
        await proxy.refuse()
        proxy.reset()
      },
    ],
  ]
  const [name, begin] = faults[random.below(faults.length)]!
  scene.note(`the link of broker ${id}: ${name}, with this under way:`)
  const before = someWork(scene, random)
  if (random.below(2) === 0) await pause(random.below(5))
  await begin()
  const after = someWork(scene, random)
  await pause(heldMs)
  await proxy.heal()
  await Promise.all([...before, ...after])
  await reconcile(scene, random)
}

/** Makes Redis drop its clients, or the functions that the broker loaded. */
export async function disturbRedis(scene: Scene, random: Random): Promise<void> {
  const { redis } = scene
  if (redis === null) return
  const isFlush = random.below(2) === 0
  scene.note(`Redis ${isFlush ? 'forgets its functions' : 'drops its clients'}, with this under way:`)
  const work = someWork(scene, random)
  await (isFlush ? redis.ask('FUNCTION', 'FLUSH') : redis.ask('CLIENT', 'KILL', 'TYPE', 'normal'))
  await Promise.all([...work, ...someWork(scene, random)])
  await reconcile(scene, random)
}
