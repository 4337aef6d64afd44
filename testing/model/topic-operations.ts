// Operations on topics: create, delete, create again with the same name, add partitions, change configs, and apply
// retention. A deleted topic must never be seen again, by its name or by its id.

import type { Random } from '../../src/base/random.ts'
import {
  INVALID_PARTITIONS,
  NONE,
  TOPIC_ALREADY_EXISTS,
  UNKNOWN_TOPIC_ID,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../../src/protocol/errors.ts'
import { createPartitions } from '../../src/protocol/messages/create-partitions.ts'
import { createTopics } from '../../src/protocol/messages/create-topics.ts'
import { deleteTopics } from '../../src/protocol/messages/delete-topics.ts'
import { describeConfigs } from '../../src/protocol/messages/describe-configs.ts'
import { fetch } from '../../src/protocol/messages/fetch.ts'
import { incrementalAlterConfigs } from '../../src/protocol/messages/incremental-alter-configs.ts'
import { produce } from '../../src/protocol/messages/produce.ts'
import { ZERO_UUID } from '../../src/protocol/schema.ts'
import { Difference, expect, expectSame } from './difference.ts'
import { LogModel } from './log-model.ts'
import { anyPlace } from './places.ts'
import { makeBatch } from './producing.ts'
import { checkEnds, fetchSome, listByTime, readAll } from './read-operations.ts'
import type { Peer, Scene, TopicModel } from './scene.ts'
import { produceSome } from './write-operations.ts'

const MOST_PARTITIONS = 4
const TIMEOUT_MS = 20_000
const TOPIC_RESOURCE = 2
const SET = 0

const anyPeer = ({ running }: Scene, random: Random): Peer => running[random.below(running.length)]!

function anyTopic(scene: Scene, random: Random): TopicModel | null {
  return anyPlace(scene, random)?.topic ?? null
}

/** Returns a CreateTopics request for one topic. */
function newTopic(name: string, random: Random) {
  const numPartitions = 1 + random.below(3)
  const isAppendTime = random.below(5) === 0
  const compression = ['none', 'none', 'lz4', 'zstd', 'gzip'][random.below(5)]!
  const configs = [
    { name: 'retention.ms', value: '-1' },
    // Retention drops whole segments. With this config a segment has only the records between two rounds of
    // retention.
    { name: 'segment.ms', value: '1' },
    { name: 'message.timestamp.type', value: isAppendTime ? 'LogAppendTime' : 'CreateTime' },
    { name: 'storage.compression.type', value: compression },
  ]
  const body = {
    topics: [{ name, numPartitions, replicationFactor: 1, assignments: [], configs }],
    timeoutMs: TIMEOUT_MS,
    validateOnly: false,
  }
  const time = isAppendTime ? ', log append time' : ''
  return { body, numPartitions, isAppendTime, text: `${numPartitions} partitions, ${compression}${time}` }
}

function adopt(scene: Scene, name: string, id: string, numPartitions: number, isAppendTime: boolean): void {
  const isNew = [...scene.topics.values(), ...scene.gone].every(each => each.id !== id)
  expect(isNew, () => `${name} has an id that another topic had`)
  const rules = [{ ms: -1, bytes: -1, untilMs: Number.POSITIVE_INFINITY }]
  const logs = Array.from({ length: numPartitions }, (_, i) => new LogModel(`${name}-${i}`, rules))
  scene.topics.set(name, { name, id, logs, rules, isAppendTime, maxMessageBytes: 1_048_588 })
}

/** Creates a topic whose name is free or already taken. */
export async function createTopic(scene: Scene, random: Random): Promise<void> {
  const name = scene.topicNames[random.below(scene.topicNames.length)]!
  const { body, numPartitions, isAppendTime, text } = newTopic(name, random)
  const peer = anyPeer(scene, random)
  const { errorCode, topicId, errorMessage } = await scene.settled(
    `${name} is created`,
    async () => (await scene.ask(peer, createTopics, 7, body)).topics[0]!,
  )
  scene.note(`${name}: create with ${text}: ${errorCode}`)
  if (scene.topics.has(name)) {
    expectSame(`${name} is created once more`, errorCode, TOPIC_ALREADY_EXISTS.code)
    return
  }
  expectSame(`${name} is created (${errorMessage})`, errorCode, NONE)
  adopt(scene, name, topicId, numPartitions, isAppendTime)
  await scene.ready()
}

/**
 * Creates a topic, or deletes it if it exists, through a broker that ends meanwhile. The caller calls the returned
 * function when brokers run again; it finds out whether the operation took effect.
 */
export function changeTopicLoosely(scene: Scene, random: Random, peer: Peer): () => Promise<void> {
  const name = scene.topicNames[random.below(scene.topicNames.length)]!
  const existing = scene.topics.get(name)
  const { body, isAppendTime, numPartitions } = newTopic(name, random)
  scene.note(`  ${name}: ${existing === undefined ? 'create' : 'delete'}`)
  // No other operation uses the topic until its state is certain.
  const names = existing === undefined ? [name] : [name, existing.id]
  for (const each of names) scene.uncertain.add(each)
  scene.topics.delete(name)
  const deletion = { topics: [{ name, topicId: ZERO_UUID }], timeoutMs: TIMEOUT_MS }
  const asking =
    existing === undefined
      ? scene.ask(peer, createTopics, 7, body).then(answer => answer.topics[0]!.errorCode)
      : scene.ask(peer, deleteTopics, 6, deletion).then(answer => answer.responses[0]!.errorCode)
  const answered = asking.catch((error: unknown) => {
    if (error instanceof Difference) throw error
    return null
  })
  answered.catch(() => {})
  return async () => {
    const code = await answered
    const found = await scene.findTopic(name)
    const isDone = existing === undefined ? found !== null : found === null
    if (code === NONE) expect(isDone, () => `${name}: an acknowledged change is missing after the restart`)
    if (existing !== undefined && found === null) bury(scene, existing)
    else if (existing !== undefined) {
      expectSame(`${name}: its id`, found?.id, existing.id)
      scene.topics.set(name, existing)
    } else if (found !== null) {
      expectSame(`${name}: its partitions`, found.partitions, numPartitions)
      adopt(scene, name, found.id, numPartitions, isAppendTime)
    }
    for (const each of names) scene.uncertain.delete(each)
  }
}

export async function deleteTopic(scene: Scene, random: Random): Promise<void> {
  const topic = anyTopic(scene, random)
  if (topic === null) return
  const { name, id } = topic
  const isById = random.below(2) === 0
  const named = isById ? { topics: [{ name: null, topicId: id }] } : { topics: [{ name, topicId: ZERO_UUID }] }
  const peer = anyPeer(scene, random)
  const { errorCode, errorMessage } = await scene.settled(
    `${name} is deleted`,
    async () => (await scene.ask(peer, deleteTopics, 6, { ...named, timeoutMs: TIMEOUT_MS })).responses[0]!,
  )
  scene.note(`${name}: delete by ${isById ? 'id' : 'name'}`)
  expectSame(`${name} is deleted (${errorMessage})`, errorCode, NONE)
  bury(scene, topic)
  await scene.ready()
}

function bury(scene: Scene, topic: TopicModel): void {
  scene.topics.delete(topic.name)
  scene.gone.push(topic)
  for (const group of scene.groups) group.forgetTopic(topic.id)
}

/** Checks that no request can read, write or delete by the id of a deleted topic, or by a free name. */
export async function askForGone(scene: Scene, random: Random): Promise<void> {
  const topic = scene.gone[random.below(Math.max(1, scene.gone.length))]
  if (topic === undefined) return
  const { id, name } = topic
  const peer = anyPeer(scene, random)
  const rowOf = async (version: number, named: { topic?: string; topicId?: string }) => {
    const partitions = [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 1_000_000 }]
    const answer = await scene.ask(peer, fetch, version, {
      maxWaitMs: 0,
      minBytes: 0,
      topics: [{ ...named, partitions }],
    })
    return answer.responses[0]!.partitions[0]!
  }
  scene.note(`${name}: asked for by the id ${id}, which is gone`)
  expectSame(
    `Fetch of ${name} by an id that is gone`,
    (await rowOf(13, { topicId: id })).errorCode,
    UNKNOWN_TOPIC_ID.code,
  )
  const records = Buffer.from(makeBatch(scene, random).bytes)
  const topicData = [{ topicId: id, partitionData: [{ index: 0, records }] }]
  const produced = await scene.ask(peer, produce, 13, { acks: -1, timeoutMs: TIMEOUT_MS, topicData })
  const { errorCode } = produced.responses[0]!.partitionResponses[0]!
  expectSame(`Produce to ${name} by an id that is gone`, errorCode, UNKNOWN_TOPIC_ID.code)
  const deleted = await scene.ask(peer, deleteTopics, 6, {
    topics: [{ name: null, topicId: id }],
    timeoutMs: TIMEOUT_MS,
  })
  expectSame(`DeleteTopics of ${name} by an id that is gone`, deleted.responses[0]!.errorCode, UNKNOWN_TOPIC_ID.code)
  if (scene.topics.has(name)) return
  const byName = await rowOf(12, { topic: name })
  expectSame(`Fetch of ${name}, which is gone`, byName.errorCode, UNKNOWN_TOPIC_OR_PARTITION.code)
}

