// The draft of changed configs of a topic, and the request that it makes.

import type { ShownConfig } from '../../../src/api/topics.ts'
import { readConfig } from './config-text.ts'

/** By the name of the config: the text of its field, or null to take it back to the inherited value. */
export type Edits = Readonly<Record<string, string | null>>

export const NO_EDITS: Edits = {}

export interface ConfigStep {
  readonly config: ShownConfig
  /** The new value; null for the inherited one, which only the broker knows. */
  readonly to: string | null
}

export interface Change {
  readonly steps: readonly ConfigStep[]
  /** The body of the request. */
  readonly body: { readonly set: Readonly<Record<string, string>>; readonly delete: readonly string[] }
  /** The objections to texts that are no values, by config. */
  readonly objections: Readonly<Record<string, string>>
}

/** Returns the changes in the order of the configs. A field with its old value changes nothing. */
export function changeOf(configs: readonly ShownConfig[], edits: Edits): Change {
  const steps: ConfigStep[] = []
  const objections: Record<string, string> = {}
  for (const config of configs) {
    const text = edits[config.name]
    if (text === undefined) continue
    if (text === null) {
      if (config.source === 'topic') steps.push({ config, to: null })
      continue
    }
    const read = readConfig(config, text)
    if ('error' in read) objections[config.name] = read.error
    else if (read.value !== config.value) steps.push({ config, to: read.value })
  }
  const set = steps.flatMap(({ config, to }) => (to === null ? [] : [[config.name, to] as const]))
  const gone = steps.filter(({ to }) => to === null).map(({ config }) => config.name)
  return { steps, body: { set: Object.fromEntries(set), delete: gone }, objections }
}

/** Returns the edits with another one; undefined takes the edit of the config back. */
export function withEdit(edits: Edits, name: string, text: string | null | undefined): Edits {
  const { [name]: _, ...others } = edits
  return text === undefined ? others : { ...others, [name]: text }
}
