// The media types of the schema registry: the three of Confluent's server, and which of them an Accept header takes.

/** In the order in which the server prefers them. */
export const REGISTRY_TYPES = Object.freeze([
  'application/vnd.schemaregistry.v1+json',
  'application/vnd.schemaregistry+json',
  'application/json',
] as const)

/**
 * Returns the type for an Accept header (RFC 9110, 12.5.1): the one that the client prefers, and of equal ones the
 * first; null if the header takes none of them. An element that cannot be read is left out, and a lone `*` stands for
 * any type, as old clients in Java write it.
 */
export function registryTypeFor(accept: string | undefined): string | null {
  const ranges = (accept ?? '').split(',').flatMap(text => rangeOf(text) ?? [])
  if (ranges.length === 0) return REGISTRY_TYPES[0]
  let best: { readonly type: string; readonly weight: number } | null = null
  for (const type of REGISTRY_TYPES) {
    const weight = weightOf(type, ranges)
    if (weight > (best?.weight ?? 0)) best = { type, weight }
  }
  return best?.type ?? null
}

interface Range {
  readonly name: string
  readonly weight: number
}

function rangeOf(text: string): Range | null {
  const [name = '', ...parameters] = text.split(';').map(part => part.trim().toLowerCase())
  if (name !== '*' && !/^[^\s/]+\/[^\s/]+$/.test(name)) return null
  const [, written] = parameters.map(each => /^q\s*=\s*(\d*(?:\.\d*)?)$/.exec(each)).find(found => found !== null) ?? []
  const weight = written === undefined || written === '' ? 1 : Number(written)
  return Number.isNaN(weight) ? null : { name: /^\*(\/|$)/.test(name) ? '*/*' : name, weight: Math.min(weight, 1) }
}

/** The most specific range decides. */
function weightOf(type: string, ranges: readonly Range[]): number {
  for (const name of [type, 'application/*', '*/*']) {
    const found = ranges.find(range => range.name === name)
    if (found !== undefined) return found.weight
  }
  return 0
}
