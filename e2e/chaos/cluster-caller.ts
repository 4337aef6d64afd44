// A client of several brokers on the raw wire. It asks for leaders and coordinators, sends each request to the right
// broker, and asks again if the broker was wrong. It returns every error code of a write to its caller. It repeats
// reads until they succeed, because a repeated read does no harm.

import { type Clock, sleep, systemClock } from '../../src/base/clock.ts'
import type { Random } from '../../src/base/random.ts'
import { fetch } from '../../src/protocol/messages/fetch.ts'
import { findCoordinator } from '../../src/protocol/messages/find-coordinator.ts'
import { joinGroup } from '../../src/protocol/messages/join-group.ts'
import { listOffsets } from '../../src/protocol/messages/list-offsets.ts'
import { metadata } from '../../src/protocol/messages/metadata.ts'
import { offsetFetch } from '../../src/protocol/messages/offset-fetch.ts'
import { produce } from '../../src/protocol/messages/produce.ts'
import { syncGroup } from '../../src/protocol/messages/sync-group.ts'
import { viewBatch } from '../../src/protocol/records.ts'
import type { Api, RequestInput, ResponseOf } from '../../src/protocol/schema.ts'
import { connect, type Wire } from '../../testing/wire.ts'
import { isConnectionLoss } from './producers.ts'
import { type Caller, isPassing } from './run.ts'

const AGAIN_MS = 20
/** The extra time for JoinGroup and SyncGroup: they wait for the other members. */
const REBALANCE_MS = 7_000
/** A client that has found no broker for this long gives up: the run has failed. */
const PATIENCE_MS = 90_000

export interface ClusterCallerOptions {
  readonly topic: string
  /** The ports of the brokers that it asks first. */
  readonly ports: readonly number[]
  /** Returns the port by which this client reaches the broker that advertises a port: mostly a proxy's. */
  readonly route: (advertised: number) => number
  /** A connection without a response for this long is closed. */
  readonly timeoutMs: number
  readonly random: Random
  /** If true, the client need not find a broker any more, because the topic may be deleted. */
  readonly isOver?: () => boolean
}

/** Returns the client. It opens connections with the first request. */
export function openClusterCaller(options: ClusterCallerOptions): Caller {
  return new ClusterCaller(options, systemClock)
}

class ClusterCaller implements Caller {
  readonly #options: ClusterCallerOptions
  readonly #clock: Clock
  readonly #wires = new Map<number, Promise<Wire>>()
  /** Port of the leader by partition; null if the client must ask for it. */
  #leaders: Promise<ReadonlyMap<number, number>> | null = null
  #coordinators = new Map<string, Promise<number>>()
  /** Sends produce requests in the order of the calls. */
  #lane: Promise<unknown> = Promise.resolve()
  /**
   * Partitions that miss a batch of this connection. The client sends no later batch of an idempotent producer to
   * them, to no leader, until the producer opens a new connection and sends the missing batch first.
   */
  readonly #broken = new Set<number>()
  /** The port that has the unanswered batches of a partition. Later batches must go to the same port, or fail. */
  readonly #unanswered = new Map<number, { readonly port: number; batches: number }>()
  #isClosed = false

  constructor(options: ClusterCallerOptions, clock: Clock) {
    this.#options = options
    this.#clock = clock
  }

