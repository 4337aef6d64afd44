// Which broker of many has a key: the one that draws the highest number for it (rendezvous hashing). Brokers with the
// same view come to the same answer without asking each other. When a broker comes or goes, only its own keys move. The
// numbers are a contract between brokers of all versions on one store: if they change, mixed versions disagree.

/** FNV-1a over UTF-16 units, mixed. The hash of a key is computed once for all brokers. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return mix(hash)
}

/** The hash of a numbered part of the thing that `hash` stands for. */
export function hashWithin(hash: number, number: number): number {
  return mix(hash ^ Math.imul(number + 1, 0x85ebca77))
}

/** The id that has the key with this hash; -1 without ids. Equal draws go to the lower id. */
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

/** The ids in the order in which they would have the key: each one wins the draw among itself and those behind it. */
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
