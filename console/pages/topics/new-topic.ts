// The request of the form Create topic, from the texts of its fields.

import type { NewTopic, ShownConfig } from '../../../src/api/topics.ts'
import { readConfig } from '../topic/config-text.ts'

export interface Draft {
  readonly name: string
  /** '' leaves the number to the topic patterns. */
  readonly partitions: string
  /** The texts by the name of the config; '' inherits. */
  readonly configs: Readonly<Record<string, string>>
}

export interface Request {
  readonly body: NewTopic
  /** The objections to texts that are no values, by field. With one of them there is nothing to ask the broker. */
  readonly objections: Readonly<Record<string, string>>
}

const UNIT = /\.(?<unit>ms|bytes)$/

/** Returns the unit in which the broker counts the config: Kafka's names end in it. */
export function unitOf(config: string): 'ms' | 'bytes' | null {
  return (UNIT.exec(config)?.groups?.unit as 'ms' | 'bytes' | undefined) ?? null
}

/**
 * Returns whether a form offers the config: a config with one choice leaves nothing to choose. A draft like another
 * topic may have a value that the broker no longer takes; its field must be there to change it.
 */
export function isOffered({ name, choices }: Pick<ShownConfig, 'name' | 'choices'>, { configs }: Draft): boolean {
  const text = configs[name] ?? ''
  return choices?.length !== 1 || (text !== '' && text !== choices[0])
}

export function requestOf({ name, partitions, configs }: Draft): Request {
  const objections: Record<string, string> = {}
  const values: Record<string, string> = {}
  for (const [config, text] of Object.entries(configs)) {
    if (text === '') continue
    const read = readConfig({ unit: unitOf(config) }, text)
    if ('error' in read) objections[config] = read.error
    else values[config] = read.value
  }
  const count = partitions.trim()
  if (count !== '' && !/^\d{1,9}$/.test(count)) objections.partitions = 'Expected a whole number, such as 3.'
  const body = {
    name: name.trim(),
    ...(count === '' || objections.partitions !== undefined ? {} : { partitions: Number(count) }),
    configs: values,
  }
  return { body, objections }
}
