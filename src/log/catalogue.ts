// The catalogue of topics: immutable snapshots, and the keeper that replaces them. The id identifies a topic. After a
// topic was removed, another topic may use its name. The catalogue is one document of the store, with one field for
// each topic. It does not check names, partitions or configs (admin/topics.ts does) and opens no partitions (logs.ts
// does).
//
// A field that cannot be read (it was edited by hand, or a later version wrote it) still counts as a topic. Its name is
// not given to another topic, its streams are not swept, and other data that is kept by its id stays. A broker that had
// read the field before continues with the earlier form. No broker overwrites the field. It is removed when an operator
// deletes the topic by its name.

import { assert } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'
import { type Random, randomUuid } from '../base/random.ts'
import {
  because,
  INVALID_PARTITIONS,
  isRefusal,
  KAFKA_STORAGE_ERROR,
  type Refusal,
  TOPIC_ALREADY_EXISTS,
  UNKNOWN_TOPIC_ID,
} from '../protocol/errors.ts'
import { ZERO_UUID } from '../protocol/schema.ts'
import { matchPattern } from '../settings/patterns.ts'
import type { Settings } from '../settings/settings.ts'
import { resolveTopicConfigs, type TopicConfigs } from '../settings/topic-configs.ts'
import { keepDocument } from '../store/document-keeper.ts'
import type { DocumentKind } from '../store/document-kinds.ts'
import { StoreOpenError } from '../store/open-error.ts'
import { isStoreFailure, type Row, type Store, StoreUnavailable, type StreamId, streamId } from '../store/store.ts'
import { type NameUnreadable, UNNAMED } from '../store/unreadable.ts'

/** The brokers that clients see as the replicas of partitions. In any case there is one log, and it is in the store. */
export interface Placement {
  /** The number of replicas of a partition without assigned brokers. */
  readonly factor: number
  /**
   * The brokers that lived when the topic was created: they stay replicas while they are away. Ascending; empty for the
   * factor 1.
   */
  readonly brokers: readonly number[]
  /** By partition number, the brokers that an operator has assigned: distinct ids, at least one. */
  readonly assigned: Readonly<Record<number, readonly number[]>>
}

/** The placement of a topic that was created without one. */
export const SINGLE: Placement = Object.freeze({
  factor: 1,
  brokers: Object.freeze([]),
  assigned: Object.freeze({}),
})

export interface Topic {
  /** Kafka's form of 22 characters. It is never used again for another topic. */
  readonly id: string
  readonly name: string
  readonly partitions: number
  readonly placement: Placement
  /** The topic's own overrides. */
  readonly configs: Readonly<Record<string, string>>
  /** Configs that were fixed when the topic was created. Later changes of patterns and defaults do not change them. */
  readonly pinned: Readonly<Record<string, string>>
  /** The effective configs: overrides come before pinned configs, then patterns, then defaults. */
  readonly resolved: TopicConfigs
  readonly createdAtMs: number
}

export interface Catalogue {
  readonly clusterId: string
  /** Rises with every change. */
  readonly version: number
  readonly topics: ReadonlyMap<string, Topic>
  readonly topicsById: ReadonlyMap<string, Topic>
  /**
   * Topics whose field in the store cannot be read: the id by the name, null if the id cannot be read either. Topics
   * that this broker had read before are in `topics` too, in their earlier form.
   */
  readonly unreadable: ReadonlyMap<string, string | null>
}

/** Returns whether a topic with an id may exist. If it may, other data of it must stay. */
export function mayExist({ topicsById, unreadable }: Pick<Catalogue, 'topicsById' | 'unreadable'>): {
  has(topicId: string): boolean
} {
  return { has: topicId => unreadable.size > 0 || topicsById.has(topicId) }
}

/** Returns the refusal for a request that names an unreadable topic. */
export function unreadableTopic(name: string): Refusal {
  return because(
    KAFKA_STORAGE_ERROR,
    `The stored description of topic '${name}' cannot be read: a later version wrote it, or it was edited by hand. Its records are kept until the topic is deleted.`,
  )
}

export interface NewTopic {
  readonly name: string
  readonly partitions: number
  /** SINGLE by default. */
  readonly placement?: Placement
  readonly configs: Readonly<Record<string, string>>
}

/** The parts of a topic that may change. The number of partitions never falls. */
export type TopicChange = Partial<Pick<Topic, 'partitions' | 'placement' | 'configs'>>

