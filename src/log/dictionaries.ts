// The zstd dictionaries of topics. This file collects samples of the records that arrive, trains dictionaries in a
// thread beside the event loop, keeps each version in the store, and finds the version that a batch was compressed
// with. A version that was ever in use stays as long as its topic. This file compresses nothing.
//
//   unknown --loaded--> sampling --enough--> training --better--> a new version, first in the store, then in use
//                          ^                    |                        |
//                          '----- after AGAIN times as many records -----'
//
// In the store (docs/decisions/0021):
//   document dictionaries, <topic id>         a field for each version: JSON of
//                                             { bytes, crc32c, plainBytes, beforeBytes, afterBytes }
//   document dictionary, <topic id>:<version> the field `content`

import { Worker } from 'node:worker_threads'
import type { Clock } from '../base/clock.ts'
import { crc32c } from '../base/crc32c.ts'
import { cut } from '../base/cut.ts'
import type { Settings } from '../settings/settings.ts'
import type { DocumentKind } from '../store/document-kinds.ts'
import { type Document, type Row, type Store, streamId } from '../store/store.ts'
import { type NameUnreadable, UNNAMED } from '../store/unreadable.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Topic } from './catalogue.ts'
import type { TrainingInput, TrainingResult } from './dictionary-training.ts'

export interface Dictionary {
  /** The number of the version, from 1 on. */
  readonly version: number
  readonly content: Uint8Array
}

export interface DictionaryRooms {
  readonly store: Store
  readonly settings: Settings
  readonly clock: Clock
  readonly logger: Logger
  readonly unreadable?: NameUnreadable | undefined
}

const LISTS: DocumentKind = 'dictionaries'
const CONTENTS: DocumentKind = 'dictionary'
const CONTENT = 'content'

/** After this many times sample-count records a topic is sampled again; a better dictionary replaces the old one. */
const AGAIN = 100
/** The most versions of a topic. Each version stays as long as the topic. */
const MOST_VERSIONS = 16
/** The most bytes of samples that all topics hold together. Beyond it the topic with the most samples loses them. */
const ALL_SAMPLES_BYTES = 64 << 20
/** The fewest records that are enough for a dictionary. */
const FEWEST_SAMPLES = 100
/** The delay after a failure of the store. */
const RETRY_MS = 1_000

const NO_BYTES = new Uint8Array(0)

/** A version as the list describes it. Older releases did not write the checksum. */
interface Described {
  readonly bytes: number
  readonly crc32c?: number
}

interface Known {
  readonly topicId: string
  /** True if the versions in the store are known. */
  isKnown: boolean
  isBusy: boolean
  isRemoved: boolean
  retryAtMs: number
  /** The version of the document that lists the versions; 0 if there is no document. */
  listVersion: number
  lastVersion: number
  newest: Dictionary | null
  readonly contents: Map<number, Promise<Uint8Array | null>>
  /** The number of records that must arrive before samples are taken. */
  toWait: number
  /** The samples, one behind the other. The bytes after sampledBytes are free. */
  samples: Uint8Array
  /** The end of each sample. */
  ends: number[]
  sampledRecords: number
  sampledBytes: number
}

export class Dictionaries {
  readonly #rooms: DictionaryRooms
  readonly #topics = new Map<string, Known>()
  #sampledBytes = 0
  /** The end of the last training; trainings run one after the other. */
  #last: Promise<void> = Promise.resolve()
  #worker: Worker | null = null
  #isClosed = false

  constructor(rooms: DictionaryRooms) {
    this.#rooms = rooms
  }

