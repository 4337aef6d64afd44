// The shapes that log/ declares for its judges (log/judge.ts), as far as this room uses them. Both rooms are on one
// floor, so neither imports the other: broker.ts brings them together, and the compiler compares the shapes there.

import type { Turns } from '../../base/clock.ts'
import type { Patience } from '../../base/patience.ts'
import type { Refusal } from '../../protocol/errors.ts'
import type { RecordWalk } from '../../protocol/records.ts'
import type { TopicConfigs } from '../../settings/topic-configs.ts'

export interface JudgedTopic {
  readonly id: string
  readonly name: string
  readonly resolved: Pick<
    TopicConfigs,
    | 'confluentKeySchemaValidation'
    | 'confluentKeySubjectNameStrategy'
    | 'confluentValueSchemaValidation'
    | 'confluentValueSubjectNameStrategy'
    | 'schemaValidationAction'
  >
}

export interface Look {
  readonly walk: RecordWalk
  readonly step: Turns
  readonly turn: Turns
}

export const AGAIN = 'again'
export type Verdict = Refusal | null | typeof AGAIN

export interface BatchJudge {
  look(look: Look): Promise<void> | undefined
  verdict(patience: Patience): Verdict | Promise<Verdict>
  end(): void
}
