// Which topics there are: immutable snapshots, and the keeper that replaces them. A topic is its id; its name may be used
// again after removal, by another topic. Rests in one document of the store, one field for each topic. It decides no
// rules of names, partitions or configs (admin/topics.ts does) and opens no partitions (logs.ts does).
//
// A field that cannot be read (a bad hand, a later version) is still a topic: its name is not given again, its streams are not
// swept, what others keep for it by its id stays. A broker that read it before goes on with what it read. It is written over by
// nobody, and gone once somebody deletes the topic by its name.

import { assert } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'
import { coalesce } from '../base/coalesce.ts'
import { workInTurn } from '../base/in-turn.ts'
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
import { contend, LOST } from '../store/contention.ts'
import type { DocumentKind } from '../store/document-kinds.ts'
import { StoreOpenError } from '../store/open-error.ts'
import {
  isStoreFailure,
  OutcomeUnknown,
  type Row,
  type Store,
  StoreUnavailable,
  type StreamId,
  streamId,
} from '../store/store.ts'
import { type NameUnreadable, UNNAMED } from '../store/unreadable.ts'

/**
 * Which brokers clients are shown as the replicas of partitions. There is one log, which rests in the store, whatever this says.
 */
export interface Placement {
  /** How many brokers a partition has that has none assigned. */
  readonly factor: number
  /** Those that lived when the topic was made: they stay replicas while they are away. Ascending; empty for the factor 1. */
  readonly brokers: readonly number[]
  /** By the numbers of partitions, what somebody has assigned: distinct ids, at least one. */
  readonly assigned: Readonly<Record<number, readonly number[]>>
}

/** The placement of a topic that was not asked for another. */
export const SINGLE: Placement = Object.freeze({
  factor: 1,
  brokers: Object.freeze([]),
  assigned: Object.freeze({}),
})

export interface Topic {
  /** Kafka's 22-character form; never used again for another topic. */
  readonly id: string
  readonly name: string
  readonly partitions: number
  readonly placement: Placement
  /** The topic's own overrides. */
  readonly configs: Readonly<Record<string, string>>
  /** What was fixed when the topic was created, whatever patterns and defaults say later. */
  readonly pinned: Readonly<Record<string, string>>
  /** Overrides over pinned over patterns over defaults. */
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
   * Topics of which the store holds something that cannot be read: the id by the name, null where not even that is known. Those
   * that this broker had read before are among `topics` too, as they were then.
   */
  readonly unreadable: ReadonlyMap<string, string | null>
}

/** Whether there may be a topic of this id: what is kept for it elsewhere must stay. */
export function mayExist({ topicsById, unreadable }: Pick<Catalogue, 'topicsById' | 'unreadable'>): {
  has(topicId: string): boolean
} {
  return { has: topicId => unreadable.size > 0 || topicsById.has(topicId) }
}

/** The refusal for a request that names a topic that cannot be read. */
export function unreadableTopic(name: string): Refusal {
  return because(
    KAFKA_STORAGE_ERROR,
    `What is stored of topic '${name}' cannot be read: a later version or a bad hand wrote it. Its records are kept until somebody deletes the topic.`,
  )
}

export interface NewTopic {
  readonly name: string
  readonly partitions: number
  /** SINGLE where it is left out. */
  readonly placement?: Placement
  readonly configs: Readonly<Record<string, string>>
}

/** What of a topic may change. There are never fewer partitions. */
export type TopicChange = Partial<Pick<Topic, 'partitions' | 'placement' | 'configs'>>

/** Told of changes between their commit and the moment when the new snapshot is seen, of removals after it. */
export interface CatalogueWatch {
  added?(topics: readonly Topic[]): Promise<void>
  /** The same topics with other configs, other brokers or more partitions. */
  changed?(topics: readonly Topic[]): Promise<void>
  removed(topics: readonly Topic[]): void
  /**
   * The store is another cluster than the one that this broker had joined: it was emptied, or another one took its place. What is
   * lost is told of as removed afterwards.
   */
  replaced?(clusterId: { readonly before: string; readonly after: string }, lost: readonly Topic[]): void
}

