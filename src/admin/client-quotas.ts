// Describes and changes the quotas of users, client ids and addresses. The rules for entities, keys, values and
// filters are those of Apache Kafka's ClientQuotaControlManager and ClientQuotasImage. A change is durable before it
// is answered, and counts from then on. kafka/throttle.ts makes clients wait.
//
// There are two differences from Apache Kafka. An address must be an IP address, not a host name. The key
// controller_mutation_rate is refused, because the broker does not enforce it.

import { isIP } from 'node:net'
import { cut } from '../base/cut.ts'
import {
  type ClientQuota,
  type ClientQuotas,
  type QuotaChange,
  type QuotaEntity,
  type QuotaEntityType,
  type QuotaKey,
  quotaEntityKey,
} from '../coordinator/client-quotas.ts'
import { because, INVALID_REQUEST, isRefusal, type Refusal, UNSUPPORTED_VERSION } from '../protocol/errors.ts'

export interface QuotaRooms {
  readonly clientQuotas: ClientQuotas
}

/** One entity of a request, with its types and keys as the client wrote them. */
export interface QuotaAlteration {
  readonly entity: readonly QuotaName[]
  readonly edits: readonly QuotaEdit[]
}

export interface QuotaName {
  readonly type: string
  /** Null: all users, client ids or addresses without a quota of their own. */
  readonly name: string | null
}

export interface QuotaEdit {
  readonly key: string
  /** Null removes the quota. */
  readonly value: number | null
}

/** One condition that an entity must meet. */
export interface QuotaFilter {
  readonly type: string
  /**
   * `exact`: the entity has this name. `default`: the entity is the default. `any`: the entity has any name, or is the
   * default.
   */
  readonly match: 'exact' | 'default' | 'any'
  /** Given for `exact`, else null. */
  readonly name: string | null
}

interface KeyRule {
  /** The largest value, if values must be whole numbers; null if values may have a fraction. */
  readonly wholeUpTo: number | null
  readonly typeName: string
}

const LONG: KeyRule = Object.freeze({ wholeUpTo: 2 ** 63, typeName: 'LONG' })
const INT: KeyRule = Object.freeze({ wholeUpTo: 2 ** 31 - 1, typeName: 'INT' })
const DOUBLE: KeyRule = Object.freeze({ wholeUpTo: null, typeName: 'DOUBLE' })

const CLIENT_KEYS: ReadonlyMap<string, KeyRule> = new Map([
  ['producer_byte_rate', LONG],
  ['consumer_byte_rate', LONG],
  ['request_percentage', DOUBLE],
])
const ADDRESS_KEYS: ReadonlyMap<string, KeyRule> = new Map([['connection_creation_rate', INT]])

/**
 * Resolves to one outcome for each alteration, in order: null, or the reason why no part of it was made. With
 * `validateOnly` it checks the alterations and changes nothing. Throws what the store throws; some quotas may have
 * changed then.
 */
export async function alterClientQuotas(
  { clientQuotas }: QuotaRooms,
  alterations: readonly QuotaAlteration[],
  { validateOnly }: { readonly validateOnly: boolean },
): Promise<readonly (Refusal | null)[]> {
  const checked = alterations.map(checkAlteration)
  const counts = new Map<string, number>()
  for (const change of checked) {
    if (!isRefusal(change))
      counts.set(quotaEntityKey(change.entity), (counts.get(quotaEntityKey(change.entity)) ?? 0) + 1)
  }
  const changes: QuotaChange[] = []
  /** The index of the outcome of each change. */
  const places: number[] = []
  const outcomes = checked.map((change, at): Refusal | null => {
    if (isRefusal(change)) return change
    if (counts.get(quotaEntityKey(change.entity))! > 1) {
      return because(INVALID_REQUEST, `Ignoring duplicate entity ${show(change.entity)}`)
    }
    if (Object.keys(change.values).length === 0) return null
    changes.push(change)
    places.push(at)
    return null
  })
  if (changes.length === 0 || validateOnly) return outcomes
  for (const [i, refusal] of (await clientQuotas.alter(changes)).entries()) outcomes[places[i]!] = refusal
  return outcomes
}

/**
 * Returns the quotas whose entities meet every filter. With `isStrict`, entities that have other types too are left
 * out.
 */
