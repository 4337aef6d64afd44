// Checks a part of a request against the shape of its route, and says in plain words which field is wrong, which value
// came and which values the field takes. The words of zod and of fastify reach no client. A message that a shape brings
// itself begins with "takes".

import type { validatorCompiler } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { cut } from '../base/cut.ts'
import { nearest } from '../settings/nearest.ts'

export type RequestPart = 'body' | 'query' | 'path'

/** A request that does not fit its route. The message has all fields in one line. */
export class InvalidFields extends Error {
  override readonly name = 'InvalidFields'
  /** The part of the request that does not fit. */
  readonly part: RequestPart
  /** The objection to each field, by its name as the client wrote it. */
  readonly fields: Readonly<Record<string, string>>

  constructor(part: RequestPart, fields: Readonly<Record<string, string>>) {
    super(
      Object.entries(fields)
        .map(([field, why]) => `${field}: ${why}`)
        .join('; '),
    )
    this.part = part
    this.fields = fields
  }
}

/** The name of a part of the request that is wrong as a whole, for the problem. */
const WHOLE: Readonly<Record<string, RequestPart>> = { body: 'body', querystring: 'query', params: 'path' }

/** The validator for fastify, which passes null for a request without a body. An optional shape takes that. */
export const validator: typeof validatorCompiler = ({ schema, httpPart = 'body' }) => {
  const shape = schema as z.ZodType
  return data => validate(shape, httpPart === 'body' ? (data ?? undefined) : data, WHOLE[httpPart] ?? 'body')
}

/** Checks a value. Returns it with the defaults of the shape, or an error that says why it does not fit. */
export function validate(shape: z.ZodType, value: unknown, whole: RequestPart) {
  /** The fields that an object takes and that the request does not have, by the path of the object. */
  const known = new Map<string, readonly string[]>()
  const read = shape.safeParse(value, {
    reportInput: true,
    error: issue => {
      if (issue.code === 'unrecognized_keys' && issue.inst instanceof z.ZodObject)
        known.set(
          nameOf(issue.path),
          Object.keys(issue.inst.shape).filter(name => !isGiven(issue.input, name)),
        )
      return takes(issue)
    },
  })
  if (read.success) return { value: read.data }
  const rows = read.error.issues.flatMap((issue): readonly (readonly [string, string])[] => {
    const name = nameOf(issue.path)
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map(key => [nameOf([...issue.path, key]), strange(key, known.get(name) ?? [])])
    return [[name || whole, objection(issue)]]
  })
  return { error: new InvalidFields(whole, Object.fromEntries(rows)) }
}

function isGiven(object: unknown, name: string): boolean {
  return typeof object === 'object' && object !== null && Object.hasOwn(object, name)
}

function nameOf(path: readonly PropertyKey[] | undefined): string {
  return (path ?? []).map(String).join('.')
}

function strange(key: string, known: readonly string[]): string {
  const near = nearest(key, known)
  return `is not taken here${near === null ? '' : `; did you mean ${near}?`}`
}

function objection({ input, message, path }: z.core.$ZodIssue): string {
  return input === undefined ? `is missing; ${message}` : `got ${shown(input, path)}, ${message}`
}

/** Matches the name of a field that contains a secret. */
const SECRET = /password|secret|token/i

/**
 * Returns the value for the message. If it may be a secret (in such a field, or in a whole body), returns only its
 * type.
 */
function shown(input: unknown, path: readonly PropertyKey[]): string {
  const isSecret = path.length === 0 || SECRET.test(nameOf(path))
  if (typeof input === 'string') return isSecret ? 'a text' : JSON.stringify(cut(input))
  if (typeof input === 'number') return isSecret ? 'a number' : String(input)
  if (typeof input === 'boolean') return String(input)
  if (input === null) return 'null'
  return Array.isArray(input) ? 'a list' : 'an object'
}

const NOUNS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
}

/** Returns the values that the shape takes, for a shape without a message of its own. */
function takes(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `takes ${NOUNS[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return `takes ${listed(issue.values.map(String))}`
    case 'too_small':
      return `takes ${bound(issue.origin, 'least', issue.minimum)}`
    case 'too_big':
      return `takes ${bound(issue.origin, 'most', issue.maximum)}`
    default:
      return 'takes another value'
  }
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

function bound(origin: string, which: 'least' | 'most', limit: number | bigint): string {
  const unit = { string: 'character', array: 'entry' }[origin]
  if (unit === undefined) return `a number of at ${which} ${limit}`
  const units = unit === 'entry' ? 'entries' : `${unit}s`
  return `at ${which} ${limit} ${Number(limit) === 1 ? unit : units}`
}
