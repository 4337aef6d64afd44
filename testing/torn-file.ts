// Tears the append-only file of a Redis inside its last transaction, as a kill or a power loss can. The server must
// be stopped.

import { readdir, readFile, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import type { RedisServer } from './redis.ts'

/** Returns the path of the newest part of the append-only file, to which Redis writes. */
export async function newestFile({ folder }: RedisServer): Promise<string> {
  const files = join(folder, 'appendonlydir')
  const numberOf = (name: string) => Number(/\.(\d+)\.incr\.aof$/.exec(name)?.[1] ?? -1)
  const [newest] = (await readdir(files)).sort((one, other) => numberOf(other) - numberOf(one))
  return join(files, newest!)
}

export interface Torn {
  /** The name and the index of the torn command; MULTI has the index 0. */
  readonly name: string
  readonly at: number
  /** The number of commands in the transaction. */
  readonly count: number
  readonly names: readonly string[]
}

/**
 * Cuts the file in the middle of one command of the last transaction that contains `word`, and drops everything after
 * the cut. The index `at` is 0 for MULTI and -1 for EXEC. Returns null if no such transaction begins at or after
 * `from`.
 */
export async function tearTransaction(
  server: RedisServer,
  word: string | Uint8Array,
  at: number,
  from = 0,
): Promise<Torn | null> {
  const file = await newestFile(server)
  const bytes = await readFile(file)
  const end = bytes.lastIndexOf(word)
  const begin = end === -1 ? -1 : bytes.lastIndexOf('*1\r\n$5\r\nMULTI\r\n', end)
  if (begin < from) return null
  const commands: Command[] = []
  for (let next = begin; commands.at(-1)?.name !== 'EXEC'; next = commands.at(-1)!.to) {
    // A transaction that the kill itself has torn has no EXEC.
    if (next >= bytes.length) return null
    commands.push(commandAt(bytes, next))
  }
  const place = Math.min(at < 0 ? Math.max(0, commands.length + at) : at, commands.length - 1)
  const torn = commands[place]!
  await truncate(file, Math.floor((torn.from + torn.to) / 2))
  return { name: torn.name, at: place, count: commands.length, names: commands.map(({ name }) => name) }
}

interface Command {
  readonly name: string
  readonly from: number
  readonly to: number
}

function commandAt(bytes: Buffer, from: number): Command {
  const lineAt = (start: number) => bytes.toString('latin1', start, bytes.indexOf('\r\n', start))
  const count = Number(lineAt(from).slice(1))
  let to = from + lineAt(from).length + 2
  let name = ''
  for (let i = 0; i < count; i++) {
    const head = lineAt(to)
    const start = to + head.length + 2
    const length = Number(head.slice(1))
    if (i === 0) name = bytes.toString('latin1', start, start + length).toUpperCase()
    to = start + length + 2
  }
  return { name, from, to }
}
