// Which quotas users, client ids and addresses have (KIP-55, KIP-546, KIP-612): immutable snapshots, and the keeper that
// replaces them. Rests in one document of the store, one field for each entity. It decides no rules of entities and values
// (admin/client-quotas.ts does) and measures nobody (kafka/throttle.ts does).

import { assert } from '../base/assert.ts'
import { coalesce } from '../base/coalesce.ts'
import { workInTurn } from '../base/in-turn.ts'
import { OutcomeUnknown, type Row, type Store, StoreUnavailable } from '../store/store.ts'

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
  /** Resolves when the changes are durable and seen. Throws what the store throws; after OutcomeUnknown they may be made. */
  alter(changes: readonly QuotaChange[]): Promise<void>
  /**
   * Takes over what others have written, as of now and not earlier. Costs one look at a version where nothing has changed.
   * Throws what the store throws.
   */
  catchUp(): Promise<void>
}

const KIND = 'quotas'
const NAME = 'clients'

/** How often a change is tried again after another writer was faster. */
const ATTEMPTS = 8

const TYPES: readonly QuotaEntityType[] = ['user', 'client-id', 'ip']

/** One text for one entity, in whatever order its types are given. */
export function quotaEntityKey(entity: QuotaEntity): string {
  return JSON.stringify(Object.fromEntries(TYPES.flatMap(type => (type in entity ? [[type, entity[type]]] : []))))
}

export async function openClientQuotas(store: Store): Promise<ClientQuotas> {
  let version = 0
  let quotas: ReadonlyMap<string, ClientQuota> = new Map()

  /** Changes go one after the other: each is decided on what the one before left. */
  const inTurn = workInTurn()

  async function refresh(): Promise<void> {
    const document = await store.load(KIND, NAME)
    version = document?.version ?? 0
    quotas = new Map([...(document?.fields ?? [])].map(([key, value]) => [key, decode(key, value)]))
  }

  async function change(changes: readonly QuotaChange[]): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
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
          return
        }
      } catch (error) {
        if (!(error instanceof OutcomeUnknown)) throw error
      }
      // Setting values twice comes to the same, so an unknown outcome is simply followed by another attempt.
      await refresh()
    }
    throw new StoreUnavailable(`the quotas were changed by others ${ATTEMPTS} times in a row`)
  }

  await refresh()
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

function decode(key: string, value: Uint8Array): ClientQuota {
  const entity = JSON.parse(key) as QuotaEntity
  const values = JSON.parse(Buffer.from(value).toString()) as QuotaValues
  assert(
    Object.values(values).every(each => typeof each === 'number'),
    `the quotas in the store do not describe ${key} in a form that this version reads`,
  )
  return Object.freeze({ entity, values })
}
