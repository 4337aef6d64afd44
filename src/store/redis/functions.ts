// Names, calls and loads the Function library of functions.lua. A server can lose the library at any time (FUNCTION
// FLUSH, a restart without a file, a new node of the cluster). Then the caller loads it and repeats the call.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Argument, RedisLinks, Reply } from './client/links.ts'
import { RedisError } from './client/redis-error.ts'

const NAMES = [
  ...(['create', 'sweep', 'open', 'arm', 'seal', 'intend', 'trim', 'begin', 'rewrite', 'shear', 'remake'] as const),
  ...(['confirm', 'raise', 'settle', 'touch', 'commit', 'recommit', 'place', 'displace', 'raiseformat'] as const),
] as const
export type FunctionName = (typeof NAMES)[number]

const source = readFileSync(new URL('./functions.lua', import.meta.url), 'utf8')
/** Two brokers with different texts use two libraries: neither runs the other's code. */
const version = createHash('sha256').update(source).digest('hex').slice(0, 8)
const library = source.replaceAll('VERSION', version)

/**
 * The command that loads the library even if the server has it. The library does not change, but the command is
 * written to the append-only file again.
 */
export const LOAD_ANYWAY: readonly string[] = Object.freeze(['FUNCTION', 'LOAD', 'REPLACE', library])

/** The names of the Functions on the server. */
const fullNames = new Map(NAMES.map(name => [name, `ketch_${version}_${name}`]))

/** Returns the command of one call. Numbers are sent as text. */
export function fcall(name: FunctionName, keys: readonly string[], args: readonly (Argument | number)[]): Argument[] {
  const call: Argument[] = ['FCALL', fullNames.get(name)!, String(keys.length), ...keys]
  for (const arg of args) call.push(typeof arg === 'number' ? String(arg) : arg)
  return call
}

/** Returns the answer of a Function as text. */
export function wordsOf(reply: Reply): string[] {
  return (reply as readonly Reply[]).map(String)
}

/** Loads the library on every primary that does not have it. */
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

/** Returns true for the reply of a server that does not have the library: it did nothing of the call. */
export function isMissing(error: unknown): boolean {
  return error instanceof RedisError && /Function not found/i.test(error.message)
}

/** Runs the work. If the library is missing, loads it and runs the work once more. The work must be safe to repeat. */
export async function withFunctions<T>(links: RedisLinks, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isMissing(error)) throw error
    await loadFunctions(links)
    return await work()
  }
}
