// How many ids a request may name in its address.

/** The most characters of the ids in an address. The broker takes 80 KiB of headers, and proxies often less. */
const LONGEST = 6 * 1024

/** Returns the first ids that fit into one address together. */
export function thatFit(ids: readonly string[], longest = LONGEST): readonly string[] {
  let length = 0
  const end = ids.findIndex(id => {
    length += encodeURIComponent(id.toWellFormed()).length + 'groups=&'.length
    return length > longest
  })
  return end === -1 ? ids : ids.slice(0, end)
}
