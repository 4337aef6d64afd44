// Which topics are judged against schemas, by which subjects, and how many records were not valid. The numbers are those
// of this broker: each broker judges what it appends.

import type { JudgedPart, JudgedTopic } from '../../api/schemas.ts'
import type { JUDGE_ACTIONS, SUBJECT_STRATEGIES } from '../../api/words.ts'
import { RECORD_PARTS } from '../../api/words.ts'
import type { CatalogueKeeper, Topic } from '../../log/catalogue.ts'

/** How the keys or the values of a topic are judged. */
export interface PartRule {
  /** `off`: they are not judged. */
  readonly action: (typeof JUDGE_ACTIONS)[number]
  readonly strategy: (typeof SUBJECT_STRATEGIES)[number]
  /** Null if each record names its own. */
  readonly subject: string | null
  /** Since this broker started. */
  readonly refused: number
}

export interface TopicRules {
  readonly key: PartRule
  readonly value: PartRule
}

export interface JudgedRooms {
  readonly catalogue: Pick<CatalogueKeeper, 'current'>
  /** Null if no record is judged. */
  readonly topicRules: ((topic: Topic) => TopicRules) | null
}

/** Returns the rules of all topics, or only of those whose keys or values are judged. */
export function judgedTopics(rooms: JudgedRooms, { isAll = false } = {}): readonly JudgedTopic[] {
  const rows = [...rooms.catalogue.current().topics.values()].map(topic => judgedTopic(rooms, topic))
  return isAll ? rows : rows.filter(({ key, value }) => key.action !== 'off' || value.action !== 'off')
}

export function judgedTopic({ topicRules }: JudgedRooms, topic: Topic): JudgedTopic {
  const { key, value } = topicRules?.(topic) ?? unjudged(topic.name)
  return { topic: topic.name, key, value, refused: key.refused + value.refused }
}

function unjudged(topic: string): TopicRules {
  const rule = { action: 'off', strategy: 'TopicName', refused: 0 } as const
  return { key: { ...rule, subject: `${topic}-key` }, value: { ...rule, subject: `${topic}-value` } }
}

/**
 * Returns the parts of topics that a subject judges. `recordNames` are those of its newest schema: a part whose
 * records name their own subject counts if they may name this one. Without them, such parts are left out if only the
 * record name tells it.
 */
export function topicsOfSubject(
  rooms: JudgedRooms,
  subject: string,
  recordNames: readonly string[] = [],
): readonly JudgedPart[] {
  if (rooms.topicRules === null) return []
  const { topics } = rooms.catalogue.current()
  // Every name up to a dash may be a topic: the subjects a-b-value and a-b-com.acme.R both belong to a-b.
  const named = [...subject.matchAll(/-/g)].flatMap(({ index }) => topics.get(subject.slice(0, index)) ?? [])
  const candidates = recordNames.includes(subject) ? new Set([...named, ...topics.values()]) : named
  const found: JudgedPart[] = []
  for (const topic of candidates) {
    const rules = rooms.topicRules(topic)
    for (const part of RECORD_PARTS) {
      const { action, refused } = rules[part]
      if (action !== 'off' && judges(rules[part], topic.name, subject, recordNames))
        found.push({ topic: topic.name, part, action, refused })
    }
  }
  return found
}

function judges(
  { strategy, subject: own }: PartRule,
  topic: string,
  subject: string,
  recordNames: readonly string[],
): boolean {
  if (strategy === 'TopicName') return own === subject
  return strategy === 'RecordName' ? recordNames.includes(subject) : subject.startsWith(`${topic}-`)
}
