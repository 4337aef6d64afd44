// The fields that tell how the value of a config or a setting is written. Topics, brokers and settings share them.

import { z } from 'zod'
import { UNITS } from './words.ts'

export const valueFields = {
  unit: z
    .enum(UNITS)
    .nullable()
    .meta({ description: 'The unit of a value that is a bare number; null for counts, and for other values.' }),
  choices: z
    .array(z.string())
    .nullable()
    .meta({ description: 'The words that it takes, of a list the words of its items; null if it takes more.' }),
}
