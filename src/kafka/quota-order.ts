// The order in which Apache Kafka's answers name the entities of quotas and their values: that of java.util.HashMap,
// in which its ClientQuotasImage and its controller keep them. Clients that print what they read then print the same.
//
//   place of a key in a table    the low bits of its hash, after the high half was mixed in
//   size of a table              the smallest power of two that is filled to at most three quarters
//   keys in the same place       in the order in which they came

import type { QuotaKey } from '../coordinator/client-quotas.ts'

/** One type and name of an entity, as requests and answers have it. */
export interface EntityPart {
  readonly entityType: string
  readonly entityName: string | null
}

/** How small a table begins: one that an image copies, and one that starts without a size. */
export type LeastSize = 2 | 16

/** In the order of a table whose keys are the entities of these rows. `leastSize` is a power of two. */
export function orderRows<Row extends { readonly entity: readonly EntityPart[] }>(
  rows: readonly Row[],
  leastSize: LeastSize,
): readonly Row[] {
  return orderByHash(rows, ({ entity }) => hashOfEntity(entity), leastSize)
}

export function orderEntity(parts: readonly EntityPart[]): readonly EntityPart[] {
  return orderByHash(parts, ({ entityType }) => hashOfText(entityType), 16)
}

/** Of the values that were set together; Kafka puts the last two the other way round when they were set one by one. */
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

/** java.util.Objects.hash of a map: 31, and of each pair the hash of its key xor that of its value (0 for null). */
function hashOfEntity(parts: readonly EntityPart[]): number {
  return parts.reduce((sum, { entityType, entityName }) => {
    return (sum + (hashOfText(entityType) ^ (entityName === null ? 0 : hashOfText(entityName)))) | 0
  }, 31)
}

/** java.lang.String.hashCode. */
function hashOfText(text: string): number {
  let hash = 0
  for (let at = 0; at < text.length; at++) hash = (Math.imul(31, hash) + text.charCodeAt(at)) | 0
  return hash
}
