// A format of schemas for tests of the registry: small, with each kind of answer that a real one gives. A schema is
// JSON of { name, fields, uses }. `fields` has a type for each name; `?` at its end is a default. `uses` names schemas
// that it refers to. It stands in for all three formats.
//
// `spin` takes a processor for ever, `bloat` takes all memory, `crash` ends its thread.

import { createHash } from 'node:crypto'
import {
  type Difference,
  InvalidSchema,
  type Policy,
  type SchemaText,
  type SchemaType,
  type Strictness,
} from '../src/registry/format.ts'
import type { AnyFormat } from '../src/registry/formats.ts'
import { answerCall, type SchemaCall } from '../src/registry/work/schema-call.ts'
import { type SchemaWork, sizeObjection } from '../src/registry/work/schema-work.ts'
import type { Unusable } from '../src/registry/work/unusable.ts'

interface Toy {
  readonly name: string
  readonly fields?: Readonly<Record<string, string>>
  readonly uses?: readonly string[]
  readonly spin?: boolean
  readonly bloat?: boolean
  readonly crash?: boolean
}

interface Parsed {
  readonly toy: Toy
  readonly dependencies: ReadonlyMap<string, string>
}

export const toyFormat = (type: SchemaType): AnyFormat => ({
  type,
  parse: (source, strictness) => parse(source, strictness),
  print(schema) {
    const { toy } = schema as Parsed
    return { canonical: JSON.stringify(toy), normalized: JSON.stringify(sorted(toy)) }
  },
  inlined: schema => inlined(schema as Parsed),
  recordNames: schema => [(schema as Parsed).toy.name],
  compare: (reader, writer, policy) => compare((reader as Parsed).toy, (writer as Parsed).toy, policy),
  compile: schema => ({ toy: (schema as Parsed).toy }),
  ...(type === 'PROTOBUF' && {
    serialized: (schema: unknown) => Buffer.from(JSON.stringify((schema as Parsed).toy)).toString('base64'),
  }),
})

function parse({ text, dependencies }: SchemaText, strictness: Strictness): Parsed {
  let toy: Toy
  try {
    toy = JSON.parse(text) as Toy
  } catch (error) {
    throw new InvalidSchema((error as Error).message)
  }
  if (typeof toy?.name !== 'string') throw new InvalidSchema('at /name: a text was expected')
  if (toy.spin === true) for (;;) createHash('sha256').update(text).digest()
  if (toy.bloat === true)
    for (const kept: unknown[] = []; ; ) kept.push(Array.from({ length: 10_000 }, () => ({ toy })))
  if (toy.crash === true) process.exit(7)
  const texts = new Map(dependencies.map(each => [each.name, each.text]))
  for (const use of toy.uses ?? []) if (!texts.has(use)) throw new InvalidSchema(`at /uses: nothing is named ${use}`)
  for (const field of Object.keys(toy.fields ?? {}))
    if (strictness === 'new' && /^[A-Z]/.test(field)) throw new InvalidSchema(`at /fields/${field}: a small letter`)
  return { toy, dependencies: texts }
}

function inlined({ toy, dependencies }: Parsed): string {
  const { uses = [], ...rest } = toy
  if (uses.length === 0) return JSON.stringify(rest)
  return JSON.stringify({ ...rest, inlined: uses.map(use => JSON.parse(dependencies.get(use)!)) })
}

function compare(reader: Toy, writer: Toy, policy: Policy): readonly Difference[] {
  const differences: Difference[] = []
  for (const [name, type] of Object.entries(reader.fields ?? {})) {
    const written = writer.fields?.[name]
    if (written === undefined && !type.endsWith('?') && policy === 'STRICT') {
      const description = `The field '${name}' has no default and is missing in the writer`
      differences.push({ type: 'READER_FIELD_MISSING_DEFAULT_VALUE', path: `/fields/${name}`, description })
    }
    if (written !== undefined && written.replace('?', '') !== type.replace('?', ''))
      differences.push({
        type: 'TYPE_MISMATCH',
        path: `/fields/${name}`,
        description: `${type} cannot read ${written}`,
      })
  }
  return differences
}

function sorted(toy: Toy): unknown {
  return Object.fromEntries(
    Object.entries({
      ...toy,
      ...(toy.fields && { fields: Object.fromEntries(Object.entries(toy.fields).sort()) }),
    }).sort(),
  )
}

/** The same work as in threads, without threads and limits. */
export function toyWork(
  formatOf = toyFormat,
): Pick<SchemaWork, 'examine' | 'compare' | 'compareStored' | 'compile' | 'serialize' | 'close'> {
  const ask = async <T>(call: SchemaCall): Promise<T | Unusable> => {
    try {
      return answerCall(formatOf(call[1]), call) as T
    } catch (error) {
      if (!(error instanceof InvalidSchema)) throw error
      return { kind: 'invalid', why: error.message }
    }
  }
  return {
    async examine(type, source, strictness) {
      const why = sizeObjection(source)
      return why === null ? await ask(['examine', type, source, strictness]) : { kind: 'large', why }
    },
    compare: (type, reader, writer, policy) => ask(['compare', type, reader, writer, policy]),
    compareStored: (type, reader, writer, policy) => ask(['compare', type, reader, writer, policy]),
    compile: (type, source) => ask(['compile', type, source]),
    serialize: (type, source) => ask(['serialize', type, source]),
    close: async () => {},
  }
}

/** Returns the text of a schema. */
export const toy = (name: string, fields: Toy['fields'] = {}, more: Partial<Toy> = {}): string =>
  JSON.stringify({ name, fields, ...more })
