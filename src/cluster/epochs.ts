// The leader epochs of partitions that other brokers lead. Only a leader knows its epoch, and Metadata of every broker has to
// say it: clients take a leader from Metadata only with an epoch that is not lower than the last they saw, and librdkafka
// before 2.10 never takes one without. So each broker keeps in a document of kind `leads`, named by its id, the
// epochs that it leads with: a field for each topic id, an int32 for each partition index, 0 where it never led.

import type { Clock, Timer } from '../base/clock.ts'
import { cut } from '../base/cut.ts'
import type { DocumentKind } from '../store/document-kinds.ts'
import { isStoreFailure, type Row, type Store } from '../store/store.ts'
import { type NameUnreadable, UNNAMED } from '../store/unreadable.ts'

const KIND: DocumentKind = 'leads'

/** Openings come many at a time; they are told together. */
const GATHER_MS = 50

export interface Epochs {
  /** The highest that is known of the partition, -1 when none is. */
  of(topicId: string, index: number): number
  /** This broker leads with this epoch. The others are told soon. */
  led(topicId: string, index: number, epoch: number): void
  /** The topic is gone. */
  forget(topicId: string): void
  /** Takes over what these brokers have said since, and says what could not be said before. Throws what the store throws. */
  follow(brokerIds: readonly number[]): Promise<void>
  /** Says nothing any more, and takes back what it said. */
  close(): Promise<void>
}

interface Said {
  readonly version: number
  readonly fields: ReadonlyMap<string, Uint8Array>
}

/** Takes back what an earlier life of this broker said. Throws what the store throws. */
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

  /** A field that cannot be read says nothing of its topic: an epoch that is too high would keep clients from every leader. */
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
      // An earlier commit of unknown outcome has landed; nobody else writes here.
      for (const topicId of topicIds) unsaid.add(topicId)
    }
  }

  function tell(topicId: string): void {
    unsaid.add(topicId)
    timer ??= clock.timer(GATHER_MS, () => {
      timer = null
      void say().catch((error: unknown) => {
        // It is said again with the next look.
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
        // The next life of this broker takes it back.
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
