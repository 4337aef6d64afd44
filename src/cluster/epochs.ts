// Shares the leader epochs of partitions between brokers. Only the leader of a partition knows its epoch, but the
// Metadata response of every broker must contain it: clients accept a leader only with an epoch that is not lower
// than the last one that they saw, and librdkafka before 2.10 accepts no leader without an epoch. So each broker
// writes the epochs of the partitions that it leads into a document of kind `leads`, named by its broker id. The
// document has a field for each topic id, with an int32 for each partition index: 0 if the broker never led that
// partition.

import type { Clock, Timer } from '../base/clock.ts'
import { cut } from '../base/cut.ts'
import type { DocumentKind } from '../store/document-kinds.ts'
import { isStoreFailure, type Row, type Store } from '../store/store.ts'
import { type NameUnreadable, UNNAMED } from '../store/unreadable.ts'

const KIND: DocumentKind = 'leads'

/**
 * The time in ms for which epochs are collected before they are written together, because many partitions open at
 * once.
 */
const GATHER_MS = 50

export interface Epochs {
  /** Returns the highest known epoch of the partition, or -1. */
  of(topicId: string, index: number): number
  /** Notes that this broker leads the partition with this epoch. Soon after, it is written for the other brokers. */
  led(topicId: string, index: number, epoch: number): void
  /** Removes the epochs of a topic that was deleted. */
  forget(topicId: string): void
  /**
   * Reads the epochs that these brokers have written since the last call, and writes own epochs that could not be
   * written before. Throws what the store throws.
   */
  follow(brokerIds: readonly number[]): Promise<void>
  /** Writes no more epochs, and removes those that it wrote. */
  close(): Promise<void>
}

interface Said {
  readonly version: number
  readonly fields: ReadonlyMap<string, Uint8Array>
}

/**
 * Opens the epochs, and removes those that an earlier process with this broker id wrote. Throws what the store
 * throws.
 */
export async function openEpochs(
  store: Store,
  clock: Clock,
  brokerId: number,
  unreadable: NameUnreadable = UNNAMED,
): Promise<Epochs> {
  const name = String(brokerId)
  const own = new Map<string, number[]>()
  const others = new Map<number, Said>()
  const unsaid = new Set<string>()
  let timer: Timer | null = null
  let saying: Promise<void> | null = null
  let version = await store.version(KIND, name)
  if (version > 0) await takeBack()

  async function takeBack(): Promise<void> {
    await store.commit({ kind: KIND, name, expect: version, changes: [], remove: true })
    version = await store.version(KIND, name)
  }

  /**
   * Returns the readable fields. The others are ignored: if an epoch is too high, clients would refuse every leader.
   */
  function readable(id: number, fields: Said['fields']): Said['fields'] {
    const isRead = ([topicId, value]: readonly [string, Uint8Array]) => {
      const why = objectionTo(value)
      if (why !== null) {
        const what = `the leader epochs that broker ${id} wrote for topic ${cut(topicId)}`
        unreadable({
          kind: KIND,
          what,
          why,
          result: 'this broker names no epoch of the topic to clients until it leads its partitions itself',
        })
      }
      return why === null
    }
    return new Map([...fields].filter(isRead))
  }

  function say(): Promise<void> {
    saying ??= sayAll().finally(() => {
      saying = null
    })
    return saying
  }

  async function sayAll(): Promise<void> {
    while (unsaid.size > 0) {
      const topicIds = [...unsaid]
      unsaid.clear()
      try {
        const changes = topicIds.map((key): Row => ({ key, value: encode(own.get(key)) }))
        const outcome = await store.commit({ kind: KIND, name, expect: version, changes })
        version = outcome.version
        if (outcome.kind === 'committed') continue
      } catch (error) {
        for (const topicId of topicIds) unsaid.add(topicId)
        throw error
      }
      // A conflict means that an earlier commit of unknown outcome succeeded: no other broker writes this document.
      for (const topicId of topicIds) unsaid.add(topicId)
    }
  }

  function tell(topicId: string): void {
    unsaid.add(topicId)
    timer ??= clock.timer(GATHER_MS, () => {
      timer = null
      void say().catch((error: unknown) => {
        // The next call of `follow` writes it again.
        if (!isStoreFailure(error)) throw error
      })
    })
  }

  return {
    of(topicId, index) {
      let epoch = own.get(topicId)?.[index] ?? -1
      for (const { fields } of others.values()) epoch = Math.max(epoch, decode(fields.get(topicId), index))
      return epoch > 0 ? epoch : -1
    },

    led(topicId, index, epoch) {
      const epochs = own.get(topicId) ?? []
      while (epochs.length <= index) epochs.push(0)
      epochs[index] = epoch
      own.set(topicId, epochs)
      tell(topicId)
    },

    forget(topicId) {
      if (own.delete(topicId)) tell(topicId)
    },

    async follow(brokerIds) {
      if (unsaid.size > 0) await say()
      const following = brokerIds.map(async id => {
        if (id === brokerId) return
        const current = await store.version(KIND, String(id))
        if (current === 0 || current === others.get(id)?.version) return
        const document = await store.load(KIND, String(id))
        if (document !== null) others.set(id, { version: document.version, fields: readable(id, document.fields) })
      })
      await Promise.all(following)
    },

    async close() {
      timer?.cancel()
      unsaid.clear()
      try {
        await saying
        if (version > 0) await takeBack()
      } catch (error) {
        if (!isStoreFailure(error)) throw error
        // The next start of this broker removes the document.
      }
    },
  }
}

function encode(epochs: readonly number[] | undefined): Uint8Array | null {
  if (epochs === undefined) return null
  const value = Buffer.alloc(4 * epochs.length)
  for (const [index, epoch] of epochs.entries()) value.writeInt32BE(epoch, 4 * index)
  return value
}

/** Returns why the bytes are not epochs in the form that `encode` writes; null if they are. */
function objectionTo(value: Uint8Array): string | null {
  if (value.length === 0 || value.length % 4 !== 0) return 'it is not a list of epochs'
  const view = new DataView(value.buffer, value.byteOffset, value.byteLength)
  for (let at = 0; at < value.length; at += 4) if (view.getInt32(at) < 0) return 'an epoch is below 0'
  return null
}

function decode(value: Uint8Array | undefined, index: number): number {
  if (value === undefined || value.length < 4 * (index + 1)) return -1
  return new DataView(value.buffer, value.byteOffset, value.byteLength).getInt32(4 * index)
}
