// Rendezvous hashing: a key belongs to the broker that draws the highest number for it. Brokers with the same view
// get the same result without asking each other. When a broker comes or goes, only its own keys move. The numbers are
// a contract between brokers of all versions on one store: if they change, brokers of different versions disagree.

/** Returns the hash of a text: FNV-1a over its UTF-16 units, then `mix`. A key is hashed once for all brokers. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return mix(hash)
}

/** Returns the hash of a numbered part, such as one partition of the topic whose hash is `hash`. */
export function hashWithin(hash: number, number: number): number {
  return mix(hash ^ Math.imul(number + 1, 0x85ebca77))
}

/**
 * Returns the id that owns the key with this hash; -1 without ids. If two ids draw the same number, the lower id
 * wins.
 */
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

/**
 * Returns the ids in the order in which they would own the key: each id would own it if the ids before it were gone.
 */
export function orderOf(ids: readonly number[], hash: number): readonly number[] {
  const drawn = ids.map(id => ({ id, number: numberOf(id, hash) }))
  return drawn.sort((one, other) => other.number - one.number || one.id - other.id).map(({ id }) => id)
}

function numberOf(id: number, hash: number): number {
  return mix(hash ^ Math.imul(id + 1, 0x9e3779b1))
}

/** The finalizer of MurmurHash3: each bit of the input affects every bit of the output. */
function mix(input: number): number {
  let hash = input
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