export interface CatalogueKeeper {
  current(): Catalogue
  /**
   * One answer for each topic, in order: the topic, TOPIC_ALREADY_EXISTS, or INVALID_PARTITIONS beyond `max-partitions`. Resolves when the topics are durable, seen and
   * ready for appends. Throws what the store throws; after OutcomeUnknown the topics may exist. With `validateOnly` nothing is made,
   * and the answers are the same.
   */
  add(topics: readonly NewTopic[], options?: { readonly validateOnly: boolean }): Promise<readonly (Topic | Refusal)[]>
  /** By id, so that a topic made again under the name is not hit. One answer for each: the topic, or UNKNOWN_TOPIC_ID. */
  remove(topicIds: readonly string[]): Promise<readonly (Topic | Refusal)[]>
  /**
   * Deletes topics that cannot be read, by name, with the streams of those whose id is known (the sweep of a later start finds
   * the others'). Resolves to the names that were such topics. Throws what the store throws.
   */
  discard(names: readonly string[]): Promise<ReadonlySet<string>>
  /**
   * Gives topics other overrides, other brokers or more partitions. `decide` is asked what they shall be with the newest state of each topic,
   * and asked again when another writer was faster; it must be checkTopicConfigs that let overrides pass. One answer for each
   * id, which occurs once: the topic as it is now, what `decide` refused with, INVALID_PARTITIONS as above, or UNKNOWN_TOPIC_ID. New partitions take
   * appends by then. With `validateOnly` nothing is changed, and the answers are the same.
   */
  change(
    topicIds: readonly string[],
    decide: (topic: Topic) => TopicChange | Refusal,
    options?: { readonly validateOnly: boolean },
  ): Promise<readonly (Topic | Refusal)[]>
  /** In the order in which they began: each is told when the one before has done its part. */
  watch(watch: CatalogueWatch): void
  /** Whether others can write too, so that what is unknown here may be theirs. */
  readonly isShared: boolean
  /**
   * Takes over what others have written, as of now and not earlier. Costs one look at a version where nothing has changed.
   * Throws what the store throws.
   */
  catchUp(): Promise<void>
}

/** What one snapshot has beside the one before. */
interface Difference {
  readonly added?: readonly Topic[]
  readonly changed?: readonly Topic[]
  readonly removed?: readonly Topic[]
}

const KIND: DocumentKind = 'catalogue'
const NAME = 'topics'
const CLUSTER_ID = 'cluster-id'
const TOPIC_PREFIX = 'topic:'

const ONLY_LOST =
  'the catalogue is gone from the store, and the partitions that it named are not: somebody deleted or replaced what this broker keeps ' +
  'there; bring it back from a copy, or delete the partitions too to begin anew'

/** How long it takes to look again after the store did not say what became of a change. */
const REFRESH_MS = 1_000

