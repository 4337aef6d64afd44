// JSON Schema as a format of the registry (format.ts): drafts 4, 6, 7, 2019-09 and 2020-12.

import { type Format, InvalidSchema, type SchemaText, type Strictness } from '../format.ts'
import { isObject, type JsonObject } from '../json-text.ts'
import { checkSchema } from './check.ts'
import { differences } from './compare.ts'
import { Documents, readSchema } from './documents.ts'
import { writeJson } from './json-values.ts'
import { judgeOf } from './judge.ts'
import { type JsonProgram, programOf } from './modern.ts'
import { Nodes } from './schema-nodes.ts'

export interface JsonSchema {
  readonly value: boolean | JsonObject
  readonly documents: Documents
  readonly nodes: Nodes
}

export const jsonSchema: Format<JsonSchema, JsonProgram> = {
  type: 'JSON',

  parse({ text, dependencies }: SchemaText, strictness: Strictness): JsonSchema {
    const value = readSchema(text)
    const documents = new Documents(value, dependencies)
    if (strictness === 'new') checkNew(documents)
    return { value, documents, nodes: new Nodes(documents) }
  },

  print: ({ value }) => ({ canonical: writeJson(value), normalized: writeJson(value, true) }),

  inlined: ({ value }) => writeJson(value),

  recordNames({ value }) {
    const title = isObject(value) ? value.get('title') : undefined
    return typeof title === 'string' ? [title] : []
  },

  compare: (reader, writer, policy) => differences(writer.nodes.root, reader.nodes.root, policy),

  compile: ({ documents }) => programOf(documents),
}

/** Throws InvalidSchema. A schema that the validators cannot compile would have all its records refused later. */
function checkNew(documents: Documents): void {
  checkSchema(documents)
  try {
    const judge = judgeOf(programOf(documents).text)
    // The code that ajv wrote is only read when it runs. These values cannot keep it busy.
    for (const value of [null, {}, []]) judge(value)
  } catch (cause) {
    const why = cause instanceof RangeError ? 'its parts are nested or chained too deeply' : (cause as Error).message
    throw new InvalidSchema(`#: payloads cannot be judged by this schema: ${why}`, { cause })
  }
}
