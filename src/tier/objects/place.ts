// The setting `storage.remote.path`: reads it as a place, and opens the place. Only here are the two kinds of places
// told apart.

import { isAbsolute, normalize } from 'node:path'
import { cut } from '../../base/cut.ts'
import { printable } from '../../base/printable.ts'
import { type FolderDeps, openFolder } from './folder.ts'
import { type Objects, objectionToKey } from './objects.ts'
import { openS3 } from './s3.ts'
import type { S3Options } from './s3-client.ts'

export type Place =
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
export function parsePlace(text: string): Place {
  const refuse = (why: string) => new Error(`'${printable(cut(withoutLogin(text)))}' is no place for objects: ${why}`)
  if (/\p{Cc}/u.test(text) || !text.isWellFormed()) throw refuse('it has a control character or half a surrogate pair')
  if (text.startsWith('s3://')) {
    const [bucket, ...segments] = text.slice('s3://'.length).replace(/\/$/, '').split('/')
    if (!BUCKET.test(bucket!)) throw refuse(`it names no bucket; expected ${FORMS}`)
    const prefix = segments.join('/')
    if (prefix === '') {
      if (segments.length > 0) throw refuse(`its prefix has an empty segment; expected ${FORMS}`)
      return { kind: 's3', bucket: bucket!, prefix }
    }
    checkForSql(prefix)
    const objection = objectionToKey(prefix)
    if (objection !== null) throw refuse(`its prefix cannot be used, because ${objection}; expected ${FORMS}`)
    if (Buffer.byteLength(prefix) > LONGEST_PREFIX_BYTES)
      throw refuse(`its prefix is longer than ${LONGEST_PREFIX_BYTES} bytes`)
    return { kind: 's3', bucket: bucket!, prefix }
  }
  if (!isAbsolute(text)) throw refuse(`expected ${FORMS}`)
  checkForSql(text)
  const path = normalize(text).replace(/\/$/, '')
  if (path === '') throw refuse('the root of the file system cannot be used; name a folder of its own')
  return { kind: 'folder', path }

  function checkForSql(part: string): void {
    const found = /[?#%]/.exec(part)
    if (found !== null)
      throw refuse(`it has a '${found[0]}', and SQL engines would read the name of a file differently`)
  }
}

/** An operator may have written keys into the URL. They must not get into a log. */
function withoutLogin(text: string): string {
  return text.replace(/^(\w+:\/\/).*@/s, '$1***@')
}

/**
 * Opens a place. Asks no store: a store that is away rejects the first call, and not this one. Loads the client of S3
 * only for a bucket.
 */
export async function openObjects(place: Place, options: S3Options, deps: FolderDeps): Promise<Objects> {
  return place.kind === 'folder' ? openFolder(place.path, deps) : openS3(place, options)
}
