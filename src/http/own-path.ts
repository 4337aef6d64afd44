// Which text may stand in a Location header: a path of this server, and no text that a browser would take for another
// server.

/**
 * As written, where a letter outside ASCII is six characters or more. It goes into a cookie, and browsers drop one
 * above 4,096 bytes.
 */
const MOST_CHARACTERS = 2_048

/** The path with its query and fragment as it is to be written, or null if it leads elsewhere. */
export function ownPath(text: string): string | null {
  if (!text.startsWith('/')) return null
  // Browsers drop tabs and line breaks and take a backslash for a slash, so `/\t/host` and `/\host` are other servers.
  if (/[\\\p{Cc}]/u.test(text)) return null
  if (!URL.canParse(text, NOWHERE)) return null
  const { origin, pathname, search, hash } = new URL(text, NOWHERE)
  // Dots are resolved by now: `/.//host` would be `//host`.
  if (origin !== NOWHERE || pathname.startsWith('//')) return null
  const written = pathname + search + hash
  return written.length <= MOST_CHARACTERS ? written : null
}

const NOWHERE = 'http://own.invalid'
