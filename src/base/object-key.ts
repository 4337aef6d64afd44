// The rules for the names of objects in an object store, so that the same names work in a bucket and in a folder.

/** Names of files that a folder uses for itself. No key may have them, so that objects can move to any place. */
export const RESERVED = '.ketch-'

/** S3 allows 1,024 bytes for the prefix of the place and the key. */
const LONGEST_KEY_BYTES = 800
/** The longest file name in bytes of most file systems. */
const LONGEST_SEGMENT_BYTES = 255

/** Returns the rule that a key breaks; null if it breaks none. */
export function objectionToKey(key: string): string | null {
  if (!key.isWellFormed() || /\p{Cc}/u.test(key)) return 'it has a control character or half a surrogate pair'
  if (Buffer.byteLength(key) > LONGEST_KEY_BYTES) return `it is longer than ${LONGEST_KEY_BYTES} bytes`
  for (const segment of key.split('/')) {
    if (segment === '') return "it has an empty segment, or a '/' at its beginning or end"
    if (segment === '.' || segment === '..') return `it has the segment '${segment}'`
    if (segment.startsWith(RESERVED)) return `segments that begin with ${RESERVED} are reserved`
    if (Buffer.byteLength(segment) > LONGEST_SEGMENT_BYTES)
      return `it has a segment of more than ${LONGEST_SEGMENT_BYTES} bytes`
  }
  return null
}
