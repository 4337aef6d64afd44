// What an operator's verb on the command line is: one value, in commands/<noun>.ts. It states its arguments and options, asks the
// API and shows the answer. It knows no process: what it reads and writes comes with the call.

import type { Clock } from '../base/clock.ts'
import type { Api } from './api.ts'
import { CommandFailed, EXIT, type ExitStatus } from './exit-status.ts'
import type { Terminal } from './terminal.ts'

export interface Option {
  /** What stands for the value in the help; null: the option is a switch. */
  readonly value: string | null
  readonly doc: string
  /** May be given several times. */
  readonly isMany?: boolean
}

export interface Argument {
  readonly name: string
  readonly isOptional?: boolean
  /** Takes all that is left. */
  readonly isMany?: boolean
}

export interface Command {
  /** `topics create`. */
  readonly name: string
  readonly doc: string
  readonly args: readonly Argument[]
  readonly options: Readonly<Record<string, Option>>
  run(call: Call): Promise<ExitStatus>
}

/** One run of a command. */
export interface Call {
  readonly api: Api
  readonly terminal: Terminal
  readonly clock: Clock
  readonly isJson: boolean
  /** The arguments, in order. */
  readonly args: readonly string[]
  /** The value of an option, or undefined. */
  option(name: string): string | undefined
  options(name: string): readonly string[]
  has(name: string): boolean
  /** The answer as JSON, or as the text that people read. */
  show(answer: unknown, text: () => string): void
}

/** What the option says, as a whole number. Throws CommandFailed where it is none. */
export function integerOption(call: Call, name: string, least: number): number | undefined {
  const text = call.option(name)
  return text === undefined ? undefined : integerOf(text, `--${name}`, least)
}

export function integerOf(text: string, what: string, least: number): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < least)
    throw new CommandFailed(EXIT.USAGE, `${what}: got ${JSON.stringify(text)}, takes a whole number from ${least}`)
  return value
}

/** Milliseconds since 1970, as such or as ISO 8601. */
export function timestampOf(text: string, what: string): number {
  // Anything else Date.parse would make some day of: of 5.5 the fifth of May 2001.
  const isTime = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/i.test(text)
  const atMs = /^-?\d+$/.test(text) ? Number(text) : isTime ? Date.parse(text) : Number.NaN
  if (Number.isNaN(atMs))
    throw new CommandFailed(
      EXIT.USAGE,
      `${what}: got ${JSON.stringify(text)}, takes milliseconds since 1970 or a time such as 2026-11-22T10:00:00Z`,
    )
  return atMs
}

/** What the option says, of these words. */
export function wordOption<W extends string>(call: Call, name: string, words: readonly W[], fallback: W): W {
  const text = call.option(name)
  if (text === undefined) return fallback
  const word = words.find(each => each.toLowerCase() === text.toLowerCase())
  if (word === undefined)
    throw new CommandFailed(EXIT.USAGE, `--${name}: got ${JSON.stringify(text)}, takes ${words.join(', ')}`)
  return word
}

/** Pairs such as `retention.ms=60000`. */
export function pairsOption(call: Call, name: string): readonly (readonly [name: string, value: string])[] {
  return call.options(name).map(text => {
    const equals = text.indexOf('=')
    if (equals <= 0) throw new CommandFailed(EXIT.USAGE, `--${name}: got ${JSON.stringify(text)}, takes <name>=<value>`)
    return [text.slice(0, equals), text.slice(equals + 1)] as const
  })
}

/** The switch that stands in for somebody who answers. */
export const YES: Option = { value: null, doc: 'Do not ask whether it is meant.' }

/** Goes on only when somebody said yes, by --yes or when asked. */
export async function confirm(call: Call, question: string): Promise<boolean> {
  if (call.has('yes')) return true
  const answer = await call.terminal.ask(`${question} [y/N] `)
  if (answer === null)
    throw new CommandFailed(EXIT.USAGE, 'nothing was changed: nobody is here to be asked, so it takes --yes')
  if (/^y(es)?$/i.test(answer.trim())) return true
  call.terminal.err('Nothing was changed.\n')
  return false
}

/** A password for somebody else, asked for twice, or from KETCH_NEW_PASSWORD. Never from the command line. */
export async function newPassword({ terminal }: Call, whose: string): Promise<string> {
  const given = terminal.variable('KETCH_NEW_PASSWORD')
  if (given !== undefined) return given
  const first = await terminal.ask(`New password of ${whose}: `, { isSecret: true })
  if (first === null)
    throw new CommandFailed(EXIT.USAGE, 'a new password is needed: set KETCH_NEW_PASSWORD, or run this in a terminal')
  const second = await terminal.ask('Once more: ', { isSecret: true })
  if (first !== second) throw new CommandFailed(EXIT.USAGE, 'the two passwords are not the same; nothing was changed')
  return first
}

/** A part of a path, whatever is in it. Throws CommandFailed for the two names that none can be. */
export function segment(text: string): string {
  // Whoever makes a request of a URL resolves these first, also as %2e (URL Standard, 4.4), and asks for another path.
  if (text === '.' || text === '..')
    throw new CommandFailed(EXIT.USAGE, `${JSON.stringify(text)} cannot be part of a URL, so it cannot be named here`)
  return encodeURIComponent(text)
}