/**
 * Callbacks for changes. Topics that were added or changed are reported after the commit and before the new snapshot is
 * visible. Topics that were removed are reported when the new snapshot is visible.
 */
export interface CatalogueWatch {
  added?(topics: readonly Topic[]): Promise<void>
  /** The same topics with other configs, other brokers or more partitions. */
  changed?(topics: readonly Topic[]): Promise<void>
  removed(topics: readonly Topic[]): void
  /**
   * The store belongs to another cluster than the one that this broker had joined, because it was emptied or replaced.
   * The lost topics are then reported as removed.
   */
  replaced?(clusterId: { readonly before: string; readonly after: string }, lost: readonly Topic[]): void
}

export interface CatalogueKeeper {
  current(): Catalogue
  /**
   * Adds topics. Resolves with one answer for each topic, in order: the topic, TOPIC_ALREADY_EXISTS, or
   * INVALID_PARTITIONS beyond `max-partitions`. Resolves when the topics are durable, visible and ready for appends.
   * Throws what the store throws; after OutcomeUnknown the topics may exist. With `validateOnly` it creates no topic
   * and gives the same answers.
   */
  add(topics: readonly NewTopic[], options?: { readonly validateOnly: boolean }): Promise<readonly (Topic | Refusal)[]>
  /**
   * Removes topics by id, so that a new topic of the same name is not removed. Resolves with one answer for each id:
   * the topic, or UNKNOWN_TOPIC_ID.
   */
  remove(topicIds: readonly string[]): Promise<readonly (Topic | Refusal)[]>
  /**
   * Deletes unreadable topics by name, with the streams of the topics whose id is known. The sweep of a later start
   * removes the other streams. Resolves with the names that belonged to unreadable topics. Throws what the store
   * throws.
   */
  discard(names: readonly string[]): Promise<ReadonlySet<string>>
  /**
   * Gives topics other overrides, other brokers or more partitions. It calls `decide` with the newest state of each
   * topic, and again if another writer was faster. `decide` must check overrides with checkTopicConfigs. Each id must
   * occur once. Resolves with one answer for each id: the changed topic, the refusal of `decide`, INVALID_PARTITIONS as
   * above, KAFKA_STORAGE_ERROR for an unreadable topic, or UNKNOWN_TOPIC_ID. New partitions then take appends. With
   * `validateOnly` it changes nothing and gives the same answers.
   */
  change(
    topicIds: readonly string[],
    decide: (topic: Topic) => TopicChange | Refusal,
    options?: { readonly validateOnly: boolean },
  ): Promise<readonly (Topic | Refusal)[]>
  /** Adds callbacks. They are called in the order of these calls, each when the one before has finished. */
  watch(watch: CatalogueWatch): void
  /** Whether other brokers can write too. Then a topic that is unknown here may exist. */
  readonly isShared: boolean
  /**
   * Loads the changes that other brokers have made so far. If nothing has changed, this costs one read of a version.
   * Throws what the store throws.
   */
  catchUp(): Promise<void>
}

const KIND: DocumentKind = 'catalogue'
const NAME = 'topics'
const CLUSTER_ID = 'cluster-id'
const TOPIC_PREFIX = 'topic:'

const ONLY_LOST =
  'the catalogue is gone from the store, but the partitions that it named are still there: a person or a program deleted or replaced the data of this broker ' +
  'there; bring it back from a copy, or delete the partitions too to begin anew'

/** The delay before a failed removal of streams is tried again. */
const REMOVE_AGAIN_MS = 1_000

/**
 * Loads the catalogue, or creates the cluster id of a new store. Removes streams that no topic owns, unless another
 * broker may be creating their topic. On a shared store `isAlone` returns whether there is no other broker. It is
 * called after the streams were found.
 */
