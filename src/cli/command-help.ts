// Makes the help of the operator's commands from their own values.

import type { Command, Option } from './command.ts'
import { COMMON } from './common-options.ts'

/** Returns the full help of one command. */
export function commandHelp(command: Command): string {
  const own = Object.entries(command.options)
  const section = (title: string, options: readonly [string, Option][]) =>
    options.length === 0 ? '' : `\n${title}\n${options.map(optionLine).join('')}`
  return `Usage: ketch ${usageOf(command)} [options]\n\n${command.doc}\n${section('Options', own)}${section('Common options', Object.entries(COMMON))}`
}

/** Returns the help of several commands, one line for each. */
export function nounHelp(some: readonly Command[]): string {
  return `Usage:\n${commandLines(some)}\nketch <command> --help says more.\n`
}

export function commandLines(some: readonly Command[]): string {
  const usages = some.map(command => [`ketch ${usageOf(command)}`, command.doc] as const)
  const width = Math.max(...usages.map(([usage]) => usage.length))
  return usages.map(([usage, doc]) => `  ${usage.padEnd(width)}  ${doc.split(/(?<=\.)\s/, 1)[0]}\n`).join('')
}

function usageOf({ name, args }: Command): string {
  const shown = args.map(({ name: arg, isOptional, isMany }) => {
    const text = `<${arg}>${isMany ? ' …' : ''}`
    return isOptional ? `[${text}]` : text
  })
  return [name, ...shown].join(' ')
}

function optionLine([name, { value, doc, isMany }]: [string, Option]): string {
  const text = value === null ? `--${name}` : `--${name}=<${value}>`
  return `  ${text}${isMany ? ' …' : ''}\n      ${doc}\n`
}
