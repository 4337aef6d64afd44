// Clients of a simulated cluster that behave like Kafka's: producers with and without idempotence, consumers, and
// group members. Each records its operations and observations, and testing/checker.ts judges them. No client knows
// the store.

import * as errors from '../../src/protocol/errors.ts'
import { isRefusal, type Refusal } from '../../src/protocol/errors.ts'
import { encodeBatch, readRecords, viewBatch } from '../../src/protocol/records.ts'
import { isStoreFailure, streamId } from '../../src/store/store.ts'
import type { History, Key, Seen } from '../history.ts'
import type { ClusterBroker, Rooms } from './cluster-broker.ts'
import { bytes, joining, refusalIn } from './groups.ts'
import type { Scheduler } from './scheduler.ts'

/** All that a client needs to send requests. */
export interface Clients {
  readonly scheduler: Scheduler
  readonly brokers: readonly ClusterBroker[]
  latencyMs(): number
}

export interface ClientWorld extends Clients {
  readonly history: History
  readonly topicId: string
  /**
   * True if readers read only visible records (the safeguard `visibility`); false if they read the store to its end.
   */
  readonly readsVisible: boolean
  /** Reports an error that a history does not show. */
  complain(kind: string, detail: string): void
}

const REQUEST_TIMEOUT_MS = 600
const PRODUCE_TIMEOUT_MS = 300
const READ_BYTES = 1_000
/** No answer: the connection broke, or the request took too long. */
const NOTHING = null

export const keyOf = (partition: number): Key => `t:${partition}`

export function sleep(world: Clients, ms: number): Promise<void> {
  return new Promise(resolve => world.scheduler.after(ms, resolve))
}

/** Sends a request to one broker, over a connection that may break. */
export function ask<T>(
  world: Clients,
  broker: ClusterBroker,
  serve: (rooms: Rooms) => T | Promise<T>,
): Promise<T | null> {
  const { scheduler } = world
  return new Promise((resolve, reject) => {
    const timeout = scheduler.after(REQUEST_TIMEOUT_MS, () => resolve(NOTHING))
    const answer = (value: T) =>
      scheduler.after(world.latencyMs(), () => {
        if (broker.machine.isDead) return
        timeout.cancel()
        resolve(value)
      })
    scheduler.after(world.latencyMs(), () =>
      broker.machine.reach(() => {
        const { rooms } = broker
        if (rooms === null) return
        Promise.resolve(serve(rooms)).then(answer, error => {
          // An error of the store leaves the outcome unknown, as a missing answer does.
          if (!isStoreFailure(error)) reject(error)
        })
      }),
    )
  })
}

/** Returns the broker that a random live broker names, as a client would find it; null if no broker is live. */
export function named(world: Clients, pick: (rooms: Rooms) => number): ClusterBroker | null {
  const up = world.brokers.filter(({ machine, rooms }) => rooms !== null && !machine.isDead && !machine.isPaused)
  if (up.length === 0) return null
  const id = pick(up[world.scheduler.random.below(up.length)]!.rooms!)
  return world.brokers.find(broker => broker.id === id) ?? null
}

const leaderOf = (world: ClientWorld, partition: number) =>
  named(world, rooms => rooms.cluster.leaderOf(world.topicId, partition))

/** Returns whether it is unknown after this error if the batch is in the log. Without an answer it is unknown too. */
export const isUnknown = ({ code }: Refusal) =>
  code === errors.REQUEST_TIMED_OUT.code || code === errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND.code