/**
 * Loads the catalogue, or makes the cluster id of a new store. Streams that no topic owns are removed if nobody else is there
 * who may be making their topic. On a store that others use too `isAlone` says that; it is asked after they were found.
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
  // They would be swept as what a creation left half done.
  if (loaded === null && (await hasAny(store, streams))) throw new StoreOpenError(ONLY_LOST)
  let catalogue = loaded ?? (await found(reading, random))
  await sweep()

  const watches: CatalogueWatch[] = []
  /** Set while the document may say something else than the snapshot. */
  let isStale = false
  /** Streams that no topic owns any more and that could not be removed. */
  const leftovers = new Set<StreamId>()
  let isRemovalDue = false

  /** Changes go one after the other: each is decided on what the one before left. */
  const inTurn = workInTurn()

  async function refresh(): Promise<void> {
    const loaded = (await load(reading, catalogue)) ?? (await beginAnew())
    const added = [...loaded.topicsById.values()].filter(topic => !catalogue.topicsById.has(topic.id))
    const changed = [...loaded.topicsById.values()].filter(topic => {
      const known = catalogue.topicsById.get(topic.id)
      return known !== undefined && !isSame(known, topic)
    })
    const removed = [...catalogue.topicsById.values()].filter(topic => !loaded.topicsById.has(topic.id))
    const { clusterId: before } = catalogue
    const { clusterId: after } = loaded
    if (after !== before && before !== ZERO_UUID)
      for (const watch of watches) watch.replaced?.({ before, after }, removed)
    await publish(loaded, { added, changed, removed })
    for (const stream of removed.flatMap(streamsOf)) leftovers.add(stream)
    // Whoever removed them may have died before their streams had gone.
    if (removed.length > 0) removeLater()
    isStale = false
  }

  /** An emptied store is a new one. One that has lost the catalogue alone is not: whoever brings that back has lost nothing. */
  async function beginAnew(): Promise<Catalogue> {
    if (await hasAny(store, [...catalogue.topicsById.values()].flatMap(streamsOf)))
      throw new StoreUnavailable(ONLY_LOST)
    return await found(reading, random)
  }

  /** Looks again until the snapshot is what the store has, unless the next change is faster. */
  function refreshLater(): void {
    const again = async () => {
      if (isStale) await refresh()
    }
    clock.timer(REFRESH_MS, () => void inTurn(again).catch(refreshLater))
  }

  async function publish(next: Catalogue, { added = [], changed = [], removed = [] }: Difference): Promise<void> {
    for (const watch of watches) {
      if (added.length > 0) await watch.added?.(added)
      if (changed.length > 0) await watch.changed?.(changed)
    }
    catalogue = next
    if (removed.length > 0) for (const watch of watches) watch.removed(removed)
  }

  /**
   * What a creation or a removal left half done. The version rises before anything is removed, so that whoever was stopped
   * between making streams and naming their topic finds out and makes them again.
   */
  async function sweep(): Promise<void> {
    // Any of them may belong to a topic that cannot be read.
    if (catalogue.unreadable.size > 0) return
    const owned = new Set([...catalogue.topics.values()].flatMap(streamsOf))
    const orphans = streams.filter(stream => !owned.has(stream))
    if (orphans.length === 0 || (isAlone !== null && !(await isAlone()))) return
    const outcome = await store.commit({ kind: KIND, name: NAME, expect: catalogue.version, changes: [] })
    if (outcome.kind === 'conflict') return
    catalogue = { ...catalogue, version: outcome.version }
    await store.remove(orphans)
  }

  /** Whether there is room for so many partitions more; what fits is counted for those that come after it in the same change. */
  function roomForPartitions(): (name: string, growth: number) => Refusal | null {
    const limit = settings.get('max-partitions')
    let count = 0
    for (const { partitions } of catalogue.topicsById.values()) count += partitions
    return (name, growth) => {
      if (growth > 0 && count + growth > limit) {
        const why = `Topic '${name}' would bring the partitions of all topics from ${count} to ${count + growth}`
        return because(INVALID_PARTITIONS, `${why}; svc.max-partitions is ${limit}.`)
      }
      count += growth
      return null
    }
  }

  /** Commits rows onto the current version; null when the decision must be made again on a fresh snapshot. */
  async function commit(changes: readonly Row[], isDone: () => boolean): Promise<number | null> {
    try {
      const outcome = await store.commit({ kind: KIND, name: NAME, expect: catalogue.version, changes })
      if (outcome.kind === 'committed') return outcome.version
    } catch (error) {
      if (!(error instanceof OutcomeUnknown)) throw error
    }
    isStale = true
    try {
      await refresh()
    } catch (error) {
      refreshLater()
      throw error
    }
    return isDone() ? catalogue.version : null
  }

  /** No topic owns these streams whatever comes of this: what fails is tried again, and swept at the next start. */
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
    clock.timer(REFRESH_MS, () => {
      isRemovalDue = false
      void inTurn(() => removeStreams())
    })
  }

  async function attempt<T>(once: () => Promise<T | typeof LOST>): Promise<T> {
    return await contend({ clock, random }, 'the list of topics', async () => {
      if (isStale) await refresh()
      return await once()
    })
  }

  return {
    current: () => catalogue,

    add: (requested, { validateOnly } = { validateOnly: false }) =>
      inTurn(() => {
        const createdAtMs = clock.now()
        const candidates = requested.map(topic => makeTopic(randomUuid(random), topic, createdAtMs, settings))
        const made = new Set<Topic>()
        return attempt(async () => {
          const names = new Set<string>()
          const refusedFor = roomForPartitions()
          const answers = candidates.map(topic => {
            if (catalogue.topicsById.has(topic.id)) return topic
            if (catalogue.topics.has(topic.name) || names.has(topic.name)) {
              return because(TOPIC_ALREADY_EXISTS, `Topic '${topic.name}' already exists.`)
            }
            if (catalogue.unreadable.has(topic.name))
              return because(TOPIC_ALREADY_EXISTS, unreadableTopic(topic.name).message)
            const refusal = refusedFor(topic.name, topic.partitions)
            if (refusal !== null) return refusal
            names.add(topic.name)
            return topic
          })
          if (validateOnly) return answers
          const fresh = answers.filter(isTopic).filter(topic => !catalogue.topicsById.has(topic.id))
          if (fresh.length > 0) {
            // Streams first: a topic that is named has its streams, and streams without a topic are swept at start.
            await store.create(fresh.flatMap(streamsOf))
            for (const topic of fresh) made.add(topic)
            const version = await commit(fresh.map(fieldOf), () =>
              fresh.every(topic => catalogue.topicsById.has(topic.id)),
            )
            if (version === null) return LOST
            if (version !== catalogue.version) {
              await publish(withTopics(catalogue, version, [...catalogue.topics.values(), ...fresh]), { added: fresh })
            }
          }
          const lost = [...made].filter(topic => !catalogue.topicsById.has(topic.id))
          if (lost.length > 0) await removeStreams(lost.flatMap(streamsOf))
          return answers
        })
      }),

    remove: topicIds =>
      inTurn(() => {
        const gone = new Map<string, Topic>()
        return attempt(async () => {
          const wanted = new Set(topicIds)
          const doomed = [...wanted].flatMap(id => catalogue.topicsById.get(id) ?? [])
          for (const topic of doomed) gone.set(topic.id, topic)
          if (doomed.length > 0) {
            const version = await commit(
              doomed.map(topic => ({ key: TOPIC_PREFIX + topic.name, value: null })),
              () => doomed.every(topic => !catalogue.topicsById.has(topic.id)),
            )
            if (version === null) return LOST
            if (version !== catalogue.version) {
              const rest = [...catalogue.topics.values()].filter(topic => !wanted.has(topic.id))
              const left = readable(catalogue, new Set(doomed.map(({ name }) => name)))
              await publish(withTopics(left, version, rest), { removed: doomed })
            }
          }
          await removeStreams([...gone.values()].flatMap(streamsOf))
          return topicIds.map(id => gone.get(id) ?? unknownId(id))
        })
      }),

    discard: names =>
      inTurn(() => {
        const gone = new Map<string, string | null>()
        return attempt(async () => {
          const doomed = names.filter(each => catalogue.unreadable.has(each) && !catalogue.topics.has(each))
          for (const each of doomed) gone.set(each, catalogue.unreadable.get(each)!)
          if (doomed.length > 0) {
            const version = await commit(
              doomed.map(each => ({ key: TOPIC_PREFIX + each, value: null })),
              () => doomed.every(each => !catalogue.unreadable.has(each)),
            )
            if (version === null) return LOST
            if (version !== catalogue.version) {
              const left = readable(catalogue, new Set(doomed))
              await publish(withTopics(left, version, [...catalogue.topics.values()]), {})
            }
          }
          const ids = new Set([...gone.values()].filter(id => id !== null))
          if (ids.size > 0) await removeStreams((await store.streams()).filter(each => ids.has(topicIdOf(each))))
          return new Set(gone.keys())
        })
      }),

    change: (topicIds, decide, { validateOnly } = { validateOnly: false }) =>
      inTurn(() =>
        attempt(async () => {
          const refusedFor = roomForPartitions()
          const answers = topicIds.map(id => {
            const topic = catalogue.topicsById.get(id)
            if (topic === undefined) return unknownId(id)
            if (catalogue.unreadable.has(topic.name)) return unreadableTopic(topic.name)
            const change = decide(topic)
            if (isRefusal(change)) return change
            const growth = (change.partitions ?? topic.partitions) - topic.partitions
            return refusedFor(topic.name, growth) ?? withChange(topic, change, settings)
          })
          if (validateOnly) return answers
          const changed = answers.filter(isTopic).filter(topic => !isSame(topic, catalogue.topicsById.get(topic.id)!))
          // What changes nothing that is known here may change what another broker has stored a moment ago.
          if (changed.length === 0 && isAlone !== null && (await store.version(KIND, NAME)) !== catalogue.version) {
            isStale = true
            return LOST
          }
          if (changed.length > 0) {
            // Streams first, as for a new topic.
            const fresh = changed.flatMap(topic =>
              streamsOf(topic).slice(catalogue.topicsById.get(topic.id)!.partitions),
            )
            if (fresh.length > 0) await store.create(fresh)
            const version = await commit(changed.map(fieldOf), () =>
              changed.every(topic => {
                const known = catalogue.topicsById.get(topic.id)
                return known !== undefined && isSame(topic, known)
              }),
            )
            if (version === null) return LOST
            if (version !== catalogue.version) {
              const byId = new Map([...catalogue.topicsById, ...changed.map(topic => [topic.id, topic] as const)])
              await publish(withTopics(catalogue, version, [...byId.values()]), { changed })
            }
          }
          return answers
        }),
      ),

    watch: watch => void watches.push(watch),

    isShared: isAlone !== null,

    catchUp: coalesce(() =>
      inTurn(async () => {
        if (isStale || (await store.version(KIND, NAME)) !== catalogue.version) await refresh()
      }),
    ),
  }
}

