// Which text may stand in a Location header: a path of this server and nothing that a browser would take for another one.

const MOST_CHARACTERS = 2_048

/** The path with its query and fragment as it is to be written, or null where it leads elsewhere. */
export function ownPath(text: string): string | null {
  if (!text.startsWith('/') || text.length > MOST_CHARACTERS) return null
  // Browsers drop tabs and line breaks and take a backslash for a slash, so `/\t/host` and `/\host` are other servers.
  if (/[\\\p{Cc}]/u.test(text)) return null
  if (!URL.canParse(text, NOWHERE)) return null
  const { origin, pathname, search, hash } = new URL(text, NOWHERE)
  // Dots are resolved by now: `/.//host` would be `//host`.
  return origin === NOWHERE && !pathname.startsWith('//') ? pathname + search + hash : null
}

const NOWHERE = 'http://own.invalid'
