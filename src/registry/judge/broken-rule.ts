// The rules that a key or value can break, and the refusal of a batch that names its records.

import { because, INVALID_RECORD, type RecordError, type Refusal } from '../../protocol/errors.ts'
import type { Fault } from '../format.ts'
import type { Part } from '../payload/framing.ts'

/** Which rule is broken, in the words of the metric. */
export type Reason =
  | 'no-subject'
  | 'no-schema-id'
  | 'unknown-id'
  | 'unusable-schema'
  | 'too-many-schemas'
  | 'no-message'
  | 'not-readable'
  | 'too-large'
  | Fault['reason']

export interface BrokenRule {
  readonly reason: Reason
  /** A clause for people. */
  readonly why: string
}

/** Texts of schemas and payloads are in it. */
const LONGEST_WHY = 400

export function broken(reason: Reason, why: string): BrokenRule {
  return { reason, why: why.length > LONGEST_WHY ? `${why.slice(0, LONGEST_WHY)}…` : why }
}

/** A record that broke a rule. */
export interface BadRecord extends BrokenRule {
  readonly index: number
  readonly part: Part
}

/** The most records that a refusal names, as in Kafka's other refusals of this kind. */
export const MOST_NAMED = 100

/** `bad` in the order of the batch, `count` of them in all. `isAll`: the whole batch was judged. */
export function refusalOf(bad: readonly BadRecord[], count: number, records: number, isAll: boolean): Refusal {
  const [first] = bad
  const many = `${isAll ? '' : 'At least '}${count} of ${records} records are not valid`
  const message =
    records === 1
      ? `The record is not valid. ${textOf(first!)}`
      : `${many}. The first one is record ${first!.index} of the batch: ${textOf(first!)}`
  const recordErrors = bad.slice(0, MOST_NAMED).map((each): RecordError => {
    return { batchIndex: each.index, batchIndexErrorMessage: textOf(each) }
  })
  return Object.freeze({ ...because(INVALID_RECORD, message), recordErrors })
}

const textOf = ({ part, reason, why }: BadRecord) => `The ${part} breaks the rule ${reason}: ${why}.`