export async function openCatalogue(
  store: Store,
  settings: Settings,
  clock: Clock,
  random: Random,
  isAlone: (() => Promise<boolean>) | null = null,
  name: NameUnreadable = UNNAMED,
): Promise<CatalogueKeeper> {
  const reading = { store, settings, name }
  const streams = await store.streams()
  const loaded = await load(reading)
  // The sweep would treat these streams as the rest of an unfinished creation.
  if (loaded === null && (await hasAny(store, streams))) throw new StoreOpenError(ONLY_LOST)
  const first = await sweep(loaded ?? (await found(reading, random)))

  const watches: CatalogueWatch[] = []
  /** Streams that no longer belong to a topic and that could not be removed. */
  const leftovers = new Set<StreamId>()
  let isRemovalDue = false

  const keeper = keepDocument(
    { store, clock, random },
    {
      kind: KIND,
      name: NAME,
      what: 'the list of topics',
      isShared: true,
      load: async before => (await load(reading, before)) ?? (await beginAnew(before)),
      async adopting(next, before) {
        const { added, changed, removed } = differenceOf(next, before)
        if (next.clusterId !== before.clusterId && before.clusterId !== ZERO_UUID) {
          const clusterIds = { before: before.clusterId, after: next.clusterId }
          for (const watch of watches) watch.replaced?.(clusterIds, removed)
        }
        for (const watch of watches) {
          if (added.length > 0) await watch.added?.(added)
          if (changed.length > 0) await watch.changed?.(changed)
        }
      },
      adopted(next, before) {
        const { removed } = differenceOf(next, before)
        if (removed.length === 0) return
        for (const watch of watches) watch.removed(removed)
        // The broker that removed them may have ended before their streams were gone.
        for (const stream of removed.flatMap(streamsOf)) leftovers.add(stream)
        removeLater()
      },
    },
    first,
  )

  /**
   * Creates the catalogue of an emptied store. A store that has lost only its catalogue does not count as emptied: if
   * the operator restores the catalogue, nothing is lost. Then it throws StoreUnavailable.
   */
  async function beginAnew(before: Catalogue): Promise<Catalogue> {
    if (await hasAny(store, [...before.topicsById.values()].flatMap(streamsOf))) throw new StoreUnavailable(ONLY_LOST)
    return await found(reading, random)
  }

  /**
   * Removes the streams of an unfinished creation or removal. The version rises first. So a broker that was paused
   * between creating streams and naming their topic notices the change and creates the streams again.
   */
  async function sweep(catalogue: Catalogue): Promise<Catalogue> {
    // Any of the streams may belong to a topic that cannot be read.
    if (catalogue.unreadable.size > 0) return catalogue
    const owned = new Set([...catalogue.topics.values()].flatMap(streamsOf))
    const orphans = streams.filter(stream => !owned.has(stream))
    if (orphans.length === 0 || (isAlone !== null && !(await isAlone()))) return catalogue
    const outcome = await store.commit({ kind: KIND, name: NAME, expect: catalogue.version, changes: [] })
    if (outcome.kind === 'conflict') return catalogue
    await store.remove(orphans)
    return { ...catalogue, version: outcome.version }
  }

  /**
   * Returns a function that refuses a topic if there is no room for this many more partitions. If there is room, it
   * counts them for later topics of the same change.
   */
  function roomForPartitions({ topicsById }: Catalogue): (name: string, growth: number) => Refusal | null {
    const limit = settings.get('max-partitions')
    let count = 0
    for (const { partitions } of topicsById.values()) count += partitions
    return (name, growth) => {
      if (growth > 0 && count + growth > limit) {
        const why = `Topic '${name}' would bring the partitions of all topics from ${count} to ${count + growth}`
        return because(INVALID_PARTITIONS, `${why}; svc.max-partitions is ${limit}.`)
      }
      count += growth
      return null
    }
  }

  /**
   * Removes streams that no topic owns. If the removal fails, it is tried again, and the next start sweeps the streams.
   */
  async function removeStreams(streams: readonly StreamId[] = []): Promise<void> {
    for (const stream of streams) leftovers.add(stream)
    const trying = [...leftovers]
    if (trying.length === 0) return
    try {
      await store.remove(trying)
      for (const stream of trying) leftovers.delete(stream)
    } catch (error) {
      removeLater()
      if (!isStoreFailure(error)) throw error
    }
  }

  function removeLater(): void {
    if (isRemovalDue) return
    isRemovalDue = true
    clock.timer(REMOVE_AGAIN_MS, () => {
      isRemovalDue = false
      void removeStreams()
    })
  }

  return {
    current: keeper.current,

    async add(requested, { validateOnly } = { validateOnly: false }) {
      const createdAtMs = clock.now()
      const candidates = requested.map(topic => makeTopic(randomUuid(random), topic, createdAtMs, settings))
      const made = new Set<Topic>()
      const answers = await keeper.change<readonly (Topic | Refusal)[]>(async now => {
        const names = new Set<string>()
        const refusedFor = roomForPartitions(now)
        const answer = candidates.map(topic => {
          if (now.topicsById.has(topic.id)) return topic
          if (now.topics.has(topic.name) || names.has(topic.name)) {
            return because(TOPIC_ALREADY_EXISTS, `Topic '${topic.name}' already exists.`)
          }
          if (now.unreadable.has(topic.name)) return because(TOPIC_ALREADY_EXISTS, unreadableTopic(topic.name).message)
          const refusal = refusedFor(topic.name, topic.partitions)
          if (refusal !== null) return refusal
          names.add(topic.name)
          return topic
        })
        const fresh = answer.filter(isTopic).filter(topic => !now.topicsById.has(topic.id))
        if (validateOnly || fresh.length === 0) return { answer }
        // Streams first: a topic that is named has its streams, and streams without a topic are swept at start.
        await store.create(fresh.flatMap(streamsOf))
        for (const topic of fresh) made.add(topic)
        return {
          answer,
          write: {
            changes: fresh.map(fieldOf),
            isMade: ({ topicsById }) => fresh.every(topic => topicsById.has(topic.id)),
            after: version => withTopics(now, version, [...now.topics.values(), ...fresh]),
          },
        }
      })
      const lost = [...made].filter(topic => !keeper.current().topicsById.has(topic.id))
      if (lost.length > 0) await removeStreams(lost.flatMap(streamsOf))
      return answers
    },

    async remove(topicIds) {
      const wanted = new Set(topicIds)
      const gone = new Map<string, Topic>()
      await keeper.change(now => {
        const doomed = [...wanted].flatMap(id => now.topicsById.get(id) ?? [])
        for (const topic of doomed) gone.set(topic.id, topic)
        if (doomed.length === 0) return { answer: null }
        const rest = [...now.topics.values()].filter(topic => !wanted.has(topic.id))
        const left = readable(now, new Set(doomed.map(({ name }) => name)))
        return {
          answer: null,
          write: {
            changes: doomed.map(topic => ({ key: TOPIC_PREFIX + topic.name, value: null })),
            isMade: ({ topicsById }) => doomed.every(topic => !topicsById.has(topic.id)),
            after: version => withTopics(left, version, rest),
          },
        }
      })
      await removeStreams([...gone.values()].flatMap(streamsOf))
      return topicIds.map(id => gone.get(id) ?? unknownId(id))
    },

    async discard(names) {
      const gone = new Map<string, string | null>()
      await keeper.change(now => {
        const doomed = names.filter(each => now.unreadable.has(each) && !now.topics.has(each))
        for (const each of doomed) gone.set(each, now.unreadable.get(each)!)
        if (doomed.length === 0) return { answer: null }
        const left = readable(now, new Set(doomed))
        return {
          answer: null,
          write: {
            changes: doomed.map(each => ({ key: TOPIC_PREFIX + each, value: null })),
            isMade: ({ unreadable }) => doomed.every(each => !unreadable.has(each)),
            after: version => withTopics(left, version, [...now.topics.values()]),
          },
        }
      })
      const ids = new Set([...gone.values()].filter(id => id !== null))
      if (ids.size > 0) await removeStreams((await store.streams()).filter(each => ids.has(topicIdOf(each))))
      return new Set(gone.keys())
    },

    change: (topicIds, decide, { validateOnly } = { validateOnly: false }) =>
      keeper.change<readonly (Topic | Refusal)[]>(async now => {
        const refusedFor = roomForPartitions(now)
        const answer = topicIds.map(id => {
          const topic = now.topicsById.get(id)
          if (topic === undefined) return unknownId(id)
          if (now.unreadable.has(topic.name)) return unreadableTopic(topic.name)
          const change = decide(topic)
          if (isRefusal(change)) return change
          const growth = (change.partitions ?? topic.partitions) - topic.partitions
          return refusedFor(topic.name, growth) ?? withChange(topic, change, settings)
        })
        const changed = answer.filter(isTopic).filter(topic => !isSame(topic, now.topicsById.get(topic.id)!))
        if (validateOnly || changed.length === 0) return { answer }
        // Streams first, as for a new topic.
        const fresh = changed.flatMap(topic => streamsOf(topic).slice(now.topicsById.get(topic.id)!.partitions))
        if (fresh.length > 0) await store.create(fresh)
        return {
          answer,
          write: {
            changes: changed.map(fieldOf),
            isMade: ({ topicsById }) =>
              changed.every(topic => {
                const known = topicsById.get(topic.id)
                return known !== undefined && isSame(topic, known)
              }),
            after(version) {
              const byId = new Map([...now.topicsById, ...changed.map(topic => [topic.id, topic] as const)])
              return withTopics(now, version, [...byId.values()])
            },
          },
        }
      }),

    watch: watch => void watches.push(watch),

    isShared: isAlone !== null,

    catchUp: keeper.catchUp,
  }
}

