// Sorts quota entities and their values into the order of Apache Kafka's answers. It is the order of
// java.util.HashMap, in which Kafka's ClientQuotasImage and its controller keep them. So clients that print an answer
// print the same.
//
//   bucket of a key          the low bits of its hash, after the high half was mixed in
//   number of buckets        the smallest power of two that is filled to at most three quarters
//   keys in the same bucket  in the order in which they were added

import type { QuotaKey } from '../coordinator/client-quotas.ts'

/** One type and name of an entity, as in requests and answers. */
export interface EntityPart {
  readonly entityType: string
  readonly entityName: string | null
}

/** The initial number of buckets: 2 for a map that an image copies, 16 for a map that starts without a size. */
export type LeastSize = 2 | 16

/**
 * Returns the rows in the order of a HashMap whose keys are the entities of these rows. `leastSize` is a power of
 * two.
 */
export function orderRows<Row extends { readonly entity: readonly EntityPart[] }>(
  rows: readonly Row[],
  leastSize: LeastSize,
): readonly Row[] {
  return orderByHash(rows, ({ entity }) => hashOfEntity(entity), leastSize)
}

export function orderEntity(parts: readonly EntityPart[]): readonly EntityPart[] {
  return orderByHash(parts, ({ entityType }) => hashOfText(entityType), 16)
}

/** The order of values that were set in one request. Kafka swaps the last two if they were set one by one. */
export const VALUE_ORDER: readonly QuotaKey[] = Object.freeze([
  'consumer_byte_rate',
  'request_percentage',
  'producer_byte_rate',
  'connection_creation_rate',
])

function orderByHash<T>(all: readonly T[], hashOf: (each: T) => number, leastSize: LeastSize): readonly T[] {
  let size: number = leastSize
  while (Math.floor(size * 0.75) < all.length) size *= 2
  const placed = all.map(each => {
    const hash = hashOf(each)
    return { each, place: (hash ^ (hash >>> 16)) & (size - 1) }
  })
  return placed.sort((one, other) => one.place - other.place).map(({ each }) => each)
}

/**
 * Returns java.util.Objects.hash of a map: 31 plus, for each pair, the hash of its key xor that of its value (0 for
 * null).
 */
function hashOfEntity(parts: readonly EntityPart[]): number {
  return parts.reduce((sum, { entityType, entityName }) => {
    return (sum + (hashOfText(entityType) ^ (entityName === null ? 0 : hashOfText(entityName)))) | 0
  }, 31)
}

/** Returns java.lang.String.hashCode of a text. */
function hashOfText(text: string): number {
  let hash = 0
  for (let at = 0; at < text.length; at++) hash = (Math.imul(31, hash) + text.charCodeAt(at)) | 0
  return hash
}
