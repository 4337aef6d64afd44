// The names of all keys. docs/reference/redis-keys.md describes the content of each key. The keys of one partition
// share a hash slot, and so do the documents of one bucket with the keys beside them. No key contains a name that a
// user chose, except the keys of credentials, which the specification fixes.

import { createHash } from 'node:crypto'
import type { StreamId } from '../store.ts'

export interface StreamKeys {
  /** The Redis stream: one entry for each batch. */
  readonly batches: string
  readonly meta: string
  readonly rows: string
  /** Two streams of rewritten entries. They exist only if the stream was rewritten. */
  readonly cleaned: readonly [string, string]
}

export interface DocumentKeys {
  readonly document: string
  /** The names of the documents of the bucket. */
  readonly index: string
  /** The source of the versions of the bucket; never deleted. */
  readonly counter: string
}

/** The key of a document whose key and form the specification fixes. */
export type FixedPlace =
  /** A hash of its own; its fields are the document's. */
  | { readonly form: 'hash'; readonly key: string }
  /** One member of a hash; its value is the document's only field. */
  | { readonly form: 'member'; readonly key: string; readonly member: string; readonly field: string }

/** The keys of all documents of such a kind. */
export type FixedPlaces =
  | { readonly form: 'hash'; readonly prefix: string }
  | { readonly form: 'member'; readonly key: string; readonly field: string }

export interface Keys {
  /** The version of the format that is described here. */
  readonly format: string
  /** The names of all streams. */
  readonly streams: string
  stream(stream: StreamId): StreamKeys
  document(kind: string, name: string): DocumentKeys
  /** Returns null for all kinds that are stored under the keys of `document`. Only two kinds have other keys. */
  fixed(kind: string): FixedPlaces | null
  /** The buckets of a kind, each with its index. */
  buckets(kind: string): readonly Pick<DocumentKeys, 'index' | 'counter'>[]
}

/**
 * The number of slots over which the documents of a kind are spread, for kinds with many documents. Every other kind
 * has few documents, all in one slot: brokers list them all the time to see which brokers live, and that takes one
 * command. The numbers are fixed: with another number the stored documents would not be found.
 */
const BUCKETS: ReadonlyMap<string, number> = new Map([
  ['group', 64],
  ['schema-content', 64],
  ['schema-id', 64],
  ['schema-subject', 64],
  ['segments', 64],
])

export function keysOf(namespace: string): Keys {
  const bucketKeys = (kind: string, bucket: number) => {
    const prefix = `${namespace}:documents:{${kind}:${bucket}}`
    return { prefix, index: `${prefix}:index`, counter: `${prefix}:counter` }
  }
  return {
    format: `${namespace}:format`,
    streams: `${namespace}:streams`,
    stream(stream) {
      const prefix = `${namespace}:stream:{${stream}}`
      return {
        batches: `${prefix}:batches`,
        meta: `${prefix}:meta`,
        rows: `${prefix}:rows`,
        cleaned: [`${prefix}:cleaned0`, `${prefix}:cleaned1`],
      }
    },
    document(kind, name) {
      const digest = createHash('sha256').update(name).digest()
      const { prefix, index, counter } = bucketKeys(kind, digest[0]! % bucketsOf(kind))
      // With 128 bits no two names of a cluster will ever have the same digest.
      return { document: `${prefix}:document:${digest.subarray(0, 16).toString('base64url')}`, index, counter }
    },
    fixed(kind) {
      if (kind === 'credential') return { form: 'hash', prefix: `${namespace}:broker:credentials:` }
      if (kind === 'acl') return { form: 'member', key: `${namespace}:broker:acls`, field: 'document' }
      return null
    },
    buckets: kind => Array.from({ length: bucketsOf(kind) }, (_, bucket) => bucketKeys(kind, bucket)),
  }
}

function bucketsOf(kind: string): number {
  return BUCKETS.get(kind) ?? 1
}

/** Returns the key of one document of this kind. */
export function placeOf(places: FixedPlaces, name: string): FixedPlace {
  return places.form === 'hash' ? { form: 'hash', key: places.prefix + name } : { ...places, member: name }
}
