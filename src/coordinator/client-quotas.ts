// Keeps the quotas of users, client ids and addresses (KIP-55, KIP-546, KIP-612) as immutable snapshots. One stored
// document has a field for each entity. admin/client-quotas.ts has the rules for entities and values, and
// kafka/throttle.ts measures the clients.
//
// A field that cannot be read is left out: its entity has no quota, and can get one only after the field is removed.

import { systemClock } from '../base/clock.ts'
import { cut } from '../base/cut.ts'
import { systemRandom } from '../base/random.ts'
import { because, KAFKA_STORAGE_ERROR, POLICY_VIOLATION, type Refusal } from '../protocol/errors.ts'
import type { ContentionRooms } from '../store/contention.ts'
import { keepDocument } from '../store/document-keeper.ts'
import type { DocumentKind } from '../store/document-kinds.ts'
import { type Row, type Store, UnreadableDocument } from '../store/store.ts'
import { type NameUnreadable, UNNAMED } from '../store/unreadable.ts'

export type QuotaEntityType = 'user' | 'client-id' | 'ip'

/**
 * The entity of a quota. A type that is absent does not matter; null stands for every user, client id or address
 * without a quota of its own.
 */
export type QuotaEntity = Readonly<Partial<Record<QuotaEntityType, string | null>>>

export type QuotaKey = 'producer_byte_rate' | 'consumer_byte_rate' | 'request_percentage' | 'connection_creation_rate'

/** The values are bytes per second, percent of the event loop, or connections per second. */
export type QuotaValues = Readonly<Partial<Record<QuotaKey, number>>>

export interface ClientQuota {
  readonly entity: QuotaEntity
  readonly values: QuotaValues
}

export interface QuotaChange {
  readonly entity: QuotaEntity
  /** Null removes the quota; quotas that are absent stay. */
  readonly values: Readonly<Partial<Record<QuotaKey, number | null>>>
}

export interface ClientQuotas {
  /** Returns the quotas by quotaEntityKey: the same map object until a quota changes. */
  current(): ReadonlyMap<string, ClientQuota>
  /**
   * Resolves when the changes are durable and in the snapshot. The outcomes are in order: null if the change was
   * made; KAFKA_STORAGE_ERROR if the stored quotas of the entity cannot be read and the change would set one;
   * POLICY_VIOLATION if there is no memory for another quota. To remove one quota of an unreadable entity removes all
   * stored quotas of that entity. Throws what the store throws; after OutcomeUnknown the changes may be made.
   */
  alter(changes: readonly QuotaChange[]): Promise<readonly (Refusal | null)[]>
  /**
   * Loads the changes that other brokers made until now. It costs one read of a version if nothing has changed. Throws
   * what the store throws.
   */
  catchUp(): Promise<void>
}

const KIND: DocumentKind = 'quotas'
const NAME = 'clients'

const TOO_MANY = because(
  POLICY_VIOLATION,
  'The quotas of users, client ids and addresses have reached 16 MiB with their names. Remove quotas that are not needed.',
)

const TYPES: readonly QuotaEntityType[] = ['user', 'client-id', 'ip']

/** The most memory of all entities with a quota, in bytes: some 25,000 entities with short names. */
const MOST_BYTES = 16 * 1024 * 1024
/** Memory of one entity in bytes, without its key. Measured on Node 24 and rounded up. */
const ENTITY_BYTES = 512

function costOf(key: string): number {
  return ENTITY_BYTES + 2 * key.length
}

/** Returns the same text for the same entity, for any order of its types. */
export function quotaEntityKey(entity: QuotaEntity): string {
  return JSON.stringify(Object.fromEntries(TYPES.flatMap(type => (type in entity ? [[type, entity[type]]] : []))))
}

export interface ClientQuotaRooms extends ContentionRooms {
  readonly unreadable?: NameUnreadable | undefined
}