/** Returns the topics that were added, changed and removed between two snapshots. */
function differenceOf(next: Catalogue, before: Catalogue) {
  const topics = [...next.topicsById.values()]
  return {
    added: topics.filter(topic => !before.topicsById.has(topic.id)),
    /** The same topics with other configs, other brokers or more partitions. */
    changed: topics.filter(topic => {
      const known = before.topicsById.get(topic.id)
      return known !== undefined && !isSame(known, topic)
    }),
    removed: [...before.topicsById.values()].filter(topic => !next.topicsById.has(topic.id)),
  }
}

export function streamsOf(topic: Topic): StreamId[] {
  return Array.from({ length: topic.partitions }, (_, index) => streamId(topic.id, index))
}

function topicIdOf(stream: StreamId): string {
  return stream.slice(0, stream.lastIndexOf(':'))
}

/** Returns the catalogue after these topics were written or deleted: they are no longer unreadable. */
function readable(catalogue: Catalogue, names: ReadonlySet<string>): Catalogue {
  return { ...catalogue, unreadable: new Map([...catalogue.unreadable].filter(([name]) => !names.has(name))) }
}

function isTopic(answer: Topic | Refusal): answer is Topic {
  return 'id' in answer
}

/** Returns whether both have the same stored form. */
function isSame(one: Topic, other: Topic): boolean {
  return one === other || encodeTopic(one).equals(encodeTopic(other))
}

