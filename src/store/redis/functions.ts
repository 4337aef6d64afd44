// The Function library of functions.lua: its name, calls of it, and loading it where it is missing. A server can lose
// it at any time (FUNCTION FLUSH, a restart without a file, a new node of the cluster), so a caller loads it
// and calls again.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Argument, RedisLinks, Reply } from './client/links.ts'
import { RedisError } from './client/redis-error.ts'

const NAMES = [
  ...(['create', 'sweep', 'open', 'arm', 'seal', 'intend', 'trim', 'remake', 'confirm', 'raise'] as const),
  ...(['settle', 'touch', 'commit', 'recommit', 'place', 'displace'] as const),
] as const
export type FunctionName = (typeof NAMES)[number]

const source = readFileSync(new URL('./functions.lua', import.meta.url), 'utf8')
/** Two brokers whose texts differ have two libraries: neither runs the other's code. */
const version = createHash('sha256').update(source).digest('hex').slice(0, 8)
const library = source.replaceAll('VERSION', version)

/** Loads the library even if it is there: that changes nothing, but it is written to the append-only file again. */
export const LOAD_ANYWAY: readonly string[] = Object.freeze(['FUNCTION', 'LOAD', 'REPLACE', library])

/** As the server knows them. */
const fullNames = new Map(NAMES.map(name => [name, `ketch_${version}_${name}`]))

/** The arguments of one call. Numbers go as text. */
export function fcall(name: FunctionName, keys: readonly string[], args: readonly (Argument | number)[]): Argument[] {
  const call: Argument[] = ['FCALL', fullNames.get(name)!, String(keys.length), ...keys]
  for (const arg of args) call.push(typeof arg === 'number' ? String(arg) : arg)
  return call
}

/** The answer of a Function, as text. */
export function wordsOf(reply: Reply): string[] {
  return (reply as readonly Reply[]).map(String)
}

/** Loads the library on every primary; one that has it keeps it. */
export async function loadFunctions(links: RedisLinks): Promise<void> {
  await Promise.all(
    links.primaries().map(async link => {
      try {
        await link.send(['FUNCTION', 'LOAD', library])
      } catch (error) {
        if (!(error instanceof RedisError && error.message.includes('already exists'))) throw error
      }
    }),
  )
}

/** True for the reply of a server that does not have the library: nothing of the call was done. */
export function isMissing(error: unknown): boolean {
  return error instanceof RedisError && /Function not found/i.test(error.message)
}

/**
 * Runs the work, and once more after loading the library where that was missing. For work that is safe to begin again.
 */
export async function withFunctions<T>(links: RedisLinks, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isMissing(error)) throw error
    await loadFunctions(links)
    return await work()
  }
}
