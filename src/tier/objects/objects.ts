// The port to the place where the cold tier keeps its objects: a bucket of an S3 store with a prefix, or a folder. An
// object is named bytes that are written whole and read in ranges. The port knows nothing of tables, files of columns
// or topics. conformance.ts has one test for each promise of this file.

import { cut } from '../../base/cut.ts'
import { objectionToKey } from '../../base/object-key.ts'
import { printable } from '../../base/printable.ts'

/** Bytes [start, end) of an object: integers, 0 ≤ start ≤ end. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

export interface ObjectFacts {
  /** In bytes. */
  readonly size: number
  /** The last change, in ms since 1970 by the clock of the store. S3 has whole seconds. */
  readonly changedAtMs: number
}

export interface ListedObject extends ObjectFacts {
  readonly key: string
}

/**
 * A place for immutable objects. A key is relative to the place and '/'-separated; checkKey has its rules. Each call
 * rejects with an ObjectStoreError. Neither side changes bytes that were handed over.
 */
export interface Objects {
  /** The place as Iceberg metadata names it, without a slash at the end: `s3://bucket/prefix` or `file:///path`. */
  readonly uri: string
  /**
   * Resolves with the bytes of the range, or of the whole object; null if no object has the key. A range that passes
   * the end is cut there. More than 64 MiB of a whole object, or 2 GiB of a range, are refused. The bytes have an
   * ArrayBuffer of their own, which the caller may transfer to a thread.
   */
  read(key: string, range?: ByteRange): Promise<Uint8Array<ArrayBuffer> | null>
  /** Resolves with null if no object has the key. */
  stat(key: string): Promise<ObjectFacts | null>
  /**
   * Writes an object under a name that no other call uses. When it resolves, the object is durable. No reader ever sees
   * a part. If the parts throw, the call rejects with their error and leaves no object. When the place asks for the
   * next part, it no longer needs the one before: the caller may free its memory.
   */
  write(key: string, parts: AsyncIterable<Uint8Array> | Uint8Array): Promise<{ readonly size: number }>
  /**
   * Creates an object if no object has the key. The request is sent once; only a refusal that is certain to have
   * changed nothing is answered with another request. Rejects with kind 'unknown' if the object may have been created
   * or may yet be, and with 'conflict' if the store saw another create of the key and decided nothing (409 of S3).
   */
  create(key: string, bytes: Uint8Array): Promise<'created' | 'exists'>
  /** Writes an object whether or not it exists. A reader sees the former bytes or the new ones. */
  replace(key: string, bytes: Uint8Array): Promise<void>
  /**
   * Yields the objects whose keys begin with the prefix, in the order of the UTF-8 bytes of their keys. An object that
   * is created or deleted meanwhile may be missing. Foreign objects whose keys break the rules of checkKey are missing.
   */
  list(prefix: string): AsyncIterable<ListedObject>
  /** Deletes the objects; a missing object is no error. If it rejects, some of them may have been deleted. */
  delete(keys: readonly string[]): Promise<void>
  /** Ends the connections. Calls that still run may reject. */
  close(): Promise<void>
}

/**
 * - away: the store cannot be reached, answers 5xx or answers too late. The request changed nothing or may be repeated.
 * - refused: the store will not do it: no permission, wrong credentials, no bucket, or a key that breaks the rules.
 * - unknown: the object of a `create` may exist or not.
 * - conflict: another `create` of the key was in flight. The same request may be repeated.
 * - full: the store has no room.
 */
export type ObjectStoreErrorKind = 'away' | 'refused' | 'unknown' | 'conflict' | 'full'

/** The message names the request, the object and the answer of the store, and holds no secret and no signature. */
export class ObjectStoreError extends Error {
  override readonly name = 'ObjectStoreError'
  readonly kind: ObjectStoreErrorKind

  constructor(kind: ObjectStoreErrorKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.kind = kind
  }
}

/** Throws an ObjectStoreError of kind 'refused' if the key breaks a rule. */
export function checkKey(key: string): void {
  const objection = objectionToKey(key)
  if (objection !== null)
    throw new ObjectStoreError('refused', `'${printable(cut(key))}' cannot be the key of an object: ${objection}`)
}

/** Compares keys as S3 orders them: by their UTF-8 bytes. */
export function compareKeys(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
