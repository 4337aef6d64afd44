// The texts of `ketch --help` and `ketch --help settings [word]`, made from the commands and the table of settings. It
// prints nothing itself.

import type { Key, Setting } from '../settings/settings.ts'
import { fullKey, sections } from '../settings/settings.ts'
import { environmentName } from '../settings/sources.ts'
import { commandLines } from './command-help.ts'
import { commands } from './commands/all.ts'

/** Returns the short help, which ends in a newline. */
export function helpText(): string {
  return `Usage: ketch [start] [--config=<file>] [--svc.<key>=<value> ...]
       ketch <command> [options]

Ketch is a streaming broker that speaks the Kafka wire protocol. Without a command it starts a broker: on the embedded
store in ./data, with Kafka on port 9092 and the admin API on port 8080.

Start

  --config=<file>               reads settings from this YAML file; by default that of SVC_CONFIG, else ./svc.yaml
  --svc.broker.port=9093        sets one setting; SVC_BROKER_PORT=9093 in the environment does the same
  --help settings               lists every setting
  --help settings <word>        lists the settings whose key or text contains the word, such as redis or tls
  --version                     prints the version

Commands, which ask a running broker

${commandLines(commands)}
ketch <command> --help says more. Guides: docs/README.md
`
}

const INTRODUCTION = `Settings come from the file, the environment and the command line; each beats the one before. A key is an environment
variable in capitals with _ for . and - (svc.broker.port is SVC_BROKER_PORT, svc.topics[0].name is SVC_TOPICS_0_NAME).
Durations are 500ms, 30s, 5m, 1h, 1d; sizes are 64KB, 1MB (2^20 bytes), 1GB. An unknown key or a bad value ends the start.
[ours] marks a key that the specification does not have.
`

/**
 * Returns the help of every setting whose key, section or text contains the word, or of all settings if the word is
 * null; null if no setting contains it.
 */
export function settingsHelp(word: string | null): string | null {
  const wanted = word?.toLowerCase() ?? ''
  const parts = sections.map(({ title, rows }) => {
    const described = Object.entries<Setting<unknown>>(rows).map(([key, row]) => describe(key as Key, row))
    const lines = title.toLowerCase().includes(wanted) ? described : described.filter(text => contains(text, wanted))
    return lines.length === 0 ? '' : `\n${title}\n\n${lines.join('')}`
  })
  const found = parts.join('')
  if (found === '') return null
  return `${word === null ? INTRODUCTION : ''}${found}`.replace(/^\n/, '')
}

/** Returns whether the text contains the word, or its key does in the spelling of the environment. */
function contains(text: string, wanted: string): boolean {
  return text.toLowerCase().includes(wanted) || environmentName(text).includes(wanted.toUpperCase())
}

function describe(key: Key, { shape, fallbackText, doc, ours, notYet }: Setting<unknown>): string {
  const full = fullKey(key)
  if (shape.kind === 'entries') {
    const fields = Object.entries(shape.fields).map(([name, field]) => {
      return `  --${full}[0].${name}=<${field.type.name}>${limits(field.type.limits)}\n      ${field.doc}${note(field)}\n`
    })
    return `  ${doc}${note({ ours, notYet })}\n${fields.join('')}`
  }
  const item = shape.kind === 'one' ? shape.type : shape.item
  const type = shape.kind === 'list' ? 'a,b,…' : item.name
  const name = shape.kind === 'map' ? `${full}.<name>` : full
  const fallback = fallbackText === '' ? 'empty' : (fallbackText ?? 'unset')
  return `  --${name}=<${type}>  (default ${fallback})${limits(item.limits)}\n      ${doc}${note({ ours, notYet })}\n`
}

function limits(text: string): string {
  return text === '' ? '' : `  ${text}`
}

function note({ ours, notYet }: { readonly ours?: boolean | undefined; readonly notYet?: string | undefined }): string {
  return `${ours ? ' [ours]' : ''}${notYet === undefined ? '' : ` [not in this version: ${notYet}]`}`
}
