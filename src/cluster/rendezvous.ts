// Which broker of many has a key: the one that draws the highest number for it (rendezvous hashing). Every broker that sees
// the same others comes to the same answer without asking, and a broker that comes or goes moves only what it gets or had.
// The numbers are a contract between brokers of all versions on one store: changing them makes mixed versions disagree.

/** FNV-1a over UTF-16 units, mixed. Keys that many brokers are asked about are hashed once. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return mix(hash)
}

/** The hash of a part of what `hash` is of, by its number. */
export function hashWithin(hash: number, number: number): number {
  return mix(hash ^ Math.imul(number + 1, 0x85ebca77))
}

/** The id that has the key with this hash; -1 when there are none. Equal draws go to the lower id. */
export function drawOf(ids: readonly number[], hash: number): number {
  let best = -1
  let highest = -1
  for (const id of ids) {
    const drawn = numberOf(id, hash)
    if (drawn > highest || (drawn === highest && id < best)) {
      best = id
      highest = drawn
    }
  }
  return best
}

/** The ids in the order in which they would have the key: each is what `drawOf` says of it and those behind it. */
export function orderOf(ids: readonly number[], hash: number): readonly number[] {
  const drawn = ids.map(id => ({ id, number: numberOf(id, hash) }))
  return drawn.sort((one, other) => other.number - one.number || one.id - other.id).map(({ id }) => id)
}

function numberOf(id: number, hash: number): number {
  return mix(hash ^ Math.imul(id + 1, 0x9e3779b1))
}

/** The finalizer of MurmurHash3: every bit of the input moves every bit of the output. */
function mix(input: number): number {
  let hash = input
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