export function describeClientQuotas(
  { clientQuotas }: QuotaRooms,
  filters: readonly QuotaFilter[],
  isStrict: boolean,
): readonly ClientQuota[] | Refusal {
  const types = new Set<string>()
  for (const { type, match, name } of filters) {
    if (type === '') return because(INVALID_REQUEST, 'Invalid empty entity type.')
    if (types.has(type)) {
      return because(INVALID_REQUEST, `Entity type ${cut(type)} cannot appear more than once in the filter.`)
    }
    if (!isEntityType(type)) return because(UNSUPPORTED_VERSION, `Unsupported entity type ${cut(type)}`)
    if (match === 'exact' && name === null) {
      return because(INVALID_REQUEST, 'Request specified MATCH_TYPE_EXACT, but set match string to null.')
    }
    if (match !== 'exact' && name !== null) {
      const what = match === 'default' ? 'MATCH_TYPE_DEFAULT' : 'MATCH_TYPE_SPECIFIED'
      return because(INVALID_REQUEST, `Request specified ${what}, but also specified a match string.`)
    }
    types.add(type)
  }
  if (types.has('ip') && types.size > 1) {
    return because(
      INVALID_REQUEST,
      'Invalid entity filter component combination. IP filter component should not be used with user or clientId filter component.',
    )
  }
  return [...clientQuotas.current().values()].filter(({ entity }) => {
    if (isStrict && Object.keys(entity).length !== filters.length) return false
    return filters.every(({ type, match, name }) => {
      const own = entity[type as QuotaEntityType]
      return own !== undefined && (match === 'any' || own === name)
    })
  })
}

function isEntityType(type: string): type is QuotaEntityType {
  return type === 'user' || type === 'client-id' || type === 'ip'
}

function checkAlteration({ entity, edits }: QuotaAlteration): QuotaChange | Refusal {
  const checked = checkEntity(entity)
  if (isRefusal(checked)) return checked
  const rules = 'ip' in checked ? ADDRESS_KEYS : CLIENT_KEYS
  const values: Partial<Record<QuotaKey, number | null>> = {}
  for (const { key, value } of edits) {
    if (Object.hasOwn(values, key)) {
      const about = `not updating quota for this entity ${show(checked)}`
      return because(INVALID_REQUEST, `Duplicate quota key ${cut(key)} ${about}`)
    }
    const wrong = checkValue(key, rules.get(key), value)
    if (wrong !== null) return because(INVALID_REQUEST, wrong)
    values[key as QuotaKey] = value
  }
  return { entity: checked, values }
}

function checkEntity(names: readonly QuotaName[]): QuotaEntity | Refusal {
  if (names.length === 0) return because(INVALID_REQUEST, 'Invalid empty client quota entity')
  const entity: Partial<Record<QuotaEntityType, string | null>> = {}
  for (const { type, name } of names) {
    if (!isEntityType(type)) return because(INVALID_REQUEST, `Unhandled client quota entity type: ${cut(type)}`)
    if (type in entity) {
      return because(INVALID_REQUEST, `Invalid client quota entity, duplicate entity entry ${type}`)
    }
    if (name === '') return because(INVALID_REQUEST, `Empty ${type} not supported`)
    entity[type] = name
  }
  if (entity.ip === undefined) return entity
  if (names.length > 1) {
    return because(
      INVALID_REQUEST,
      'Invalid quota entity combination, IP entity should not be combined with User or ClientId',
    )
  }
  if (entity.ip === null || isIP(entity.ip) !== 0) return entity
  return because(INVALID_REQUEST, `${cut(entity.ip)} is not a valid IP; host names are not resolved.`)
}

/** Returns why the key cannot have this value; null if it can. */
function checkValue(key: string, rule: KeyRule | undefined, value: number | null): string | null {
  if (rule === undefined) return `Invalid configuration key ${cut(key)}`
  if (value === null) return null
  if (!(value > 0)) return `Quota ${key} must be greater than 0`
  const { wholeUpTo, typeName } = rule
  if (value > (wholeUpTo ?? Number.MAX_VALUE)) return `Proposed value for ${key} is too large for a ${typeName}.`
  if (wholeUpTo !== null && value % 1 > 1e-6) return `${key} cannot be a fractional value.`
  return null
}

function show(entity: QuotaEntity): string {
  const parts = Object.entries(entity).map(([type, name]) => `${type}=${name === null ? name : cut(name)}`)
  return `ClientQuotaEntity(entries={${parts.join(', ')}})`
}
