// Tells one broker of a cluster which brokers live and which of them leads a partition. Leaders are not elected. A
// rendezvous hash over the living brokers names the leader; if brokers were assigned to a partition, the first of
// them that lives leads it. So each broker can compute the leader alone, from its view and the topic. The result is a
// hint. Two brokers with different views cannot do harm, because the store fences them: taking the lead shuts out
// every earlier leader (`open`, and the versions of documents).

import { type Clock, sleep } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { isStoreFailure, type Store } from '../store/store.ts'
import type { NameUnreadable } from '../store/unreadable.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type BrokerInfo, type Endpoint, FEATURES } from './broker-record.ts'
import { openEpochs } from './epochs.ts'
import { joinCluster as join, type Membership } from './membership.ts'
import { drawOf, hashOf, hashWithin, orderOf } from './rendezvous.ts'

export interface Cluster {
  readonly brokerId: number
  /** The id of this start of the broker; empty on a store that only one broker can use. */
  readonly incarnation: string
  /** Returns the living brokers, ascending by id. The list is immutable. */
  brokers(): readonly BrokerInfo[]
  /** Returns the id of the broker that leads the partition; -1 if no broker lives. */
  leaderOf(topicId: string, index: number): number
  /**
   * Returns the ids of the living brokers and of `others`, in the order in which they would lead a partition without
   * assigned brokers.
   */
  orderOf(topicId: string, index: number, others: readonly number[]): readonly number[]
  /**
   * Assigns brokers to the partitions of a topic, by partition number. The first of them that lives leads the
   * partition; if none of them lives, another broker does. Replaces the earlier assignment of the topic.
   */
  assign(topicId: string, brokerIds: Assigned): void
  /** Returns whether this broker leads the partition. */
  leads(topicId: string, index: number): boolean
  /** Looks at the store, and resolves with whether this broker leads the partition. */
  stillLeads(topicId: string, index: number): Promise<boolean>
  /** Returns the known leader epoch of a partition, or -1. It may still be the epoch of the previous leader. */
  epochOf(topicId: string, index: number): number
  /** Notes that this broker leads the partition with this epoch. */
  led(topicId: string, index: number, epoch: number): void
  /** Forgets a topic that was deleted. */
  forgetTopic(topicId: string): void
  /** Returns the id of the broker that coordinates the group or transactional id; -1 if no broker lives. */
  coordinatorOf(key: string): number
  /**
   * False while the others may already consider this broker dead. Then it must not answer for its partitions, because
   * another broker may have newer data.
   */
  readonly isConfirmed: boolean
  /**
   * True if another process has joined on this store, as of the last look; starting processes and those without a
   * listener count too.
   */
  readonly hasOthers: boolean
  /**
   * Returns the other processes that have joined on this store, as of the last look; starting processes and those
   * without a listener too.
   */
  others(): readonly BrokerInfo[]
  /** Looks at the store. Resolves when the view is at least as new as this call, or when the look failed. */
  look(): Promise<void>
  /**
   * Calls `changed` after each change of the living brokers, and `looked` after each look at the store, from the next
   * one on.
   */
  watch(watch: ClusterWatch): void
  /** Makes this broker serve and lead. Resolves when the other brokers can see it. Throws what the store throws. */
  announce(endpoints: readonly Endpoint[]): Promise<void>
  /**
   * Tells the other brokers by which TLS certificates they recognise this one, in base64 of DER. Resolves when they
   * have had the time to look, even if the store does not answer; then the record follows as soon as it does.
   */
  present(certificates: readonly string[]): Promise<void>
  /** Makes this broker lead nothing in its own view. The other brokers do not know that yet. */
  withdraw(): void
  /** Tells the other brokers that this one leaves. Resolves after the time that they need to notice it. */
  leave(): Promise<void>
  close(): Promise<void>
}

/** The ids of the assigned brokers by partition number; empty for most topics. */
export type Assigned = Readonly<Record<number, readonly number[]>>

export interface ClusterWatch {
  changed(): void
  looked(): void
}

export interface ClusterRooms {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly unreadable?: NameUnreadable | undefined
  readonly brokerId: number
  readonly rack: string | null
  /** The version of Ketch, for people. */
  readonly version?: string
  readonly expiryMs: number
  /** Called with the reason if this broker cannot go on, for example because another process has its id. */
  lost(error: Error): void
}

/**
 * Joins the brokers on this store. Throws BrokerIdHeld if another living broker has the id, else what the store
 * throws.
 */