export async function addPartitions(scene: Scene, random: Random): Promise<void> {
  const topic = anyTopic(scene, random)
  if (topic === null) return
  const { name, logs, rules } = topic
  const count = logs.length + random.below(3)
  if (count > MOST_PARTITIONS) return
  const body = { topics: [{ name, count, assignments: null }], timeoutMs: TIMEOUT_MS, validateOnly: false }
  const [peer, version] = [anyPeer(scene, random), random.below(4)]
  const { errorCode } = await scene.settled(
    `${name} gets partitions`,
    async () => (await scene.ask(peer, createPartitions, version, body)).results[0]!,
  )
  scene.note(`${name}: from ${logs.length} to ${count} partitions`)
  expectSame(`${name}: ${count} partitions`, errorCode, count === logs.length ? INVALID_PARTITIONS.code : NONE)
  while (logs.length < count) logs.push(new LogModel(`${name}-${logs.length}`, rules))
  await scene.ready()
}

/** Sets configs. Brokers that share a store learn of new configs later, so this resolves when all of them have them. */
async function setConfigs(
  scene: Scene,
  random: Random,
  { name }: TopicModel,
  values: Readonly<Record<string, string>>,
): Promise<void> {
  const configs = Object.entries(values).map(([config, value]) => ({ name: config, configOperation: SET, value }))
  const resources = [{ resourceType: TOPIC_RESOURCE, resourceName: name, configs }]
  const body = { resources, validateOnly: false }
  const asked = anyPeer(scene, random)
  const { errorCode } = await scene.settled(
    `${name} gets configs`,
    async () => (await scene.ask(asked, incrementalAlterConfigs, 1, body)).responses[0]!,
  )
  expectSame(`${name}: ${JSON.stringify(values)}`, errorCode, NONE)
  const resource = { resourceType: TOPIC_RESOURCE, resourceName: name, configurationKeys: Object.keys(values) }
  for (const peer of scene.running) {
    await scene.until(`broker ${peer.id} knows of ${name}: ${JSON.stringify(values)}`, async () => {
      const { results } = await scene.ask(peer, describeConfigs, 4, { resources: [resource] })
      return results[0]!.configs.every(each => each.value === values[each.name]) ? true : undefined
    })
  }
}