/** Sends this many batches, one after the other. Resolves when the outcome of each is as certain as possible. */
export async function produce(
  world: ClientWorld,
  options: {
    readonly partition: number
    readonly sends: number
    readonly idempotent: boolean
    readonly pauseMs: number
  },
): Promise<void> {
  const { scheduler, history } = world
  const { partition, idempotent } = options
  let process = history.process()
  let producer = { id: -1, epoch: -1, sequence: -1 }
  for (let sent = 0; sent < options.sends; sent++) {
    await sleep(world, scheduler.within(options.pauseMs))
    if (idempotent && producer.id < 0) producer = { id: await producerId(world), epoch: 0, sequence: 0 }
    const values = Array.from({ length: 1 + scheduler.random.below(3) }, () => history.value())
    const key = keyOf(partition)
    const sending = values.map(value => ['send', key, value] as const)
    const begun = history.begin(process, 'send', sending, { idempotent })
    scheduler.tell(`producer ${process} sends ${values.join()} to ${partition}`)
    const records = values.map(value => ({ value: String(value) }))
    const encode = () =>
      encodeBatch(records, {
        producerId: producer.id,
        producerEpoch: producer.epoch,
        baseSequence: producer.sequence,
      })
    let mayBeThere = false
    for (;;) {
      const broker = leaderOf(world, partition)
      if (broker === null) {
        await sleep(world, 20)
        continue
      }
      const answer = await ask(world, broker, ({ logs }) => {
        const led = logs.partition(world.topicId, partition)
        return led === null ? errors.NOT_LEADER_OR_FOLLOWER : led.append(viewBatch(encode()), PRODUCE_TIMEOUT_MS)
      })
      scheduler.tell(`producer ${process} is answered ${describeAnswer(answer)} by broker ${broker.id}`)
      if (answer !== NOTHING && !isRefusal(answer)) {
        begun.ok(values.map((value, i) => ['send', key, [answer.baseOffset + i, value]] as const))
        producer.sequence += idempotent ? values.length : 0
        break
      }
      const isUnknownNow = answer === NOTHING || isUnknown(answer)
      mayBeThere ||= isUnknownNow
      const mayRepeat = idempotent ? answer === NOTHING || answer.retriable : !isUnknownNow && answer.retriable
      if (mayRepeat) {
        await sleep(world, 20 + scheduler.within(40))
        continue
      }
      const error = answer === NOTHING ? 'no answer' : answer.name
      if (mayBeThere) begun.info(error)
      else begun.fail(error)
      // A producer that does not know the outcome of its batch starts again under a new id.
      process = history.process()
      producer = { id: -1, epoch: -1, sequence: -1 }
      break
    }
  }
}

function describeAnswer(answer: { readonly baseOffset: number } | Refusal | null): string {
  if (answer === NOTHING) return 'nothing'
  return isRefusal(answer) ? answer.name : `offset ${answer.baseOffset}`
}

export async function producerId(world: Clients): Promise<number> {
  for (;;) {
    const broker = world.brokers[world.scheduler.random.below(world.brokers.length)]!
    const answer = await ask(world, broker, ({ producerIds }) => producerIds.allocate())
    if (typeof answer === 'number') return answer
    await sleep(world, 30)
  }
}

/** Reads a partition from its beginning until `isOver` returns true after a poll. */
export async function consume(
  world: ClientWorld,
  options: { readonly partition: number; readonly pauseMs: number },
  isOver: (position: number) => boolean,
): Promise<void> {
  const { scheduler, history } = world
  const { partition } = options
  const key = keyOf(partition)
  let process = history.process()
  let position = 0
  for (;;) {
    await sleep(world, scheduler.within(options.pauseMs))
    const broker = leaderOf(world, partition)
    const from = position
    const answer = broker === null ? NOTHING : await ask(world, broker, rooms => poll(world, rooms, partition, from))
    if (answer === NOTHING || isRefusal(answer)) {
      if (answer !== NOTHING && answer.code === errors.OFFSET_OUT_OF_RANGE.code) {
        world.complain('reset', `${key}: broker ${broker!.id} answered position ${position} with: ${answer.message}`)
        // auto.offset.reset=earliest
        process = history.process()
        position = 0
      }
      if (isOver(position)) return
      continue
    }
    const seen: Seen[] = []
    for (const batch of answer.batches) {
      const { crc, lastOffset } = viewBatch(batch)
      for (const record of await readRecords(batch)) {
        if (record.offset >= position) seen.push([record.offset, Number(record.value), crc])
      }
      position = lastOffset + 1
    }
    if (seen.length > 0) {
      scheduler.tell(`consumer ${process} reads ${seen.map(([offset]) => offset).join()} of ${partition}`)
      history.begin(process, 'poll', [['poll']]).ok([['poll', { [key]: seen }]])
    }
    if (isOver(position)) return
  }
}

async function poll({ topicId, readsVisible }: ClientWorld, { logs, store }: Rooms, partition: number, from: number) {
  const led = logs.partition(topicId, partition)
  if (led === null) return errors.NOT_LEADER_OR_FOLLOWER
  if (readsVisible) {
    const read = await led.read(from, READ_BYTES, true)
    return isRefusal(read) ? read : { batches: read.batches }
  }
  const limits = { maxBytes: READ_BYTES, until: Number.MAX_SAFE_INTEGER }
  const read = await store.read(streamId(topicId, partition), from, limits).catch(() => NOTHING)
  if (read?.kind !== 'read') return errors.KAFKA_STORAGE_ERROR
  return { batches: read.batches.map(batch => batch.bytes) }
}

const GROUP = 'group'
const SESSION_MS = 700

