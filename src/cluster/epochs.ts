// The leader epochs of partitions that other brokers lead. Only a leader knows its epoch, but Metadata of every broker
// must name it: clients accept a leader from Metadata only with an epoch that is not lower than the last they saw, and
// librdkafka before 2.10 accepts none without an epoch. So each broker writes the epochs of its leads into a document
// of kind `leads`, named by its id: a field for each topic id, an int32 for each partition index, 0 if it never led the
// partition.

import type { Clock, Timer } from '../base/clock.ts'
import { cut } from '../base/cut.ts'
import type { DocumentKind } from '../store/document-kinds.ts'
import { isStoreFailure, type Row, type Store } from '../store/store.ts'
import { type NameUnreadable, UNNAMED } from '../store/unreadable.ts'

const KIND: DocumentKind = 'leads'

/** Many partitions open at once; their epochs are written together. */
const GATHER_MS = 50

export interface Epochs {
  /** The highest known epoch of the partition, or -1. */
  of(topicId: string, index: number): number
  /** This broker leads with this epoch. It is written for the others soon. */
  led(topicId: string, index: number, epoch: number): void
  /** The topic was deleted. */
  forget(topicId: string): void
  /**
   * Reads what these brokers have written since, and writes epochs that could not be written before. Throws what the
   * store throws.
   */
  follow(brokerIds: readonly number[]): Promise<void>
  /** Writes no more epochs, and removes those that it wrote. */
  close(): Promise<void>
}

interface Said {
  readonly version: number
  readonly fields: ReadonlyMap<string, Uint8Array>
}

/** Removes the epochs that an earlier life of this broker wrote. Throws what the store throws. */
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

  /** A field that cannot be read is ignored: an epoch that is too high would keep clients from every leader. */
  function readable(id: number, fields: Said['fields']): Said['fields'] {
    const isRead = ([topicId, value]: readonly [string, Uint8Array]) => {
      const why = objectionTo(value)
      if (why !== null) {
        const what = `what broker ${id} says of its leader epochs of topic ${cut(topicId)}`
        unreadable({
          kind: KIND,
          what,
          why,
          result: 'this broker tells clients no epoch of it until it leads it itself',
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
      // An earlier commit of unknown outcome has succeeded; no other broker writes this document.
      for (const topicId of topicIds) unsaid.add(topicId)
    }
  }

  function tell(topicId: string): void {
    unsaid.add(topicId)
    timer ??= clock.timer(GATHER_MS, () => {
      timer = null
      void say().catch((error: unknown) => {
        // The next look writes it again.
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
        // The next life of this broker removes it.
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

/** Why these are not epochs as `encode` writes them; null when they are. */
function objectionTo(value: Uint8Array): string | null {
  if (value.length === 0 || value.length % 4 !== 0) return 'it is no list of epochs'
  const view = new DataView(value.buffer, value.byteOffset, value.byteLength)
  for (let at = 0; at < value.length; at += 4) if (view.getInt32(at) < 0) return 'an epoch lies below 0'
  return null
}

function decode(value: Uint8Array | undefined, index: number): number {
  if (value === undefined || value.length < 4 * (index + 1)) return -1
  return new DataView(value.buffer, value.byteOffset, value.byteLength).getInt32(4 * index)
}
