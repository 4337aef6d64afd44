// A topic as a preview has shown it. A change that brings it is made only while the topic is still the same: a topic
// that was deleted and created again has another id.

import { isDeepStrictEqual } from 'node:util'
import type { Topic } from '../log/catalogue.ts'
import { because, INVALID_REQUEST, type Refusal, UNKNOWN_TOPIC_ID } from '../protocol/errors.ts'
import { type Declined, declined } from './declined.ts'

/** Members that are left out may differ. */
export type ExpectedTopic = Pick<Topic, 'id'> & Partial<Pick<Topic, 'partitions' | 'configs'>>

/** The answer of the verbs for many topics, which refuse only with Kafka's errors. */
const TOPIC_CHANGED: Refusal = because(INVALID_REQUEST, 'The topic has changed since it was shown.')

/** Returns null if the topic is as expected, or if nothing is expected. */
export function checkExpected(topic: Topic, expected: ExpectedTopic | undefined): Refusal | null {
  if (expected === undefined) return null
  const { id, partitions = topic.partitions, configs = topic.configs } = expected
  const isSame = id === topic.id && partitions === topic.partitions && isDeepStrictEqual(configs, topic.configs)
  return isSame ? null : TOPIC_CHANGED
}

/** Returns the refusal as the verbs for one topic answer it: a preview that is no longer true is declined. */
export function outdatedOr(refusal: Refusal, expected: ExpectedTopic | undefined): Refusal | Declined {
  // The catalogue knows the id no longer: the topic was deleted while the change was made.
  const isOutdated = refusal === TOPIC_CHANGED || (expected !== undefined && refusal.code === UNKNOWN_TOPIC_ID.code)
  return isOutdated ? declined('PREVIEW_OUTDATED') : refusal
}