  /**
   * Returns the dictionary for new records of this topic; null if the topic has no dictionary yet. The records may be
   * taken as a sample.
   */
  use(topic: Topic, records: Uint8Array, count: number): Dictionary | null {
    const known = this.#known(topic.id)
    if (!known.isKnown) {
      if (!known.isBusy && this.#rooms.clock.monotonic() >= known.retryAtMs) void this.#learn(known)
      return null
    }
    if (known.toWait > 0) known.toWait -= count
    else if (!known.isBusy && known.lastVersion < MOST_VERSIONS) this.#sample(known, topic.name, records, count)
    return known.newest
  }

  /** Resolves with the content of a version; null if the store does not have it. Throws what the store throws. */
  async find(topicId: string, version: number): Promise<Uint8Array | null> {
    const { newest, contents } = this.#known(topicId)
    if (newest?.version === version) return newest.content
    const loaded = contents.get(version) ?? this.#load(topicId, version)
    contents.set(version, loaded)
    const content = await loaded.catch((error: unknown) => {
      contents.delete(version)
      throw error
    })
    if (content === null) contents.delete(version)
    return content
  }

  /**
   * Makes each topic look up its versions again before it uses a dictionary, because the store may have gone back in
   * time.
   */
  renewed(): void {
    for (const known of this.#topics.values()) known.isKnown = false
  }

  /** Removes the dictionaries of a topic that is gone. */
  removed({ id: topicId, resolved }: Topic): void {
    if (resolved.storageCompressionType !== 'zstd') return
    const known = this.#topics.get(topicId)
    this.#topics.delete(topicId)
    if (known !== undefined) {
      known.isRemoved = true
      this.#drop(known)
    }
    void this.#remove(topicId).catch((error: unknown) => this.#left(error))
  }

  /** Removes the dictionaries of topics that were removed while their broker was stopping. */
  async sweep(): Promise<void> {
    try {
      // A topic has its streams before its dictionaries. So a topic that is listed here and has no streams is gone.
      const lists = await this.#rooms.store.list(LISTS)
      if (lists.length === 0) return
      const streams = new Set(await this.#rooms.store.streams())
      for (const { name } of lists) if (!streams.has(streamId(name, 0))) await this.#remove(name)
    } catch (error) {
      this.#left(error)
    }
  }

  /** Starts no more training. Resolves when no work is in progress. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#worker?.terminate()
    await this.#last
  }

  #known(topicId: string): Known {
    const known = this.#topics.get(topicId)
    if (known !== undefined) return known
    const made: Known = {
      topicId,
      isKnown: false,
      isBusy: false,
      isRemoved: false,
      retryAtMs: 0,
      listVersion: 0,
      lastVersion: 0,
      newest: null,
      contents: new Map(),
      toWait: 0,
      samples: NO_BYTES,
      ends: [],
      sampledRecords: 0,
      sampledBytes: 0,
    }
    this.#topics.set(topicId, made)
    return made
  }

  /** Looks up which versions the store has, and uses the newest one. */
  async #learn(known: Known): Promise<void> {
    known.isBusy = true
    try {
      const list = await this.#rooms.store.load(LISTS, known.topicId)
      const lastVersion = this.#lastOf(list)
      // Batches may name a version that the store has lost.
      if (known.newest !== null && known.newest.version > lastVersion) return await this.#restore(known, list)
      if (lastVersion > 0) {
        const content = await this.find(known.topicId, lastVersion)
        if (content !== null && this.#describedIn(list!, lastVersion) !== null)
          known.newest = { version: lastVersion, content }
        known.toWait = this.#again()
      }
      known.listVersion = list?.version ?? 0
      known.lastVersion = lastVersion
      known.isKnown = true
    } catch (error) {
      known.retryAtMs = this.#rooms.clock.monotonic() + RETRY_MS
      this.#rooms.logger
        .limited('dictionary-unknown', 10_000)
        .warn('the dictionary of a topic cannot be read; the topic is compressed without a dictionary', {
          topicId: known.topicId,
          error,
        })
    } finally {
      known.isBusy = false
    }
  }

  /** Stores the newest version again, and then looks up the versions of the store once more. */
  async #restore({ topicId, newest }: Known, list: Document | null): Promise<void> {
    const { store, logger } = this.#rooms
    const { version, content } = newest!
    const name = `${topicId}:${version}`
    await this.#removeDocument(CONTENTS, name)
    await store.commit({ kind: CONTENTS, name, expect: 0, changes: [{ key: CONTENT, value: content }] })
    const value = Buffer.from(JSON.stringify({ bytes: content.length, crc32c: crc32c(content) }))
    await store.commit({
      kind: LISTS,
      name: topicId,
      expect: list?.version ?? 0,
      changes: [{ key: String(version), value }],
    })
    logger.warn('the store had lost a dictionary; the broker has stored it again', { topicId, version })
  }

  async #load(topicId: string, version: number): Promise<Uint8Array | null> {
    const document = await this.#rooms.store.load(CONTENTS, `${topicId}:${version}`)
    const content = document?.fields.get(CONTENT)
    if (document === null || (content !== undefined && (await this.#isListed(topicId, version, content)) !== false))
      return content ?? null
    const what = `the content of dictionary ${version} of topic ${topicId}`
    const result = 'batches that use it cannot be read until it is repaired, and no other batch is compressed with it'
    this.#tell({ kind: CONTENTS, what, why: 'it does not match its checksum or its size', result })
    return null
  }

  /**
   * Resolves with whether the content matches its description in the list; null without a description. If the list has
   * no checksum, only the size is compared. Any bytes are accepted as a dictionary, and batches that were compressed
   * with wrong bytes could never be unpacked.
   */
  async #isListed(topicId: string, version: number, content: Uint8Array): Promise<boolean | null> {
    const list = await this.#rooms.store.load(LISTS, topicId)
    const described = list === null ? null : this.#describedIn(list, version)
    if (described === null) return null
    const { bytes, crc32c: expected = crc32c(content) } = described
    return content.length === bytes && crc32c(content) === expected
  }

  #describedIn(list: Document, version: number): Described | null {
    const value = list.fields.get(String(version))
    if (value === undefined) return null
    try {
      const described = JSON.parse(Buffer.from(value).toString()) as Described
      if (Number.isSafeInteger(described.bytes)) return described
    } catch {
      // The report below covers it.
    }
    const what = `version ${version} in the list of dictionaries of topic ${list.name}`
    const result = 'no batch is compressed with that version'
    this.#tell({ kind: LISTS, what, why: 'it describes no dictionary', result })
    return null
  }

  #again(): number {
    return AGAIN * this.#rooms.settings.get('storage.local.compression.dictionary.sample-count')
  }

  #sample(known: Known, name: string, records: Uint8Array, count: number): void {
    const { settings } = this.#rooms
    const maxBytes = settings.get('storage.local.compression.dictionary.max-sample-bytes')
    const sample = records.subarray(0, maxBytes - known.sampledBytes)
    const end = known.sampledBytes + sample.length
    if (end > known.samples.length) {
      const larger = new Uint8Array(Math.min(maxBytes, Math.max(end, 2 * known.samples.length)))
      larger.set(known.samples)
      known.samples = larger
    }
    known.samples.set(sample, known.sampledBytes)
    known.ends.push(end)
    known.sampledRecords += count
    known.sampledBytes += sample.length
    this.#sampledBytes += sample.length
    const isEnough =
      known.sampledRecords >= settings.get('storage.local.compression.dictionary.sample-count') ||
      known.sampledBytes >= maxBytes
    if (isEnough) this.#train(known, name)
    else if (this.#sampledBytes > ALL_SAMPLES_BYTES) this.#makeRoom(name)
  }

  /** The samples of all topics take too much memory. The topic with the most samples trains early or loses them. */
  #makeRoom(name: string): void {
    let most: Known | null = null
    for (const known of this.#topics.values()) {
      if (!known.isBusy && known.sampledBytes > (most?.sampledBytes ?? 0)) most = known
    }
    if (most === null) return
    if (most.sampledRecords >= FEWEST_SAMPLES) this.#train(most, name)
    else this.#drop(most)
  }

