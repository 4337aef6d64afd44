// Tells which topics are judged against schemas, by which subjects, and how many records were not valid. The numbers
// are those of this broker: each broker judges what it appends.

import type {
  JudgedPart,
  JudgedTopic,
  JudgedTopics,
  JudgedTopicsQuery,
  SchemaPartRule,
} from '../../api/judged-topics.ts'
import { RECORD_PARTS } from '../../api/words.ts'
import type { CatalogueKeeper, Topic } from '../../log/catalogue.ts'
import { isRefusal, type Refusal } from '../../protocol/errors.ts'
import type { PartRule, RegistryJudge } from '../../registry/judge/judge.ts'
import type { Registry } from '../../registry/registry.ts'
import { latestLive } from '../../registry/state/subject.ts'
import { pageOf, searchFor } from '../paging.ts'
import { findTopic, type ReachRooms } from '../reach.ts'

export interface JudgedRooms {
  readonly catalogue: Pick<CatalogueKeeper, 'current'>
  readonly judge: Pick<RegistryJudge, 'judged'>
}

/** Whether a subject has a version that is not deleted. */
export type IsLive = (subject: string) => boolean

/** Resolves with the answer for all subjects at once. */
export async function liveSubjects(registry: Pick<Registry, 'surveyAll'>): Promise<IsLive> {
  const { subjects } = await registry.surveyAll()
  const live = new Set(subjects.flatMap(({ subject }) => (latestLive(subject) === null ? [] : [subject.name])))
  return name => live.has(name)
}

/** Resolves with a page of the topics whose keys or values are judged; with `all`, of all topics. */
export async function listJudgedPage(
  rooms: JudgedRooms & { readonly registry: Pick<Registry, 'surveyAll'> },
  { q, all, ...page }: JudgedTopicsQuery,
): Promise<JudgedTopics> {
  const isWanted = searchFor(q)
  const judged = judgedTopics(rooms, await liveSubjects(rooms.registry), { isAll: all === 'true' })
  const wanted = judged.filter(({ topic }) => isWanted(topic))
  const shown = pageOf(
    wanted,
    page,
    each => each[page.sort],
    each => each.topic,
  )
  return { topics: shown, total: wanted.length }
}

/** Resolves with the rules of the topic with this name. */
export async function showJudgedTopic(
  rooms: JudgedRooms & Pick<ReachRooms, 'catalogue'> & { readonly registry: Pick<Registry, 'surveyAll'> },
  name: string,
): Promise<JudgedTopic | Refusal> {
  const topic = await findTopic(rooms, name)
  return isRefusal(topic) ? topic : judgedTopic(rooms, await liveSubjects(rooms.registry), topic)
}

/** Returns the rules of all topics, or only of those whose keys or values are judged now. */
export function judgedTopics(rooms: JudgedRooms, isLive: IsLive, { isAll = false } = {}): readonly JudgedTopic[] {
  const rows = [...rooms.catalogue.current().topics.values()].map(topic => judgedTopic(rooms, isLive, topic))
  return isAll ? rows : rows.filter(({ key, value }) => key.judged || value.judged)
}

export function judgedTopic({ judge }: Pick<JudgedRooms, 'judge'>, isLive: IsLive, topic: Topic): JudgedTopic {
  const { key, value } = judge.judged(topic)
  return {
    topic: topic.name,
    key: shown(key, isLive),
    value: shown(value, isLive),
    refused: key.refused + value.refused,
  }
}

function shown(rule: PartRule, isLive: IsLive): SchemaPartRule {
  const { action, isRequired, strategy, subject, refused } = rule
  const live = subject !== null && isLive(subject)
  return { judged: isJudged(rule, isLive), action, required: isRequired, strategy, subject, live, refused }
}

function isJudged({ action, isRequired, subject }: PartRule, isLive: IsLive): boolean {
  return action !== 'off' && (isRequired || subject === null || isLive(subject))
}

/**
 * Returns the parts of topics that a subject judges. `recordNames` are those of its newest schema: where each record
 * names its own subject, a part counts if its records may name this one.
 */
export function topicsOfSubject(
  { catalogue, judge }: JudgedRooms,
  isLive: IsLive,
  subject: string,
  recordNames: readonly string[] = [],
): readonly JudgedPart[] {
  const { topics } = catalogue.current()
  // Every name up to a dash may be a topic: the subjects a-b-value and a-b-com.acme.R both belong to a-b.
  const named = [...subject.matchAll(/-/g)].flatMap(({ index }) => topics.get(subject.slice(0, index)) ?? [])
  const candidates = recordNames.includes(subject) ? new Set([...named, ...topics.values()]) : named
  const found: JudgedPart[] = []
  for (const topic of candidates) {
    const rules = judge.judged(topic)
    for (const part of RECORD_PARTS) {
      const { action, isRequired, refused } = rules[part]
      const isOf = names(rules[part], topic.name, subject, recordNames)
      if (isOf && isJudged({ ...rules[part], subject }, isLive))
        found.push({ topic: topic.name, part, action, required: isRequired, refused })
    }
  }
  return found
}

/** Whether records under this rule may name the subject. */
function names(
  { strategy, subject: own }: PartRule,
  topic: string,
  subject: string,
  recordNames: readonly string[],
): boolean {
  if (strategy === 'TopicName') return own === subject
  if (strategy === 'RecordName') return recordNames.includes(subject)
  return recordNames.some(name => subject === `${topic}-${name}`)
}
