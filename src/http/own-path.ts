// Checks a text for a Location header: it must be a path of this server, and no text that a browser would take for
// another server.

/**
 * The most characters of a path as it is written, where a letter outside ASCII takes six characters or more. The path
 * goes into a cookie, and browsers drop a cookie above 4,096 bytes.
 */
const MOST_CHARACTERS = 2_048

/** Returns the path with its query and fragment as it is written in the header; null if it leads to another server. */
export function ownPath(text: string): string | null {
  if (!text.startsWith('/')) return null
  // Browsers drop tabs and line breaks and take a backslash for a slash, so `/\t/host` and `/\host` are other servers.
  if (/[\\\p{Cc}]/u.test(text)) return null
  if (!URL.canParse(text, NOWHERE)) return null
  const { origin, pathname, search, hash } = new URL(text, NOWHERE)
  // Dots are resolved here: `/.//host` has become `//host`.
  if (origin !== NOWHERE || pathname.startsWith('//')) return null
  const written = pathname + search + hash
  return written.length <= MOST_CHARACTERS ? written : null
}

const NOWHERE = 'http://own.invalid'
