// The names of all keys, in one place; docs/reference/redis-keys.md says what each holds. The keys of one partition
// share a hash slot, and so do the documents of one bucket with what is kept beside them. No name that a user chose is
// part of a key, but for the credentials, whose key the specification fixes.

import { createHash } from 'node:crypto'
import type { StreamId } from '../store.ts'

export interface StreamKeys {
  /** The Redis stream: one entry for each batch. */
  readonly batches: string
  readonly meta: string
  readonly rows: string
}

export interface DocumentKeys {
  readonly document: string
  /** The names of the documents of the bucket. */
  readonly index: string
  /** Where the versions of the bucket come from; never deleted. */
  readonly counter: string
}

/** Where a document rests whose place and shape the specification fixes. */
export type FixedPlace =
  /** A hash of its own; its fields are the document's. */
  | { readonly form: 'hash'; readonly key: string }
  /** One member of a hash; its value is the document's only field. */
  | { readonly form: 'member'; readonly key: string; readonly member: string; readonly field: string }

/** Where all documents of such a kind rest. */
export type FixedPlaces =
  | { readonly form: 'hash'; readonly prefix: string }
  | { readonly form: 'member'; readonly key: string; readonly field: string }

export interface Keys {
  /** Version of what is described here. */
  readonly format: string
  /** The names of all streams. */
  readonly streams: string
  stream(stream: StreamId): StreamKeys
  document(kind: string, name: string): DocumentKeys
  /** Null for the kinds that rest as `document` says, which are all but two. */
  fixed(kind: string): FixedPlaces | null
  /** The buckets of a kind, each with its index. */
  buckets(kind: string): readonly Pick<DocumentKeys, 'index' | 'counter'>[]
}

/**
 * Documents of these kinds are many, and are spread over this many slots. Of every other kind there are few, in one
 * slot, so that listing them, which brokers do all the time to see who lives, takes one command. Fixed: another number
 * would lose those that are stored.
 */
const BUCKETS: ReadonlyMap<string, number> = new Map([['group', 64]])

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
      return { batches: `${prefix}:batches`, meta: `${prefix}:meta`, rows: `${prefix}:rows` }
    },
    document(kind, name) {
      const digest = createHash('sha256').update(name).digest()
      const { prefix, index, counter } = bucketKeys(kind, digest[0]! % bucketsOf(kind))
      // 128 bits: no two names of a cluster will ever share them.
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

/** The place of one document among those of its kind. */
export function placeOf(places: FixedPlaces, name: string): FixedPlace {
  return places.form === 'hash' ? { form: 'hash', key: places.prefix + name } : { ...places, member: name }
}
