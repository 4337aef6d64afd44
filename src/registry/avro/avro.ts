// Avro as a format of the registry.

import type { Format } from '../format.ts'
import { compareSchemas } from './compare.ts'
import { normalize } from './normalize.ts'
import { parseSchema } from './parse.ts'
import { canonicalText, inlinedText } from './print.ts'
import { type AvroProgram, compileSchema } from './program.ts'
import type { AvroSchema } from './schema-model.ts'

export const avro: Format<AvroSchema, AvroProgram> = {
  type: 'AVRO',
  parse: parseSchema,
  print: schema => ({ canonical: canonicalText(schema), normalized: canonicalText(normalize(schema)) }),
  inlined: inlinedText,
  recordNames: ({ root }) => (root.kind === 'record' ? [root.name.full] : []),
  compare: compareSchemas,
  compile: compileSchema,
}
