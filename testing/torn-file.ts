// The append-only file of a Redis as a kill or a power loss can leave it: torn inside its last transaction. The server
// must be stopped.

import { readdir, readFile, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import type { RedisServer } from './redis.ts'

/** The part of the append-only file that is written to. */
export async function newestFile({ folder }: RedisServer): Promise<string> {
  const files = join(folder, 'appendonlydir')
  const numberOf = (name: string) => Number(/\.(\d+)\.incr\.aof$/.exec(name)?.[1] ?? -1)
  const [newest] = (await readdir(files)).sort((one, other) => numberOf(other) - numberOf(one))
  return join(files, newest!)
}

export interface Torn {
  /** Of the command that was torn, and which one it was; MULTI is 0. */
  readonly name: string
  readonly at: number
  /** Of the transaction's commands. */
  readonly count: number
  readonly names: readonly string[]
}

/**
 * Cuts the file in the middle of one command of the last transaction that holds `word`; what is behind goes too. 0 is
 * MULTI, -1 is EXEC. Null where no such transaction begins at `from` or behind it.
 */
export async function tearTransaction(server: RedisServer, word: string, at: number, from = 0): Promise<Torn | null> {
  const file = await newestFile(server)
  const bytes = await readFile(file)
  const end = bytes.lastIndexOf(word)
  const begin = end === -1 ? -1 : bytes.lastIndexOf('*1\r\n$5\r\nMULTI\r\n', end)
  if (begin < from) return null
  const commands: Command[] = []
  for (let next = begin; commands.at(-1)?.name !== 'EXEC'; next = commands.at(-1)!.to) {
    // A transaction that the kill itself has torn ends before its EXEC.
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
