// Which subject holds the schemas of a topic's keys or values, and the names of the ways in Confluent's configs.

import type { Part } from './framing.ts'

/** TopicName: `<topic>-value`. RecordName: the record's full name. TopicRecordName: `<topic>-<record name>`. */
export const SUBJECT_STRATEGIES = Object.freeze(['TopicName', 'RecordName', 'TopicRecordName'] as const)
export type SubjectStrategy = (typeof SUBJECT_STRATEGIES)[number]

const PACKAGE = 'io.confluent.kafka.serializers.subject.'

/**
 * Returns the strategy of a config's value: the name of Confluent's class, with or without its package and its word
 * `Strategy`. Null for any other.
 */
export function subjectStrategyOf(text: string): SubjectStrategy | null {
  const name = text.startsWith(PACKAGE) ? text.slice(PACKAGE.length) : text
  const short = name.endsWith('Strategy') ? name.slice(0, -'Strategy'.length) : name
  return SUBJECT_STRATEGIES.find(strategy => strategy === short) ?? null
}

/** The name of Confluent's class. */
export const classOf = (strategy: SubjectStrategy): string => `${PACKAGE}${strategy}Strategy`

/** Returns the subject; null if the strategy needs a record name, and the schema has none. */
export function subjectOf(
  strategy: SubjectStrategy,
  topic: string,
  part: Part,
  recordName: string | null,
): string | null {
  if (strategy === 'TopicName') return `${topic}-${part}`
  if (recordName === null) return null
  return strategy === 'RecordName' ? recordName : `${topic}-${recordName}`
}
