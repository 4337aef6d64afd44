// The operator's half of the command line: it finds the verb, reads its options, runs it and reports an error.
// main.ts starts a broker.

import { parseArgs } from 'node:util'
import type { Clock } from '../base/clock.ts'
import { printableLines } from '../base/printable.ts'
import { nearest } from '../settings/nearest.ts'
import { createApi } from './api.ts'
import type { Call, Command, Option } from './command.ts'
import { commandHelp, nounHelp } from './command-help.ts'
import { commands } from './commands/all.ts'
import { COMMON } from './common-options.ts'
import { CommandFailed, EXIT, type ExitStatus } from './exit-status.ts'
import type { Terminal } from './terminal.ts'
import { trustAuthorities } from './trust.ts'
import { verbFirst } from './verb-first.ts'

const DEFAULT_URL = 'http://localhost:8080'
const DEFAULT_USER = 'admin'

/** Runs the verb that the arguments name and returns the exit status. By then the terminal has every message. */
export async function runCommand(argv: readonly string[], terminal: Terminal, clock: Clock): Promise<ExitStatus> {
  const isJson = argv.includes('--json')
  try {
    return await run(verbFirst(argv), terminal, clock)
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error
    terminal.err(
      isJson && error.problem !== null
        ? `${JSON.stringify(error.problem)}\n`
        : `ketch: ${printableLines(error.message)}\n`,
    )
    return error.status
  }
}

async function run(argv: readonly string[], terminal: Terminal, clock: Clock): Promise<ExitStatus> {
  const wantsHelp = argv.includes('--help') || argv.includes('-h')
  const [noun = '', verb] = argv
  const ofNoun = commands.filter(({ name }) => name.split(' ')[0] === noun)
  if (ofNoun.length === 0)
    throw new CommandFailed(EXIT.USAGE, unknown(noun, [...new Set(commands.map(nounOf)), 'start']))
  const command = ofNoun.find(({ name }) => startsWith(argv, name))
  if (command === undefined) {
    if (wantsHelp || verb === undefined) {
      terminal[wantsHelp ? 'out' : 'err'](nounHelp(ofNoun))
      return wantsHelp ? EXIT.OK : EXIT.USAGE
    }
    throw new CommandFailed(
      EXIT.USAGE,
      unknown(
        `${noun} ${verb}`,
        ofNoun.map(({ name }) => name),
      ),
    )
  }
  if (wantsHelp) {
    terminal.out(commandHelp(command))
    return EXIT.OK
  }
  const call = readCall(command, argv.slice(command.name.split(' ').length), terminal, clock)
  try {
    return await command.run(call)
  } finally {
    await call.api.close()
  }
}

function nounOf({ name }: Command): string {
  return name.split(' ')[0]!
}

function startsWith(argv: readonly string[], name: string): boolean {
  return name.split(' ').every((word, at) => argv[at] === word)
}

function unknown(given: string, known: readonly string[]): string {
  const near = nearest(given, known)
  const suggestion = near === null ? '' : `; the nearest is "${near}"`
  return `there is no ${JSON.stringify(given)}${suggestion} (ketch --help lists the commands)`
}

function readCall(command: Command, rest: readonly string[], terminal: Terminal, clock: Clock): Call {
  const options: Readonly<Record<string, Option>> = { ...COMMON, ...command.options }
  const secret = rest.find(each => /^--(new-)?password(=|$)/.test(each))
  if (secret !== undefined)
    throw new CommandFailed(
      EXIT.USAGE,
      'a password is never taken from the command line, where others can read it: set KETCH_PASSWORD or KETCH_NEW_PASSWORD',
    )
  const { values, positionals } = parse(command, rest, options)
  const least = command.args.filter(({ isOptional }) => isOptional !== true).length
  const most = command.args.some(({ isMany }) => isMany === true) ? Number.POSITIVE_INFINITY : command.args.length
  if (positionals.length < least) {
    throw new CommandFailed(EXIT.USAGE, `${command.name}: the ${command.args[positionals.length]!.name} is missing`)
  }
  if (positionals.length > most)
    throw new CommandFailed(EXIT.USAGE, `${command.name}: takes no ${JSON.stringify(positionals[most])}`)
  const given = (name: string) => values[name] as readonly string[] | undefined
  const url = given('url')?.at(-1) ?? terminal.variable('KETCH_URL') ?? DEFAULT_URL
  const user = given('user')?.at(-1) ?? terminal.variable('KETCH_USER') ?? DEFAULT_USER
  if (/^https:/i.test(url)) trustAuthorities(given('ca-file')?.at(-1) ?? terminal.variable('KETCH_CA_FILE'))
  const isJson = 'json' in values
  return {
    api: createApi({ url, user, terminal, clock }),
    terminal,
    clock,
    isJson,
    args: positionals,
    option: name => given(name)?.at(-1),
    options: name => given(name) ?? [],
    has: name => name in values,
    show: (answer, text) => terminal.out(isJson ? `${JSON.stringify(answer, null, 2)}\n` : text()),
  }
}

function parse(command: Command, args: readonly string[], options: Readonly<Record<string, Option>>) {
  const shapes = Object.entries(options).map(([name, { value }]) => {
    return [name, { type: value === null ? ('boolean' as const) : ('string' as const), multiple: true }] as const
  })
  try {
    return parseArgs({ args: [...args], options: Object.fromEntries(shapes), allowPositionals: true, strict: true })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (!code?.startsWith('ERR_PARSE_ARGS')) throw error
    const [, option] = /^Unknown option '--([^']*)'/.exec(message) ?? []
    const why =
      option === undefined
        ? message.split('. ', 1)[0]!
        : unknown(
            `--${option}`,
            Object.keys(options).map(each => `--${each}`),
          )
    throw new CommandFailed(EXIT.USAGE, `${command.name}: ${why}`)
  }
}