function unknownId(id: string): Refusal {
  return because(UNKNOWN_TOPIC_ID, `There is no topic with the id ${JSON.stringify(id)}.`)
}

function makeTopic(id: string, topic: NewTopic, createdAtMs: number, settings: Settings): Topic {
  const resolved = resolveTopicConfigs(topic.configs, matchPattern(settings, topic.name), settings)
  const pinned = Object.freeze({ 'storage.compression.type': resolved.storageCompressionType })
  const { name, partitions, placement = SINGLE } = topic
  const configs = Object.freeze({ ...topic.configs })
  return Object.freeze({ id, name, partitions, placement, configs, pinned, resolved, createdAtMs })
}

function withChange(topic: Topic, change: TopicChange, settings: Settings): Topic {
  const { partitions = topic.partitions, placement = topic.placement, configs } = change
  assert(partitions >= topic.partitions, `topic '${topic.name}' would lose partitions`)
  if (configs === undefined) return Object.freeze({ ...topic, partitions, placement })
  const resolved = resolveTopicConfigs({ ...topic.pinned, ...configs }, matchPattern(settings, topic.name), settings)
  return Object.freeze({ ...topic, partitions, placement, configs: Object.freeze({ ...configs }), resolved })
}

function withTopics(
  { clusterId, unreadable }: Pick<Catalogue, 'clusterId' | 'unreadable'>,
  version: number,
  topics: readonly Topic[],
): Catalogue {
  return Object.freeze({
    clusterId,
    version,
    topics: new Map(topics.map(topic => [topic.name, topic])),
    topicsById: new Map(topics.map(topic => [topic.id, topic])),
    unreadable,
  })
}

interface Reading {
  readonly store: Store
  readonly settings: Settings
  readonly name: NameUnreadable
}

/**
 * Loads the catalogue; null if the store has no catalogue. Reuses the topics of `before` that have not changed (usually
 * nearly all of them), and those whose field can no longer be read.
 */
async function load({ store, settings, name: tell }: Reading, before?: Catalogue): Promise<Catalogue | null> {
  const document = await store.load(KIND, NAME)
  if (document === null) return null
  const topics: Topic[] = []
  const unreadable = new Map<string, string | null>()
  for (const [key, value] of document.fields) {
    if (!key.startsWith(TOPIC_PREFIX)) continue
    const name = key.slice(TOPIC_PREFIX.length)
    const known = before?.topics.get(name)
    if (known !== undefined && encodeTopic(known).equals(value)) {
      topics.push(known)
      continue
    }
    try {
      topics.push(decodeTopic(name, value, settings))
    } catch (why) {
      const id = idIn(value)
      const isKnown = known !== undefined && (id ?? known.id) === known.id
      if (isKnown) topics.push(known)
      unreadable.set(name, isKnown ? known.id : id)
      const result = isKnown
        ? 'this broker goes on with what it read before and refuses to change it, until it is repaired or the topic is deleted'
        : 'clients cannot use it, its records are kept, and the name is not given again, until it is repaired or the topic is deleted'
      tell({ kind: KIND, what: `the entry of topic ${JSON.stringify(name)} in the catalogue`, why, result })
    }
  }
  const clusterId = clusterIdIn(document.fields.get(CLUSTER_ID))
  if (clusterId === null) {
    const result = 'clients are told the id that this broker knew before, or none'
    tell({ kind: KIND, what: 'the cluster id in the catalogue', why: 'it is no id', result })
  }
  return withTopics({ clusterId: clusterId ?? before?.clusterId ?? ZERO_UUID, unreadable }, document.version, topics)
}

