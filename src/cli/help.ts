// The text of `ketch --help`, made from the verbs and the table of settings. It prints nothing itself.

import type { Key, Setting } from '../settings/settings.ts'
import { fullKey, sections } from '../settings/settings.ts'
import { commandLines } from './command-help.ts'
import { commands } from './commands/all.ts'

const OPENING = `Usage: ketch [start] [--config=<file>] [--svc.<key>=<value> ...]

A streaming broker that speaks the Kafka wire protocol.

`

const INTRODUCTION = `
Options of start

  --config=<file>   settings in YAML (else the file that SVC_CONFIG names, else ./svc.yaml if it exists)
  --help            this text
  --version         the version

Settings come from the file, the environment and the command line; each beats the one before. A key is an environment
variable in capitals with _ for . and - (svc.broker.port is SVC_BROKER_PORT, svc.topics[0].name is SVC_TOPICS_0_NAME).
Durations are 500ms, 30s, 5m, 1h, 1d; sizes are 64KB, 1MB (2^20 bytes), 1GB. Unknown keys and bad values end startup.
`

/** The whole text, ending in a newline. */
export function helpText(): string {
  const parts = sections.map(({ title, rows }) => {
    const lines = Object.entries<Setting<unknown>>(rows).map(([key, row]) => describe(key as Key, row))
    return `\n${title}\n\n${lines.join('')}`
  })
  const operations = `Commands\n\n  ketch start  Runs a broker; also where no command is given.\n${commandLines(commands)}`
  return `${OPENING}${operations}${INTRODUCTION}${parts.join('')}`
}

function describe(key: Key, { shape, fallbackText, doc, ours, notYet }: Setting<unknown>): string {
  const full = fullKey(key)
  if (shape.kind === 'entries') {
    const fields = Object.entries(shape.fields).map(([name, field]) => {
      return `  --${full}[0].${name}=<${field.type.name}>\n      ${field.doc}${note(field)}\n`
    })
    return `  ${doc}${note({ ours, notYet })}\n${fields.join('')}`
  }
  const type = shape.kind === 'one' ? shape.type.name : shape.kind === 'list' ? 'a,b,…' : shape.item.name
  const name = shape.kind === 'map' ? `${full}.<name>` : full
  return `  --${name}=<${type}>  (default ${fallbackText === '' ? 'empty' : (fallbackText ?? 'unset')})\n      ${doc}${note({ ours, notYet })}\n`
}

function note({ ours, notYet }: { readonly ours?: boolean | undefined; readonly notYet?: string | undefined }): string {
  return `${ours ? ' [ours]' : ''}${notYet === undefined ? '' : ` [not in this version: ${notYet}]`}`
}
