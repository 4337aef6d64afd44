// Which subject holds the schemas of a topic's keys or values.

import type { SubjectNameStrategy } from '../../settings/topic-configs.ts'
import type { Part } from './framing.ts'

/** TopicName: `<topic>-value`. RecordName: the record's full name. TopicRecordName: `<topic>-<record name>`. */
export type SubjectStrategy = SubjectNameStrategy

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
