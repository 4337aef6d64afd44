// The grammar of `storage.remote.path`: the places where the remote tier can keep its objects. It opens no place and
// loads no client.

import { isAbsolute, normalize } from 'node:path'
import { cut } from '../base/cut.ts'
import { objectionToKey } from '../base/object-key.ts'
import { printable } from '../base/printable.ts'

export type RemotePlace =
  | { readonly kind: 's3'; readonly bucket: string; readonly prefix: string }
  | { readonly kind: 'folder'; readonly path: string }

const FORMS = 's3://bucket or s3://bucket/prefix, or the absolute path of a folder'

/** S3 asks for more, but other stores do not, and old buckets have capitals and underscores. */
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$/

/** A longer prefix would leave too little of the 1,024 bytes of an S3 key. */
const LONGEST_PREFIX_BYTES = 200

/**
 * Returns the place. The prefix of a bucket is '' or has no '/' at its ends. Throws an Error that names the text and
 * the two forms if the text is neither of them.
 */
export function parsePlace(text: string): RemotePlace {
  const found = readPlace(text)
  if (typeof found === 'string')
    throw new Error(`'${printable(cut(withoutLogin(text)))}' is no place for objects: ${found}`)
  return found
}

/** Returns the place, or the reason why the text is none. */
export function readPlace(text: string): RemotePlace | string {
  if (/\p{Cc}/u.test(text) || !text.isWellFormed()) return 'it has a control character or half a surrogate pair'
  if (text.startsWith('s3://')) return readBucket(text)
  if (!isAbsolute(text)) return `expected ${FORMS}`
  const path = normalize(text).replace(/\/$/, '')
  if (path === '') return 'the root of the file system cannot be used; name a folder of its own'
  return objectionOfSql(text) ?? { kind: 'folder', path }
}

function readBucket(text: string): RemotePlace | string {
  const [bucket, ...segments] = text.slice('s3://'.length).replace(/\/$/, '').split('/')
  if (!BUCKET.test(bucket!)) return `it names no bucket; expected ${FORMS}`
  const prefix = segments.join('/')
  if (prefix === '') {
    if (segments.length > 0) return `its prefix has an empty segment; expected ${FORMS}`
    return { kind: 's3', bucket: bucket!, prefix }
  }
  const forSql = objectionOfSql(prefix)
  if (forSql !== null) return forSql
  const objection = objectionToKey(prefix)
  if (objection !== null) return `its prefix cannot be used, because ${objection}; expected ${FORMS}`
  if (Buffer.byteLength(prefix) > LONGEST_PREFIX_BYTES) return `its prefix is longer than ${LONGEST_PREFIX_BYTES} bytes`
  return { kind: 's3', bucket: bucket!, prefix }
}

function objectionOfSql(part: string): string | null {
  const found = /[?#%]/.exec(part)
  return found === null ? null : `it has a '${found[0]}', and SQL engines would read the name of a file differently`
}

/** Hides a login in a URL: an operator may have written keys into it, and they must not get into a log. */
export function withoutLogin(text: string): string {
  return text.replace(/^(\w+:\/\/).*@/s, '$1***@')
}
