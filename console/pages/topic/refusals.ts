// Which field of a form a refusal of the broker belongs to. The API names the fields of malformed requests. A refusal
// by Kafka's rules has a code and a sentence; a sentence about a config begins with the name of the config.

import { type Problem, sentenceOf } from '../../api/problem.ts'

export interface Refusals {
  /** The objection to each field: `name`, `partitions`, or the name of a config. */
  readonly fields: Readonly<Record<string, string>>
  /** The problem if it belongs to no field of the form; null if it does. */
  readonly rest: Problem | null
}

const FIELD_OF_CODE: Readonly<Record<string, string>> = {
  INVALID_TOPIC_EXCEPTION: 'name',
  TOPIC_ALREADY_EXISTS: 'name',
  INVALID_PARTITIONS: 'partitions',
}

const CONFIG_REFUSAL = /^(?<name>[a-z][a-z0-9.]*): (?<why>.+)$/s
/** The members of a request that hold configs. */
const CONFIG_FIELD = /^(?:configs|set)\.(?<name>.+)$/

export function refusalsOf(problem: Problem | null): Refusals {
  if (problem === null) return { fields: {}, rest: null }
  const { code, detail, fields } = problem
  const named = Object.entries(fields).map(([field, why]) => [CONFIG_FIELD.exec(field)?.groups?.name ?? field, why])
  if (named.length > 0) return { fields: Object.fromEntries(named), rest: null }
  if (FIELD_OF_CODE[code] !== undefined) return { fields: { [FIELD_OF_CODE[code]]: detail }, rest: null }
  const config = code === 'INVALID_CONFIG' ? CONFIG_REFUSAL.exec(detail)?.groups : undefined
  if (config !== undefined) return { fields: { [config.name!]: sentenceOf(config.why!) }, rest: null }
  return { fields: {}, rest: problem }
}
