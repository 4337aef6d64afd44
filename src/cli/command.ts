// The type of an operator's command. Each command is one value in commands/<noun>.ts: it names its arguments and
// options, sends requests to the API and shows the answer. It does not use the process: the call has its input and
// output.

import type { Clock } from '../base/clock.ts'
import type { Api } from './api.ts'
import { CommandFailed, EXIT, type ExitStatus } from './exit-status.ts'
import type { Terminal } from './terminal.ts'

export interface Option {
  /** A word that stands for the value in the help; null for a switch. */
  readonly value: string | null
  readonly doc: string
  /** The user may give it several times. */
  readonly isMany?: boolean
}

export interface Argument {
  readonly name: string
  readonly isOptional?: boolean
  /** Takes all the remaining words. */
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
  /** Returns the value of an option, or undefined. */
  option(name: string): string | undefined
  options(name: string): readonly string[]
  has(name: string): boolean
  /** Prints the answer as JSON if the user asked for it, else the text for people. */
  show(answer: unknown, text: () => string): void
}

/**
 * Returns the value of the option as a whole number; undefined without the option. Throws CommandFailed for any other
 * text.
 */
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

/** Returns milliseconds since 1970 from a number or from ISO 8601. Throws CommandFailed for any other text. */
export function timestampOf(text: string, what: string): number {
  // Date.parse reads almost any other text as a day: 5.5 becomes the fifth of May 2001.
  const isTime = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/i.test(text)
  const atMs = /^-?\d+$/.test(text) ? Number(text) : isTime ? Date.parse(text) : Number.NaN
  if (Number.isNaN(atMs))
    throw new CommandFailed(
      EXIT.USAGE,
      `${what}: got ${JSON.stringify(text)}, takes milliseconds since 1970 or a time such as 2026-11-22T10:00:00Z`,
    )
  return atMs
}

/**
 * Returns the value of the option, which is one of these words; `fallback` without the option. Throws CommandFailed
 * for any other text.
 */
export function wordOption<W extends string>(call: Call, name: string, words: readonly W[], fallback: W): W {
  const text = call.option(name)
  if (text === undefined) return fallback
  const word = words.find(each => each.toLowerCase() === text.toLowerCase())
  if (word === undefined)
    throw new CommandFailed(EXIT.USAGE, `--${name}: got ${JSON.stringify(text)}, takes ${words.join(', ')}`)
  return word
}

/** Returns the values of the option as pairs, such as `retention.ms=60000`. Throws CommandFailed for any other text. */
export function pairsOption(call: Call, name: string): readonly (readonly [name: string, value: string])[] {
  return call.options(name).map(text => {
    const equals = text.indexOf('=')
    if (equals <= 0) throw new CommandFailed(EXIT.USAGE, `--${name}: got ${JSON.stringify(text)}, takes <name>=<value>`)
    return [text.slice(0, equals), text.slice(equals + 1)] as const
  })
}

/** The switch that answers yes in place of a person. */
export const YES: Option = { value: null, doc: 'Does not ask for confirmation.' }

/** Resolves with true if --yes is given or the user answers yes. Throws CommandFailed without a terminal. */
export async function confirm(call: Call, question: string): Promise<boolean> {
  if (call.has('yes')) return true
  const answer = await call.terminal.ask(`${question} [y/N] `)
  if (answer === null)
    throw new CommandFailed(EXIT.USAGE, 'nothing was changed: without a terminal to confirm it, add --yes')
  if (/^y(es)?$/i.test(answer.trim())) return true
  call.terminal.err('Nothing was changed.\n')
  return false
}

/** Resolves with a new password of a user: from KETCH_NEW_PASSWORD, or typed twice. Never from the command line. */
export async function newPassword({ api, terminal }: Call, whose: string): Promise<string> {
  const given = terminal.variable('KETCH_NEW_PASSWORD')
  if (given !== undefined) return given
  // Sign in first. Otherwise the question for the current password would come after those for the new one, and look
  // like a third of them.
  await api.signIn()
  const first = await terminal.ask(`New password of ${whose}: `, { isSecret: true })
  if (first === null)
    throw new CommandFailed(EXIT.USAGE, 'a new password is needed: set KETCH_NEW_PASSWORD, or run this in a terminal')
  const second = await terminal.ask('Once more: ', { isSecret: true })
  if (first !== second) throw new CommandFailed(EXIT.USAGE, 'the two passwords are not the same; nothing was changed')
  return first
}

/** Returns the text as one segment of a path. Throws CommandFailed for '', `.` and `..`, which cannot be one. */
export function segment(text: string): string {
  if (text === '') throw new CommandFailed(EXIT.USAGE, 'got "" in place of a name')
  // A program that requests a URL resolves these two first, also as %2e (URL Standard, 4.4), and requests another
  // path.
  if (text === '.' || text === '..')
    throw new CommandFailed(
      EXIT.USAGE,
      `${JSON.stringify(text)} cannot be part of a URL, so this command cannot take it`,
    )
  return encodeURIComponent(text)
}