export async function openClientQuotas(
  store: Store,
  { clock, random, unreadable: tell = UNNAMED }: ClientQuotaRooms = { clock: systemClock, random: systemRandom },
): Promise<ClientQuotas> {
  async function load(): Promise<Kept> {
    const document = await store.load(KIND, NAME)
    const quotas = new Map<string, ClientQuota>()
    const unreadable = new Set<string>()
    for (const [key, value] of document?.fields ?? []) {
      try {
        quotas.set(key, decode(key, value))
      } catch (why) {
        unreadable.add(key)
        const result = 'they do not count, and the entity can get no quota until they are removed'
        tell({ kind: KIND, what: `the stored quotas of ${cut(key)}`, why, result })
      }
    }
    return { version: document?.version ?? 0, quotas, unreadable }
  }

  let first: Kept | null = null
  try {
    first = await load()
  } catch (why) {
    if (!(why instanceof UnreadableDocument)) throw why
    tell({ kind: KIND, what: 'the document of all quotas', why, result: 'no client has a quota until it is repaired' })
  }
  const place = { kind: KIND, name: NAME, what: 'the list of quotas', isShared: true }
  const none: Kept = { version: 0, quotas: new Map(), unreadable: new Set() }
  const keeper = keepDocument({ store, clock, random }, { ...place, load }, first ?? none, { isRead: first !== null })
  return {
    current: () => keeper.current().quotas,
    catchUp: keeper.catchUp,
    alter: asked =>
      keeper.change(now => {
        const answer = refusalsOf(now, asked)
        const changes = asked.filter((_, at) => answer[at] === null)
        if (changes.length === 0) return { answer }
        const quotas = new Map(now.quotas)
        for (const { entity, values } of changes) apply(quotas, entity, values)
        const rows = changes.map(({ entity }): Row => {
          const key = quotaEntityKey(entity)
          const quota = quotas.get(key)
          return { key, value: quota === undefined ? null : Buffer.from(JSON.stringify(quota.values)) }
        })
        const unreadable = new Set([...now.unreadable].filter(key => !rows.some(row => row.key === key)))
        const after = (version: number) => ({ version, quotas, unreadable })
        // Setting the same values twice has the same result, so after an unknown outcome another attempt follows.
        return { answer, write: { changes: rows, after, isMade: () => false } }
      }),
  }
}

interface Kept {
  readonly version: number
  readonly quotas: ReadonlyMap<string, ClientQuota>
  readonly unreadable: ReadonlySet<string>
}

/**
 * Returns null for each change that can be made, else the refusal. The order counts, because each new entity leaves
 * less memory for the next one.
 */
function refusalsOf({ quotas, unreadable }: Kept, changes: readonly QuotaChange[]): readonly (Refusal | null)[] {
  let leftBytes = MOST_BYTES
  for (const key of quotas.keys()) leftBytes -= costOf(key)
  return changes.map(({ entity, values }) => {
    const key = quotaEntityKey(entity)
    if (quotas.has(key) || Object.values(values).every(value => value === null)) return null
    if (unreadable.has(key)) return unreadableQuotas(key)
    if (costOf(key) > leftBytes) return TOO_MANY
    leftBytes -= costOf(key)
    return null
  })
}

function unreadableQuotas(key: string): Refusal {
  const message = `The stored quotas of ${cut(key)} cannot be read: a later version or another program wrote them. Remove one of them, which removes all of them, and set them again.`
  return because(KAFKA_STORAGE_ERROR, message)
}

function apply(quotas: Map<string, ClientQuota>, entity: QuotaEntity, changes: QuotaChange['values']): void {
  const key = quotaEntityKey(entity)
  const merged = { ...quotas.get(key)?.values, ...changes }
  const values = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null)) as QuotaValues
  if (Object.keys(values).length === 0) quotas.delete(key)
  else quotas.set(key, Object.freeze({ entity, values }))
}

// The name of a field is the key of the entity. Its value is JSON of the quotas.

/** Decodes a field. Throws if the field has another form than this file writes. */
function decode(key: string, value: Uint8Array): ClientQuota {
  const entity = JSON.parse(key) as QuotaEntity
  const values = JSON.parse(Buffer.from(value).toString()) as QuotaValues
  if (!isObject(entity) || quotaEntityKey(entity) !== key) throw new Error('the field names no entity')
  if (
    !isObject(values) ||
    !Object.entries(values).every(([name, quota]) => isKey(name) && typeof quota === 'number' && quota > 0)
  )
    throw new Error('it is not a list of quotas')
  return Object.freeze({ entity, values })
}

const KEYS: readonly QuotaKey[] = [
  'producer_byte_rate',
  'consumer_byte_rate',
  'request_percentage',
  'connection_creation_rate',
]

function isKey(name: string): name is QuotaKey {
  return KEYS.some(key => key === name)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
