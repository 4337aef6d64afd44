// Arguments that several tools have. Numbers and booleans are JSON here, where a query of the admin API has texts.

import { z } from 'zod'
import { DECODINGS, ORDERS } from '../api/words.ts'

const LARGEST_PARTITION = 2 ** 31 - 1

export const topicArgument = z.string().min(1).max(249).meta({ description: 'The name of the topic.' })

export const partitionArgument = z
  .int()
  .min(0)
  .max(LARGEST_PARTITION)
  .meta({ description: 'The number of the partition, from 0.' })

export const groupArgument = z.string().min(1).max(1_000).meta({ description: 'The id of the group.' })

export const subjectArgument = z.string().min(1).max(1_000).meta({ description: 'The name of the subject.' })

export const schemaIdArgument = z
  .int()
  .min(1)
  .max(LARGEST_PARTITION)
  .meta({ description: 'The id of a schema, which records name.' })

export const searchArgument = z
  .string()
  .max(1_000)
  .default('')
  .meta({ description: 'A part of the name, upper and lower case alike.' })

export const orderArgument = z.enum(ORDERS).default('asc')

/** The most rows of one answer. */
export function limitArgument(usual: number, most: number) {
  return z.int().min(1).max(most).default(usual).meta({ description: 'The most rows of one answer.' })
}

const decoding = z.enum(DECODINGS).default('utf8')

export const decodeArguments = {
  decode: decoding.meta({
    description:
      'How values are decoded: raw (base64), utf8, json, or registry (with the schema that the value names).',
  }),
  keyDecode: decoding.meta({ description: 'How keys are decoded.' }),
}
