// Schemas with very many members, cut into pieces that mean the same. ajv writes one function for a schema, in which
// each member is nested in the one before: thousands of them take quadratic time to compile and exhaust the stack.

type Plain = Record<string, unknown>

/** Members are cut into pieces of this many. */
const MOST_MEMBERS = 50

/** Keywords whose members all have to hold. */
const MAPS = ['properties', 'patternProperties', 'dependentRequired', 'dependentSchemas'] as const
/** Those whose names other keywords of the same schema look at. */
const NAMED = ['properties', 'patternProperties']

/** Cuts a schema. `define` keeps a piece as a schema of its own and returns the reference to it. */
export function cutWide(body: Plain, define: (piece: Plain) => Plain): void {
  const all = [...((body.allOf as unknown[] | undefined) ?? [])]
  for (const keyword of MAPS) {
    const map = body[keyword] as Plain | undefined
    const names = map === undefined ? [] : Object.keys(map)
    if (names.length <= MOST_MEMBERS) continue
    for (const piece of pieces(names)) all.push(define({ [keyword]: pick(map!, piece) }))
    delete body[keyword]
    if (NAMED.includes(keyword) && body.additionalProperties !== undefined) {
      body[keyword] = Object.fromEntries(names.map(name => [name, true]))
    }
  }
  const one = body.oneOf as unknown[] | undefined
  if (one !== undefined && one.length > MOST_MEMBERS) {
    // Exactly one piece has members that match, and a piece has exactly one of them: it is the same piece.
    const cut = pieces(one)
    all.push(define({ oneOf: cut.map(piece => define({ anyOf: piece })) }))
    all.push(define({ anyOf: cut.map(piece => define({ oneOf: piece })) }))
    delete body.oneOf
  }
  const any = body.anyOf as unknown[] | undefined
  if (any !== undefined && any.length > MOST_MEMBERS) body.anyOf = pieces(any).map(piece => define({ anyOf: piece }))
  if (all.length > 0) body.allOf = all.length <= MOST_MEMBERS ? all : pieces(all).map(piece => define({ allOf: piece }))
}

/** At most MOST_MEMBERS pieces, of at least MOST_MEMBERS members each. */
function pieces<T>(all: readonly T[]): T[][] {
  const size = Math.max(MOST_MEMBERS, Math.ceil(all.length / MOST_MEMBERS))
  return Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size))
}

function pick(map: Plain, names: readonly string[]): Plain {
  return Object.fromEntries(names.map(name => [name, map[name]]))
}