  #drop(known: Known): void {
    this.#sampledBytes -= known.sampledBytes
    known.samples = NO_BYTES
    known.ends = []
    known.sampledRecords = 0
    known.sampledBytes = 0
  }

  #train(known: Known, name: string): void {
    known.isBusy = true
    this.#last = this.#last.then(async () => {
      try {
        if (!this.#isClosed && !known.isRemoved) await this.#trainNow(known, name)
      } catch (error) {
        // The outcome of a commit may be unknown, so the versions in the store are looked up again.
        known.isKnown = false
        if (!this.#isClosed) {
          this.#rooms.logger.warn('no dictionary could be trained; the broker tries again', { topic: name, error })
        }
      } finally {
        this.#drop(known)
        known.isBusy = false
      }
    })
  }

  async #trainNow(known: Known, topic: string): Promise<void> {
    const { settings, logger } = this.#rooms
    const { samples: text, sampledRecords, newest } = known
    const ends = Uint32Array.from(known.ends)
    const sizeBytes = settings.get('storage.local.compression.dictionary.size-bytes')
    const { content, ...found } = await this.#inThread({ text, ends, sizeBytes, current: newest?.content ?? null })
    known.toWait = this.#again()
    if (content === null) {
      logger.info('another dictionary would not compress a topic better', { topic, records: sampledRecords, ...found })
      return
    }
    const version = await this.#keep(known, content, found)
    if (version === null) return
    logger.info('a dictionary was trained', {
      topic,
      version,
      bytes: content.length,
      records: sampledRecords,
      ...found,
    })
    if (known.isRemoved) await this.#remove(known.topicId)
  }

  #inThread(input: TrainingInput): Promise<TrainingResult> {
    const { promise, resolve, reject } = Promise.withResolvers<TrainingResult>()
    const worker = new Worker(new URL('./dictionary-worker.ts', import.meta.url), {
      workerData: input,
      transferList: [input.text.buffer as ArrayBuffer],
    })
    worker.unref()
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', code => reject(new Error(`the thread that trains a dictionary ended with status ${code}`)))
    this.#worker = worker
    return promise
  }

  /**
   * Stores a version and uses it from now on. Resolves with its number; null if another broker was faster and its
   * version is used.
   */
  async #keep(known: Known, content: Uint8Array, found: Omit<TrainingResult, 'content'>): Promise<number | null> {
    const { store } = this.#rooms
    const { topicId } = known
    let version = known.lastVersion
    const add: Row = { key: CONTENT, value: content }
    // The content first, so that a listed version exists. A version that already has content comes from an unfinished
    // attempt.
    for (let kind = ''; kind !== 'committed'; ) {
      version++
      const commit = { kind: CONTENTS, name: `${topicId}:${version}`, expect: 0, changes: [add] }
      kind = (await store.commit(commit)).kind
    }
    const value = Buffer.from(JSON.stringify({ bytes: content.length, crc32c: crc32c(content), ...found }))
    const changes = [{ key: String(version), value }]
    const outcome = await store.commit({ kind: LISTS, name: topicId, expect: known.listVersion, changes })
    if (outcome.kind === 'conflict') {
      await this.#removeDocument(CONTENTS, `${topicId}:${version}`)
      await this.#learn(known)
      return null
    }
    known.listVersion = outcome.version
    known.lastVersion = version
    if (known.newest !== null) known.contents.set(known.newest.version, Promise.resolve(known.newest.content))
    known.newest = { version, content }
    return version
  }

  async #remove(topicId: string): Promise<void> {
    const list = await this.#rooms.store.load(LISTS, topicId)
    if (list === null) return
    const lastVersion = this.#lastOf(list)
    // The list is removed last: while it exists, a later start finds the rest.
    for (let version = 1; version <= lastVersion; version++) {
      await this.#removeDocument(CONTENTS, `${topicId}:${version}`)
    }
    await this.#removeDocument(LISTS, topicId)
  }

  /** Removes a document. Does nothing if another broker has removed or changed it. */
  async #removeDocument(kind: DocumentKind, name: string): Promise<void> {
    const { store } = this.#rooms
    const document = await store.load(kind, name)
    if (document !== null) await store.commit({ kind, name, expect: document.version, changes: [], remove: true })
  }

  #left(error: unknown): void {
    if (this.#isClosed) return
    this.#rooms.logger.warn('dictionaries of removed topics could not be removed; the next start retries', { error })
  }

  /** Returns the newest version in the list; 0 if the list is empty. */
  #lastOf(list: Document | null): number {
    let last = 0
    for (const name of list?.fields.keys() ?? []) {
      if (VERSION.test(name)) last = Math.max(last, Number(name))
      else {
        const what = `the field ${cut(name)} in the list of dictionaries of topic ${list!.name}`
        this.#tell({ kind: LISTS, what, why: 'it is no version', result: 'the broker ignores it' })
      }
    }
    return last
  }

  #tell: NameUnreadable = found => (this.#rooms.unreadable ?? UNNAMED)(found)
}

const VERSION = /^[1-9]\d{0,8}$/