/** One member of a group: it owns the partition of its index and commits increasing offsets. */
export async function takePart(world: ClientWorld, partitions: number, isOver: () => boolean): Promise<void> {
  const { scheduler, history, topicId } = world
  const process = history.process()
  let memberId = ''
  let claim: { memberId: string; instanceId: null; generation: number } | null = null
  let owned = -1
  let offset = 0

  const coordinator = () => named(world, rooms => rooms.cluster.coordinatorOf(GROUP))

  async function enter(): Promise<void> {
    const broker = coordinator()
    const join = joining({ groupId: GROUP, memberId, sessionTimeoutMs: SESSION_MS, rebalanceTimeoutMs: 400 })
    const joined = broker === null ? NOTHING : await ask(world, broker, ({ groups }) => groups.join(join))
    if (joined === NOTHING) return
    if (joined.error?.code === errors.UNKNOWN_MEMBER_ID.code) memberId = ''
    if (joined.error?.code === errors.MEMBER_ID_REQUIRED.code) memberId = joined.memberId
    if (joined.error !== null) return
    memberId = joined.memberId
    const assignments = joined.members.map((member, place) => ({
      memberId: member.memberId,
      assignment: bytes(String(place)),
    }))
    const { generation } = joined
    const synced = await ask(world, broker!, ({ groups }) =>
      groups.sync({
        groupId: GROUP,
        generation,
        memberId,
        instanceId: null,
        protocolType: null,
        protocolName: null,
        assignments,
      }),
    )
    if (synced === NOTHING || synced.error !== null) return
    const place = Number(Buffer.from(synced.assignment).toString())
    owned = place < partitions ? place : -1
    scheduler.tell(`member ${process} has place ${place} in generation ${generation}`)
    history.begin(process, 'subscribe', [], { group: GROUP, generation }).ok([])
    claim = { memberId, instanceId: null, generation }
    if (owned >= 0) await fetch()
  }

  /** Fetches the committed offset from which this generation begins. */
  async function fetch(): Promise<void> {
    for (;;) {
      const broker = coordinator()
      const begun = history.begin(process, 'committed', [['committed']], { group: GROUP })
      const topics = [{ topicId, partitions: [owned] }]
      const answer =
        broker === null
          ? NOTHING
          : await ask(world, broker, ({ groups }) => groups.fetchOffsets({ groupId: GROUP, topics }))
      if (answer === NOTHING || answer.error !== null) {
        begun.fail(answer?.error?.name ?? 'no answer')
        if (isOver()) return
        await sleep(world, 30)
        continue
      }
      const known = answer.topics[0]?.offsets[0]?.offset ?? null
      begun.ok([['committed', { [keyOf(owned)]: known }]])
      offset = known ?? 0
      return
    }
  }

  async function commit(): Promise<void> {
    const { generation } = claim!
    offset += 1 + scheduler.random.below(3)
    const value = [['commit', { [keyOf(owned)]: offset }]] as const
    const broker = coordinator()
    if (broker === null) return
    const begun = history.begin(process, 'commit', value, { group: GROUP, generation })
    const rows = [{ topicId, partition: owned, offset, leaderEpoch: -1, metadata: '', retentionMs: -1 }]
    const request = { ...claim!, groupId: GROUP, missing: errors.ILLEGAL_GENERATION, offsets: rows }
    const answer = await ask(world, broker, async ({ groups }) => ({
      refusal: refusalIn(await groups.commitOffsets(request)),
    }))
    scheduler.tell(
      `member ${process} commits ${offset} of ${owned} in ${generation}: ${answer === NOTHING ? 'no answer' : (answer.refusal?.name ?? 'done')}`,
    )
    if (answer === NOTHING) begun.info('no answer')
    else if (answer.refusal === null) begun.ok(value)
    // The coordinator dropped its pending commits. They may be stored or not (Kafka's clients commit again).
    else if (answer.refusal.code === errors.NOT_COORDINATOR.code) begun.info(answer.refusal.name)
    else begun.fail(answer.refusal.name)
    judge(answer?.refusal ?? null)
  }

  async function beat(): Promise<void> {
    const broker = coordinator()
    const answer =
      broker === null
        ? NOTHING
        : await ask(world, broker, ({ groups }) => ({ refusal: groups.heartbeat(GROUP, claim!) }))
    judge(answer?.refusal ?? null)
  }

  function judge(refusal: Refusal | null): void {
    const code = refusal?.code ?? errors.NONE
    const mustJoin: readonly number[] = [
      errors.REBALANCE_IN_PROGRESS.code,
      errors.ILLEGAL_GENERATION.code,
      errors.UNKNOWN_MEMBER_ID.code,
    ]
    if (!mustJoin.includes(code)) return
    if (code === errors.UNKNOWN_MEMBER_ID.code) memberId = ''
    claim = null
  }

  while (!isOver()) {
    if (claim === null) {
      await enter()
      if (claim === null) await sleep(world, 40)
      continue
    }
    // Sometimes the member pauses for longer than its session timeout. The coordinator removes it, and it still
    // commits afterwards.
    await sleep(world, scheduler.oneIn(25) ? 2 * SESSION_MS : scheduler.within(250))
    if (owned >= 0 && scheduler.oneIn(2)) await commit()
    else await beat()
  }
}