function clusterIdIn(value: Uint8Array | undefined): string | null {
  const text = Buffer.from(value ?? []).toString()
  return UUID.test(text) ? text : null
}

/** How many streams are requested at once. */
const ASK_AT_ONCE = 1_000

async function hasAny(store: Store, streams: readonly StreamId[]): Promise<boolean> {
  for (let at = 0; at < streams.length; at += ASK_AT_ONCE) {
    const some = streams.slice(at, at + ASK_AT_ONCE)
    const answers = await Promise.all(some.map(stream => store.read(stream, 0, { maxBytes: 1, until: 0 })))
    if (answers.some(({ kind }) => kind !== 'gone')) return true
  }
  return false
}

async function found(reading: Reading, random: Random): Promise<Catalogue> {
  const value = Buffer.from(randomUuid(random))
  await reading.store.commit({ kind: KIND, name: NAME, expect: 0, changes: [{ key: CLUSTER_ID, value }] })
  // Read it again, because the first broker that committed has decided the id.
  const catalogue = await load(reading)
  assert(catalogue !== null, 'the catalogue that was just made is gone from the store')
  return catalogue
}

// The field of a topic: JSON of { id, partitions, configs, pinned, createdAtMs, placement }, without `placement` if it
// is SINGLE.

function fieldOf(topic: Topic): Row {
  return { key: TOPIC_PREFIX + topic.name, value: encodeTopic(topic) }
}

function encodeTopic({ id, partitions, configs, pinned, createdAtMs, placement }: Topic): Buffer {
  const isSingle = placement.factor === 1 && Object.keys(placement.assigned).length === 0
  const told = { id, partitions, configs, pinned, createdAtMs }
  return Buffer.from(JSON.stringify(isSingle ? told : { ...told, placement }))
}

const UUID = /^[\w-]{22}$/

/**
 * The most partitions that the settings can allow. Every partition takes memory before the broker knows anything about
 * it.
 */
const MOST_PARTITIONS = 100_000

/** Decodes the field of a topic. Throws if it does not have the form that `encodeTopic` writes. */
function decodeTopic(name: string, value: Uint8Array, settings: Settings): Topic {
  const stored = JSON.parse(Buffer.from(value).toString()) as Omit<Topic, 'placement'> & { placement?: Placement }
  const { id, partitions, configs, pinned = {}, createdAtMs, placement = SINGLE } = stored
  const isKnown =
    UUID.test(id) &&
    Number.isSafeInteger(partitions) &&
    partitions > 0 &&
    partitions <= MOST_PARTITIONS &&
    isTexts(configs) &&
    isTexts(pinned) &&
    isPlacement(placement) &&
    Number.isSafeInteger(createdAtMs)
  if (!isKnown) throw new Error('it has no id, partitions and configs in a form that this version knows')
  const resolved = resolveTopicConfigs({ ...pinned, ...configs }, matchPattern(settings, name), settings)
  return Object.freeze({ id, name, partitions, placement, configs, pinned, resolved, createdAtMs })
}

function isPlacement({ factor, brokers, assigned }: Placement): boolean {
  const areIds = (ids: unknown) => Array.isArray(ids) && ids.every(id => Number.isSafeInteger(id) && id >= 0)
  if (!Number.isSafeInteger(factor) || factor < 1 || !areIds(brokers)) return false
  if (typeof assigned !== 'object' || assigned === null) return false
  return Object.values(assigned).every(ids => areIds(ids) && ids.length > 0)
}

function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  return typeof value === 'object' && value !== null && Object.values(value).every(each => typeof each === 'string')
}

/** Returns the topic's id if at least the id can be read, else null. */
function idIn(value: Uint8Array): string | null {
  try {
    const { id } = JSON.parse(Buffer.from(value).toString()) as Topic
    return UUID.test(id) ? id : null
  } catch {
    return null
  }
}