export function streamsOf(topic: Topic): StreamId[] {
  return Array.from({ length: topic.partitions }, (_, index) => streamId(topic.id, index))
}

function topicIdOf(stream: StreamId): string {
  return stream.slice(0, stream.lastIndexOf(':'))
}

/** The same, where these topics have been written or deleted. */
function readable(catalogue: Catalogue, names: ReadonlySet<string>): Catalogue {
  return { ...catalogue, unreadable: new Map([...catalogue.unreadable].filter(([name]) => !names.has(name))) }
}

function isTopic(answer: Topic | Refusal): answer is Topic {
  return 'id' in answer
}

/** Whether the store would hold the same of both. */
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

/** Takes over from `before` the topics that are as they were there, mostly nearly all of them, and those that cannot be read. */
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
      tell({ kind: KIND, what: `what the catalogue holds of topic ${JSON.stringify(name)}`, why, result })
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

/** How many streams are asked for at once. */
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
  // Read back: whoever was first has decided the id.
  const catalogue = await load(reading)
  assert(catalogue !== null, 'the catalogue that was just made is gone from the store')
  return catalogue
}

// A topic's field: JSON of { id, partitions, configs, pinned, createdAtMs, placement }, without `placement` where it is SINGLE.

function fieldOf(topic: Topic): Row {
  return { key: TOPIC_PREFIX + topic.name, value: encodeTopic(topic) }
}

function encodeTopic({ id, partitions, configs, pinned, createdAtMs, placement }: Topic): Buffer {
  const isSingle = placement.factor === 1 && Object.keys(placement.assigned).length === 0
  const told = { id, partitions, configs, pinned, createdAtMs }
  return Buffer.from(JSON.stringify(isSingle ? told : { ...told, placement }))
}

const UUID = /^[\w-]{22}$/

/** As many as the settings can allow: every partition takes memory before anything is known of it. */
const MOST_PARTITIONS = 100_000

/** Throws when it is not what `encodeTopic` makes. */
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

/** The topic's id, where so much can be read. */
function idIn(value: Uint8Array): string | null {
  try {
    const { id } = JSON.parse(Buffer.from(value).toString()) as Topic
    return UUID.test(id) ? id : null
  } catch {
    return null
  }
}