  async send<A extends Api>(api: A, version: number, body: RequestInput<A>): Promise<ResponseOf<A>> {
    switch (api as Api) {
      case produce:
        return (await this.#produce(version, body as never)) as never
      case fetch:
        return (await this.#fetch(version, body as never)) as never
      case listOffsets:
        return (await this.#listOffsets(version, body as never)) as never
      case offsetFetch:
        return (await this.#offsetFetch(version, body as never)) as never
    }
    const { groupId } = body as { groupId?: string }
    if (groupId === undefined) return await this.#any(api, version, body)
    const answer = await this.#toCoordinator(groupId, api, version, body)
    // After a refusal the client asks again for the coordinator.
    if (isPassing(errorOf(answer))) this.#coordinators.delete(groupId)
    return answer
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const closings = [...this.#wires.values()].map(opening => opening.then(wire => wire.close()).catch(() => {}))
    await Promise.all(closings)
  }

  async #produce(version: number, body: RequestInput<typeof produce>): Promise<ResponseOf<typeof produce>> {
    const { index, records } = body.topicData![0]!.partitionData![0]!
    const isOrdered = viewBatch(records as Uint8Array).producerId >= 0
    const before = this.#lane
    const isBroken = () => isOrdered && this.#broken.has(index!)
    const handing = (async () => {
      await before
      if (isBroken()) throw new Error('the connection was closed')
      const port = await this.#leaderOf(index!)
      const wire = await this.#wireTo(port)
      // An earlier batch may have been refused meanwhile. From here to the sending there is no await.
      const at = this.#unanswered.get(index!) ?? { port, batches: 0 }
      if (isBroken() || (isOrdered && at.port !== port)) throw new Error('the connection was closed')
      this.#unanswered.set(index!, at)
      at.batches++
      const answering = this.#timed(port, wire, produce, version, body)
        .then(answer => {
          if (answer.responses[0]!.partitionResponses[0]!.errorCode !== 0) this.#misses(index!)
          return answer
        })
        .catch(error => {
          this.#misses(index!)
          throw error
        })
        .finally(() => {
          if (--at.batches === 0) this.#unanswered.delete(index!)
        })
      // It is wrapped in an object, because `await` would wait for a bare promise.
      return { answering }
    })()
    this.#lane = handing.catch(() => this.#misses(index!))
    return await (await handing).answering
  }

  #misses(partition: number): void {
    this.#leaders = null
    this.#broken.add(partition)
  }

  /** The response omits partitions whose leader cannot be reached or refuses for a while. */
  async #fetch(version: number, body: RequestInput<typeof fetch>): Promise<ResponseOf<typeof fetch>> {
    const topic = body.topics![0]!
    const asked = await this.#byLeader(topic.partitions!, partition => partition.partition!)
    const answers = await Promise.all(
      [...asked].map(async ([port, partitions]) => {
        try {
          const part = { ...body, topics: [{ ...topic, partitions }] }
          return await this.#to(port, fetch, version, part)
        } catch (error) {
          if (!isConnectionLoss(error)) throw error
          this.#leaders = null
          return null
        }
      }),
    )
    const [first] = answers.filter(answer => answer !== null)
    if (first === undefined) {
      await sleep(this.#clock, AGAIN_MS)
      return await this.#fetch(version, body)
    }
    const partitions = answers
      .flatMap(answer => answer?.responses ?? [])
      .flatMap(response => response.partitions)
      .filter(partition => {
        if (!isPassing(partition.errorCode)) return true
        this.#leaders = null
        return false
      })
    if (partitions.length === 0) await sleep(this.#clock, AGAIN_MS)
    return { ...first, responses: [{ ...first.responses[0]!, topic: topic.topic!, partitions }] }
  }

  async #listOffsets(version: number, body: RequestInput<typeof listOffsets>): Promise<ResponseOf<typeof listOffsets>> {
    const topic = body.topics![0]!
    return await this.#patiently('ListOffsets', async () => {
      const asked = await this.#byLeader(topic.partitions!, partition => partition.partitionIndex!)
      const answers = await Promise.all(
        [...asked].map(([port, partitions]) =>
          this.#to(port, listOffsets, version, { ...body, topics: [{ ...topic, partitions }] }),
        ),
      )
      const partitions = answers.flatMap(answer => answer.topics).flatMap(each => each.partitions)
      if (partitions.some(partition => isPassing(partition.errorCode))) {
        this.#leaders = null
        return null
      }
      return { ...answers[0]!, topics: [{ ...answers[0]!.topics[0]!, partitions }] }
    })
  }

  async #offsetFetch(version: number, body: RequestInput<typeof offsetFetch>): Promise<ResponseOf<typeof offsetFetch>> {
    const { groupId } = body.groups![0]!
    return await this.#patiently('OffsetFetch', async () => {
      const answer = await this.#toCoordinator(groupId!, offsetFetch, version, body)
      const codes = answer.groups.flatMap(group => [
        group.errorCode,
        ...group.topics.flatMap(topic => topic.partitions.map(partition => partition.errorCode)),
      ])
      if (!codes.some(isPassing)) return answer
      this.#coordinators.delete(groupId!)
      return null
    })
  }

  async #any<A extends Api>(api: A, version: number, body: RequestInput<A>): Promise<ResponseOf<A>> {
    const { ports, random } = this.#options
    return await this.#to(ports[random.below(ports.length)]!, api, version, body)
  }

  async #toCoordinator<A extends Api>(
    groupId: string,
    api: A,
    version: number,
    body: RequestInput<A>,
  ): Promise<ResponseOf<A>> {
    const port = await this.#coordinatorOf(groupId)
    try {
      return await this.#to(port, api, version, body)
    } catch (error) {
      this.#coordinators.delete(groupId)
      throw error
    }
  }

  #coordinatorOf(groupId: string): Promise<number> {
    let finding = this.#coordinators.get(groupId)
    if (finding === undefined) {
      finding = this.#patiently(`the coordinator of ${groupId}`, async () => {
        const { coordinators } = await this.#any(findCoordinator, 4, { keyType: 0, coordinatorKeys: [groupId] })
        const [one] = coordinators
        return one?.errorCode === 0 ? this.#options.route(one.port) : null
      })
      this.#coordinators.set(groupId, finding)
    }
    return finding
  }

  async #byLeader<P>(partitions: readonly P[], indexOf: (partition: P) => number): Promise<Map<number, P[]>> {
    const found = new Map<number, P[]>()
    for (const partition of partitions) {
      const port = await this.#leaderOf(indexOf(partition))
      found.set(port, [...(found.get(port) ?? []), partition])
    }
    return found
  }

  async #leaderOf(partition: number): Promise<number> {
    this.#leaders ??= this.#findLeaders()
    const leaders = await this.#leaders
    return leaders.get(partition)!
  }

  async #findLeaders(): Promise<ReadonlyMap<number, number>> {
    const { topic, route } = this.#options
    return await this.#patiently(`the leaders of ${topic}`, async () => {
      const { brokers, topics } = await this.#any(metadata, 9, {
        topics: [{ name: topic }],
        allowAutoTopicCreation: false,
      })
      const ports = new Map(brokers.map(broker => [broker.nodeId, route(broker.port)]))
      const partitions = topics[0]?.partitions ?? []
      const leaders = new Map(partitions.map(({ partitionIndex, leaderId }) => [partitionIndex, ports.get(leaderId)]))
      const known = [...leaders].filter((each): each is [number, number] => each[1] !== undefined)
      return known.length > 0 && known.length === leaders.size ? new Map(known) : null
    })
  }

  /** Calls `ask` again after a lost connection, and while it resolves to null. */
  async #patiently<T>(what: string, ask: () => Promise<T | null>): Promise<T> {
    const begunAt = this.#clock.monotonic()
    for (;;) {
      try {
        const found = await ask()
        if (found !== null) return found
      } catch (error) {
        if (!isConnectionLoss(error)) throw error
        this.#leaders = null
      }
      if (this.#options.isOver?.() === true) throw new Error('the connection was closed')
      if (this.#clock.monotonic() - begunAt > PATIENCE_MS)
        throw new Error(`no broker returned ${what} within ${PATIENCE_MS / 1000} s`)
      await sleep(this.#clock, AGAIN_MS)
    }
  }

  async #to<A extends Api>(port: number, api: A, version: number, body: RequestInput<A>): Promise<ResponseOf<A>> {
    return await this.#timed(port, await this.#wireTo(port), api, version, body)
  }

  async #timed<A extends Api>(
    port: number,
    wire: Wire,
    api: A,
    version: number,
    body: RequestInput<A>,
  ): Promise<ResponseOf<A>> {
    const waitsMs = api.key === joinGroup.key || api.key === syncGroup.key ? REBALANCE_MS : 0
    const limit = this.#clock.timer(this.#options.timeoutMs + waitsMs, () => wire.socket.destroy())
    try {
      return await wire.send(api, version, body)
    } catch (error) {
      this.#wires.delete(port)
      throw error
    } finally {
      limit.cancel()
    }
  }

  #wireTo(port: number): Promise<Wire> {
    let opening = this.#wires.get(port)
    if (opening === undefined) {
      opening = this.#isClosed ? Promise.reject(new Error('the connection was closed')) : connect({ port })
      this.#wires.set(port, opening)
      opening.catch(() => this.#wires.delete(port))
    }
    return opening
  }
}

function errorOf(answer: object): number {
  return 'errorCode' in answer ? Number(answer.errorCode) : 0
}
