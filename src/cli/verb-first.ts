// Finds the verb of a command line that begins with options. Only options that every verb takes may stand before it.
// For any other option, an error shows the right order.

import { commands } from './commands/all.ts'
import { COMMON } from './common-options.ts'
import { CommandFailed, EXIT } from './exit-status.ts'

/** Returns whether arguments that begin with an option mean an operator's verb, and not the start of a broker. */
export function meansVerb(argv: readonly string[]): boolean {
  return verbAt(argv) >= 0 || ['url', 'user', 'json'].includes(nameOf(argv[0]!))
}

/** Returns the same arguments with the verb first. Throws CommandFailed if the verb is not certain. */
export function verbFirst(argv: readonly string[]): readonly string[] {
  let at = 0
  while (argv[at]?.startsWith('-')) {
    const option = COMMON[nameOf(argv[at]!)]
    if (option === undefined) break
    at += option.value === null || argv[at]!.includes('=') ? 1 : 2
  }
  const rest = argv.slice(at)
  if (rest[0]?.startsWith('-') === false) return [...rest, ...argv.slice(0, at)]
  const verb = verbAt(argv)
  // The message names the option without its value, which may be a password.
  const option = `--${nameOf(rest[0] ?? argv[0]!)}`
  throw new CommandFailed(
    EXIT.USAGE,
    verb < 0
      ? `${option} belongs to a command, and no command is named: ketch <command> ${option} (ketch --help lists the commands)`
      : `${option} stands before the command: options of a command are written behind it, ketch ${argv[verb]} … ${option}`,
  )
}

/**
 * Returns the index of the first noun of a command, or -1. The file after --config does not count: it may have the
 * name of a noun.
 */
function verbAt(argv: readonly string[]): number {
  return argv.findIndex(
    (word, at) => argv[at - 1] !== '--config' && commands.some(({ name }) => name.split(' ')[0] === word),
  )
}

/** Returns `url` for `--url=x`. */
function nameOf(argument: string): string {
  return argument === '-h' ? 'help' : argument.replace(/^-+/, '').split('=', 1)[0]!
}