export async function joinCluster(rooms: ClusterRooms): Promise<Cluster> {
  const { brokerId, clock, expiryMs } = rooms
  const logger = rooms.logger.named('cluster')
  const watches: ClusterWatch[] = []
  const views = viewsOf(brokerId)
  const epochs = await openEpochs(rooms.store, clock, brokerId, rooms.unreadable)
  const follow = async () => {
    try {
      await epochs.follow(views.brokers().map(({ id }) => id))
    } catch (error) {
      if (!isStoreFailure(error)) throw error
      logger.limited('epochs', 10_000).warn('the leader epochs of other brokers cannot be read', { error })
    }
  }
  const membership: Membership = await join({
    ...rooms,
    logger,
    changed(brokers) {
      const before = views.brokers()
      views.set(brokers)
      const ids = brokers.map(each => each.id)
      logger.info(`the living brokers are ${ids.length === 0 ? 'none' : ids.join(', ')}`, {
        came: ids.filter(id => !before.some(each => each.id === id)),
        went: before.filter(each => !ids.includes(each.id)).map(each => each.id),
      })
      for (const watch of watches) watch.changed()
    },
    looked() {
      void follow().catch(rooms.lost)
      for (const watch of watches) watch.looked()
    },
  })
  return {
    ...views,
    incarnation: membership.incarnation,
    get isConfirmed() {
      return membership.isConfirmed
    },
    get hasOthers() {
      return membership.hasOthers
    },
    others: membership.others,
    async stillLeads(topicId, index) {
      await membership.look()
      return views.leads(topicId, index)
    },
    epochOf: epochs.of,
    led: epochs.led,
    forgetTopic(topicId) {
      views.forget(topicId)
      epochs.forget(topicId)
    },
    look: membership.look,
    watch: watch => void watches.push(watch),
    announce: membership.announce,
    async present(certificates) {
      await membership.present(certificates)
      if (membership.hasOthers) await sleep(clock, expiryMs / 4)
    },
    withdraw: membership.withdraw,
    async leave() {
      await membership.leave()
      const others = views.brokers().filter(each => each.id !== brokerId)
      // Each broker looks ten times in an expiry; after that it must open the partitions that it takes over.
      if (others.length > 0) await sleep(clock, expiryMs / 4)
    },
    async close() {
      await membership.close()
      await epochs.close()
    },
  }
}

/**
 * Returns the cluster of a store that only one broker can use. This broker leads every partition, without a request
 * to the store.
 */
export function aloneInCluster(brokerId: number, rack: string | null, version: string | null = null): Cluster {
  const views = viewsOf(brokerId)
  const named = (endpoints: readonly Endpoint[]) =>
    views.set([
      Object.freeze({
        id: brokerId,
        incarnation: '',
        rack,
        endpoints,
        version,
        certificates: [],
        features: FEATURES,
        expiryMs: Number.POSITIVE_INFINITY,
      }),
    ])
  named([])
  return {
    ...views,
    incarnation: '',
    isConfirmed: true,
    hasOthers: false,
    others: () => [],
    stillLeads: async (topicId, index) => views.leads(topicId, index),
    epochOf: () => -1,
    led() {},
    forgetTopic: views.forget,
    look: async () => {},
    watch() {},
    announce: async endpoints => named(endpoints),
    present: async () => {},
    withdraw() {},
    leave: async () => {},
    close: async () => {},
  }
}

function viewsOf(brokerId: number) {
  let living: readonly BrokerInfo[] = []
  let ids: readonly number[] = []
  /** The last topic and its hash, because calls for the partitions of one topic follow each other. */
  let lastTopicId = ''
  let lastHash = 0
  const assigned = new Map<string, Assigned>()

  function hashOfPartition(topicId: string, index: number): number {
    if (topicId !== lastTopicId) {
      lastHash = hashOf(topicId)
      lastTopicId = topicId
    }
    return hashWithin(lastHash, index)
  }

  function leaderOf(topicId: string, index: number): number {
    if (ids.length === 1) return ids[0]!
    const first = assigned.size === 0 ? undefined : assigned.get(topicId)?.[index]?.find(id => ids.includes(id))
    return first ?? drawOf(ids, hashOfPartition(topicId, index))
  }

  return {
    brokerId,
    brokers: () => living,
    leaderOf,
    orderOf: (topicId: string, index: number, others: readonly number[]) =>
      orderOf([...new Set([...ids, ...others])], hashOfPartition(topicId, index)),
    assign(topicId: string, brokerIds: Assigned): void {
      if (Object.keys(brokerIds).length > 0) assigned.set(topicId, brokerIds)
      else assigned.delete(topicId)
    },
    forget: (topicId: string) => void assigned.delete(topicId),
    leads: (topicId: string, index: number) => leaderOf(topicId, index) === brokerId,
    coordinatorOf: (key: string) => drawOf(ids, hashOf(key)),
    set(brokers: readonly BrokerInfo[]): void {
      living = brokers
      ids = brokers.map(each => each.id)
    },
  }
}
