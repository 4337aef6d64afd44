// Finds out whether a store creates an object only once. Commits to a table depend on it, and some stores accept the
// header but do not act on it, or check first and write later. So the store's behaviour decides, and not its name.

import { type Random, randomUuid } from '../../base/random.ts'
import { ObjectStoreError, type Objects } from './objects.ts'

const CREATES = 8
const ROUNDS = 3

/**
 * Lets eight creates of a fresh key run at once and one more after them, and removes the object. Resolves with true if
 * exactly one succeeded and the object has its bytes; with false if the store let several succeed, or lost the one.
 * Rejects as create does.
 */
export async function probeCreateOnly(objects: Objects, random: Random): Promise<boolean> {
  for (let round = 1; ; round++) {
    const key = `ketch-probe/${randomUuid(random)}`
    let verdict: boolean | Error
    try {
      verdict = await raceFor(objects, key)
    } catch (error) {
      // If this fails too, the caller gets the first error. An object of one byte may stay.
      await Promise.allSettled([objects.delete([key])])
      throw error
    }
    await objects.delete([key])
    if (typeof verdict === 'boolean') return verdict
    if (round === ROUNDS) throw verdict
  }
}

/** Resolves with an error if no create succeeded: the store saw each of them in conflict with another one. */
async function raceFor(objects: Objects, key: string): Promise<boolean | Error> {
  const bodies = Array.from({ length: CREATES }, (_, racer) => new Uint8Array([racer]))
  const results = await Promise.allSettled(bodies.map(body => objects.create(key, body)))
  const failures = results.flatMap(result => (result.status === 'rejected' ? [result.reason] : []))
  const other = failures.find(error => !(error instanceof ObjectStoreError && error.kind === 'conflict'))
  const winners = results.flatMap((result, racer) =>
    result.status === 'fulfilled' && result.value === 'created' ? [racer] : [],
  )
  if (winners.length > 1) return false
  if (other !== undefined) throw other
  if (winners.length === 0) return failures[0] ?? false
  if ((await objects.create(key, new Uint8Array([CREATES]))) === 'created') return false
  const bytes = await objects.read(key)
  return bytes?.length === 1 && bytes[0] === winners[0]
}
