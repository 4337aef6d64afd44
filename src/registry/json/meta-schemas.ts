// The schemas of the drafts themselves, as ajv ships them: new schemas have to be valid against theirs, and a `$ref`
// may name them.

import type { ErrorObject, ValidateFunction } from 'ajv'
import { Ajv } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import draft6 from 'ajv/dist/refs/json-schema-draft-06.json' with { type: 'json' }
import Ajv4 from 'ajv-draft-04'
import { InvalidSchema } from '../format.ts'
import type { Draft } from './drafts.ts'

const OPTIONS = { strict: false, validateFormats: false, logger: false } as const

const URIS: Readonly<Record<Draft, string>> = {
  4: 'http://json-schema.org/draft-04/schema',
  6: 'http://json-schema.org/draft-06/schema',
  7: 'http://json-schema.org/draft-07/schema',
  2019: 'https://json-schema.org/draft/2019-09/schema',
  2020: 'https://json-schema.org/draft/2020-12/schema',
}

type Judge = Pick<Ajv, 'getSchema'>

const judges = new Map<Draft, Judge>()
const texts = new Map<string, string | undefined>()

/** Throws InvalidSchema with the place if the schema is not valid against the schema of its draft. */
export function checkAgainstDraft(schema: unknown, draft: Draft): void {
  const judge = judgeOf(draft).getSchema(URIS[draft]) as ValidateFunction
  if (judge(schema)) return
  const worst = deepest(judge.errors ?? [])
  throw new InvalidSchema(`#${worst?.instancePath ?? ''}: ${messageOf(worst)} (${nameOf(draft)})`)
}

/** The drafts allow few values where they allow only some, such as the seven types. */
function messageOf(error: ErrorObject | undefined): string {
  if (error?.keyword === 'enum') return `must be one of ${JSON.stringify(error.params.allowedValues).slice(1, -1)}`
  return error?.message ?? 'not valid'
}

/** Returns the text of a meta-schema by its URI without a fragment, or undefined. */
export function metaSchemaText(uri: string): string | undefined {
  if (!/^https?:\/\/json-schema\.org\//.test(uri)) return undefined
  if (!texts.has(uri)) {
    const shipped = uri.includes('/draft/') ? uri.replace(/^http:/, 'https:') : uri.replace(/^https:/, 'http:')
    const drafts = Object.keys(URIS).map(Number) as Draft[]
    const found = drafts.map(draft => judgeOf(draft).getSchema(shipped)).find(judge => judge !== undefined)
    texts.set(uri, found && JSON.stringify(found.schema))
  }
  return texts.get(uri)
}

function judgeOf(draft: Draft): Judge {
  const known = judges.get(draft)
  if (known !== undefined) return known
  const judge = newJudge(draft)
  judges.set(draft, judge)
  return judge
}

function newJudge(draft: Draft): Judge {
  switch (draft) {
    case 4:
      return new Ajv4.default(OPTIONS)
    case 6: {
      const ajv = new Ajv({ ...OPTIONS, meta: false })
      ajv.addMetaSchema(draft6)
      return ajv
    }
    case 7:
      return new Ajv(OPTIONS)
    case 2019:
      return new Ajv2019(OPTIONS)
    case 2020:
      return new Ajv2020(OPTIONS)
  }
}

/** Errors of `anyOf` name the whole and its parts; the part that lies deepest says most. */
function deepest(errors: readonly ErrorObject[]): ErrorObject | undefined {
  return errors.toSorted((a, b) => b.instancePath.split('/').length - a.instancePath.split('/').length)[0]
}

function nameOf(draft: Draft): string {
  return draft <= 7 ? `draft-0${draft}` : URIS[draft].split('/').at(-2)!
}
