// Checks an address that came from outside, such as the page to return to after a sign-in: it must be a page of this
// console. The overview replaces any other address.

/** Returns the path with its query; `/` if the address leads elsewhere or is missing. */
export function ownAddress(text: string | undefined, origin = location.origin): string {
  // Browsers drop tabs and line breaks and take a backslash for a slash, so `/\t/host` and `/\host` are other servers.
  if (text === undefined || !text.startsWith('/') || /[\\\p{Cc}]/u.test(text)) return '/'
  const url = URL.parse(text, origin)
  if (url === null || url.origin !== origin || url.pathname.startsWith('//') || url.pathname === '/login') return '/'
  return url.pathname + url.search
}
