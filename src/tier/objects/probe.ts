// Finds out whether a store creates an object only once. Commits to a table depend on it, and some stores accept the
// header but do not act on it, or check first and write later. So the store's behaviour decides, and not its name.

import { type Random, randomUuid } from '../../base/random.ts'
import { ObjectStoreError, type Objects } from './objects.ts'

const CREATES = 8
/** With more lost answers too few others show what the store does. */
const MOST_UNKNOWN = 4
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

/**
 * Resolves with an error if nothing can be said: each create met another one, or too many answers were lost. A lost
 * answer alone says nothing against the store: the object has the bytes of the create that succeeded.
 */
async function raceFor(objects: Objects, key: string): Promise<boolean | Error> {
  const bodies = Array.from({ length: CREATES }, (_, racer) => new Uint8Array([racer]))
  const results = await Promise.all(bodies.map(body => attempt(objects, key, body)))
  const racers = (kind: Outcome) => results.flatMap((result, racer) => (result === kind ? [racer] : []))
  const errors = results.filter(result => result instanceof Error)
  const winners = racers('created')
  if (winners.length > 1) return false
  const other = errors.find(({ kind }) => kind !== 'conflict' && kind !== 'unknown')
  if (other !== undefined) throw other
  const unknown = results.flatMap((result, racer) => (isUnknown(result) ? [racer] : []))
  const candidates = winners.length === 1 ? winners : unknown
  if (candidates.length === 0) return errors[0] ?? false
  if (unknown.length > MOST_UNKNOWN) return errors.find(isUnknown)!
  const late = await attempt(objects, key, new Uint8Array([CREATES]))
  if (late === 'created') return false
  if (late instanceof Error && late.kind !== 'unknown') throw late
  const bytes = await objects.read(key)
  // Of creates whose answers were lost none may have succeeded.
  if (bytes === null && winners.length === 0) return errors.find(isUnknown)!
  return bytes?.length === 1 && candidates.includes(bytes[0]!)
}

type Outcome = 'created' | 'exists' | ObjectStoreError

async function attempt(objects: Objects, key: string, body: Uint8Array): Promise<Outcome> {
  try {
    return await objects.create(key, body)
  } catch (error) {
    if (error instanceof ObjectStoreError) return error
    throw error
  }
}

const isUnknown = (outcome: Outcome): outcome is ObjectStoreError =>
  outcome instanceof ObjectStoreError && outcome.kind === 'unknown'
