// The API schemas of topics whose records are judged against schemas, and of the parts of them that a subject judges.

import { z } from 'zod'
import { pagingQuery } from './paging.ts'
import { JUDGE_ACTIONS, JUDGED_TOPIC_SORTS, RECORD_PARTS, SUBJECT_STRATEGIES } from './words.ts'

export const refused = z
  .int()
  .meta({ description: 'The records that were not valid, since this broker started, on this broker.' })

export const judgedPartShape = z
  .object({
    topic: z.string(),
    part: z.enum(RECORD_PARTS),
    action: z.enum(JUDGE_ACTIONS),
    required: z.boolean().meta({ description: 'Whether records are refused too while the subject has no versions.' }),
    refused,
  })
  .meta({ id: 'JudgedPart', description: 'A part of the records of a topic that a subject judges.' })

export type JudgedPart = z.infer<typeof judgedPartShape>

const partRuleShape = z
  .object({
    judged: z.boolean().meta({
      description:
        'Whether records are judged now: their subject has a version that is not deleted, records name it themselves, or `required` is true.',
    }),
    action: z
      .enum(JUDGE_ACTIONS)
      .meta({ description: 'The answer to a record that is not valid; off: the part is never judged.' }),
    required: z.boolean().meta({ description: 'Whether records without a subject that has versions are refused too.' }),
    strategy: z.enum(SUBJECT_STRATEGIES),
    subject: z.string().nullable().meta({ description: 'Null if each record names its own (RecordName).' }),
    live: z.boolean().meta({
      description:
        'Whether the subject has a version that is not deleted, even if nothing is judged; false if each record names its own.',
    }),
    refused,
  })
  .meta({ id: 'SchemaPartRule' })

export type SchemaPartRule = z.infer<typeof partRuleShape>

export const judgedTopicShape = z
  .object({
    topic: z.string(),
    key: partRuleShape,
    value: partRuleShape,
    refused: z.int().meta({ description: 'Of keys and values together.' }),
  })
  .meta({ id: 'JudgedTopic' })

export type JudgedTopic = z.infer<typeof judgedTopicShape>

export const judgedTopicsQuery = pagingQuery(JUDGED_TOPIC_SORTS).extend({
  all: z
    .enum(['true', 'false'])
    .default('false')
    .meta({ description: 'true lists the topics that are not judged too.' }),
})

export type JudgedTopicsQuery = z.output<typeof judgedTopicsQuery>

export const judgedTopicsShape = z.object({
  topics: z.array(judgedTopicShape),
  total: z.int().meta({ description: 'The number of topics on all pages.' }),
})

export type JudgedTopics = z.infer<typeof judgedTopicsShape>

export const judgedTopicParams = z.object({ topic: z.string() })
