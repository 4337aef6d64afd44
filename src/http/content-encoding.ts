// Chooses the encoding of a body that exists in several encodings already. Other answers are compressed by a plugin
// (server.ts).

/**
 * Returns the first of the offered encodings that an Accept-Encoding header takes; null if it takes none of them, and
 * without the header (RFC 9110, 12.5.3). Its weights decide only which encodings are refused.
 */
export function encodingFor<E extends string>(accepted: string, offered: readonly E[]): E | null {
  const weights = new Map(
    accepted.split(',').map(part => {
      const [name, ...parameters] = part.split(';').map(text => text.trim().toLowerCase())
      const weight = parameters.find(text => text.startsWith('q='))
      return [name, weight === undefined ? 1 : Number(weight.slice('q='.length))]
    }),
  )
  return offered.find(each => (weights.get(each) ?? weights.get('*') ?? 0) > 0) ?? null
}