export async function changeConfigs(scene: Scene, random: Random): Promise<void> {
  const topic = anyTopic(scene, random)
  if (topic === null) return
  topic.isAppendTime = random.below(4) === 0
  topic.maxMessageBytes = [1_048_588, 300_000, 600_000][random.below(3)]!
  await setConfigs(scene, random, topic, {
    'message.timestamp.type': topic.isAppendTime ? 'LogAppendTime' : 'CreateTime',
    'max.message.bytes': String(topic.maxMessageBytes),
  })
  scene.note(
    `${topic.name}: at most ${topic.maxMessageBytes} bytes a batch${topic.isAppendTime ? ', log append time' : ''}`,
  )
}

async function setRetention(scene: Scene, random: Random, topic: TopicModel, ms: number, bytes: number): Promise<void> {
  topic.rules.push({ ms, bytes, untilMs: Number.POSITIVE_INFINITY })
  await setConfigs(scene, random, topic, { 'retention.ms': String(ms), 'retention.bytes': String(bytes) })
  const nowMs = Date.now()
  for (const rule of topic.rules.slice(0, -1)) rule.untilMs = Math.min(rule.untilMs, nowMs)
}

async function untilEmpty(scene: Scene, topic: TopicModel): Promise<void> {
  for (const [partition, log] of topic.logs.entries()) {
    await scene.until(`${log.name} is dropped up to ${log.end}`, async () => {
      await checkEnds(scene, { topic, partition, log })
      return log.start === log.end ? true : undefined
    })
  }
}

/** Lets all records of a topic expire. */
export async function expireRecords(scene: Scene, random: Random): Promise<void> {
  const topic = anyTopic(scene, random)
  if (topic === null) return
  scene.note(`${topic.name}: everything expires`)
  await setRetention(scene, random, topic, 100, -1)
  await untilEmpty(scene, topic)
  await setRetention(scene, random, topic, -1, -1)
}

/** Limits the bytes of the log while clients go on. Sometimes it then limits them to 0. */
export async function limitBytes(scene: Scene, random: Random): Promise<void> {
  const topic = anyTopic(scene, random)
  if (topic === null) return
  const bytes = random.below(500_000)
  scene.note(`${topic.name}: keeps ${bytes} bytes`)
  await setRetention(scene, random, topic, -1, bytes)
  for (const perform of [produceSome, fetchSome, listByTime, produceSome, readAll]) await perform(scene, random)
  if (random.below(2) === 0) {
    await setRetention(scene, random, topic, -1, 0)
    await untilEmpty(scene, topic)
  }
  await setRetention(scene, random, topic, -1, -1)
}
