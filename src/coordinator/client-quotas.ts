// Which quotas users, client ids and addresses have (KIP-55, KIP-546, KIP-612): immutable snapshots, and the keeper that
// replaces them. Rests in one document of the store, one field for each entity. It decides no rules of entities and values
// (admin/client-quotas.ts does) and measures nobody (kafka/throttle.ts does).
//
// A field that cannot be read is left out: its entity has no quota of its own here, and gets none until the field is taken away.

import { systemClock } from '../base/clock.ts'
import { coalesce } from '../base/coalesce.ts'
import { cut } from '../base/cut.ts'
import { workInTurn } from '../base/in-turn.ts'
import { systemRandom } from '../base/random.ts'
import { because, KAFKA_STORAGE_ERROR, POLICY_VIOLATION, type Refusal } from '../protocol/errors.ts'
import { type ContentionRooms, contend, LOST } from '../store/contention.ts'
import type { DocumentKind } from '../store/document-kinds.ts'
import { OutcomeUnknown, type Row, type Store, UnreadableDocument } from '../store/store.ts'
import { type NameUnreadable, UNNAMED } from '../store/unreadable.ts'

export type QuotaEntityType = 'user' | 'client-id' | 'ip'

/** Whom a quota is for. A type that is absent is not asked about; null stands for everybody who has no quota of their own. */
export type QuotaEntity = Readonly<Partial<Record<QuotaEntityType, string | null>>>

export type QuotaKey = 'producer_byte_rate' | 'consumer_byte_rate' | 'request_percentage' | 'connection_creation_rate'

/** Bytes a second, percent of the event loop, connections a second. */
export type QuotaValues = Readonly<Partial<Record<QuotaKey, number>>>

export interface ClientQuota {
  readonly entity: QuotaEntity
  readonly values: QuotaValues
}

export interface QuotaChange {
  readonly entity: QuotaEntity
  /** Null takes the quota away; what is absent stays. */
  readonly values: Readonly<Partial<Record<QuotaKey, number | null>>>
}

export interface ClientQuotas {
  /** By quotaEntityKey. The same map until something changes. */
  current(): ReadonlyMap<string, ClientQuota>
  /**
   * Resolves when the changes are durable and seen, with null for each, in order, or KAFKA_STORAGE_ERROR for an entity whose stored
   * quotas cannot be read and that would be given one, or POLICY_VIOLATION for one more than there is room for: taking any of them away takes away all that is stored of it. Throws what
   * the store throws; after OutcomeUnknown they may be made.
   */
  alter(changes: readonly QuotaChange[]): Promise<readonly (Refusal | null)[]>
  /**
   * Takes over what others have written, as of now and not earlier. Costs one look at a version where nothing has changed.
   * Throws what the store throws.
   */
  catchUp(): Promise<void>
}

const KIND: DocumentKind = 'quotas'
const NAME = 'clients'

const TOO_MANY = because(
  POLICY_VIOLATION,
  'There are quotas for as many users, client ids and addresses as are kept: 16 MiB with their names. Take away those that are not needed.',
)

const TYPES: readonly QuotaEntityType[] = ['user', 'client-id', 'ip']

/** Memory of all entities with a quota; some 25,000 with short names. */
const MOST_BYTES = 16 * 1024 * 1024
/** Of one, beside its key. Measured on Node 24 and rounded up. */
const ENTITY_BYTES = 512

function costOf(key: string): number {
  return ENTITY_BYTES + 2 * key.length
}

/** One text for one entity, in whatever order its types are given. */
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
  let version = 0
  let quotas: ReadonlyMap<string, ClientQuota> = new Map()
  let unreadable: ReadonlySet<string> = new Set()

  /** Changes go one after the other: each is decided on what the one before left. */
  const inTurn = workInTurn()

  async function refresh(): Promise<void> {
    const document = await store.load(KIND, NAME)
    const read = new Map<string, ClientQuota>()
    const unread = new Set<string>()
    for (const [key, value] of document?.fields ?? []) {
      try {
        read.set(key, decode(key, value))
      } catch (why) {
        unread.add(key)
        const result = 'they do not count, and the entity is given none until they are taken away'
        tell({ kind: KIND, what: `the stored quotas of ${cut(key)}`, why, result })
      }
    }
    version = document?.version ?? 0
    quotas = read
    unreadable = unread
  }

  /** Null for each that can be made; in their order, because each that is new takes room from the next. */
  function refusalsOf(changes: readonly QuotaChange[]): readonly (Refusal | null)[] {
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
    const message = `The stored quotas of ${cut(key)} cannot be read: a later version or a bad hand wrote them. Take one of them away, which takes away all, and set them anew.`
    return because(KAFKA_STORAGE_ERROR, message)
  }

  async function change(asked: readonly QuotaChange[]): Promise<readonly (Refusal | null)[]> {
    return await contend({ clock, random }, 'the list of quotas', async () => {
      const refusals = refusalsOf(asked)
      const changes = asked.filter((_, at) => refusals[at] === null)
      if (changes.length === 0) return refusals
      const next = new Map(quotas)
      for (const { entity, values } of changes) apply(next, entity, values)
      const rows = changes.map(({ entity }): Row => {
        const key = quotaEntityKey(entity)
        const quota = next.get(key)
        return { key, value: quota === undefined ? null : Buffer.from(JSON.stringify(quota.values)) }
      })
      try {
        const outcome = await store.commit({ kind: KIND, name: NAME, expect: version, changes: rows })
        if (outcome.kind === 'committed') {
          version = outcome.version
          quotas = next
          unreadable = new Set([...unreadable].filter(key => !rows.some(row => row.key === key)))
          return refusals
        }
      } catch (error) {
        if (!(error instanceof OutcomeUnknown)) throw error
      }
      // Setting values twice comes to the same, so an unknown outcome is simply followed by another attempt.
      await refresh()
      return LOST
    })
  }

  try {
    await refresh()
  } catch (why) {
    if (!(why instanceof UnreadableDocument)) throw why
    tell({ kind: KIND, what: 'the document of all quotas', why, result: 'no client has a quota until it is repaired' })
  }
  return {
    current: () => quotas,
    alter: changes => inTurn(() => change(changes)),
    catchUp: coalesce(() =>
      inTurn(async () => {
        if ((await store.version(KIND, NAME)) !== version) await refresh()
      }),
    ),
  }
}

function apply(quotas: Map<string, ClientQuota>, entity: QuotaEntity, changes: QuotaChange['values']): void {
  const key = quotaEntityKey(entity)
  const merged = { ...quotas.get(key)?.values, ...changes }
  const values = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null)) as QuotaValues
  if (Object.keys(values).length === 0) quotas.delete(key)
  else quotas.set(key, Object.freeze({ entity, values }))
}

// A field: the entity's key, and JSON of its values.

/** Throws when it is not what is written here. */
function decode(key: string, value: Uint8Array): ClientQuota {
  const entity = JSON.parse(key) as QuotaEntity
  const values = JSON.parse(Buffer.from(value).toString()) as QuotaValues
  if (!isObject(entity) || quotaEntityKey(entity) !== key) throw new Error('the field names no entity')
  if (
    !isObject(values) ||
    !Object.entries(values).every(([name, quota]) => isKey(name) && typeof quota === 'number' && quota > 0)
  )
    throw new Error('it is no list of quotas')
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
