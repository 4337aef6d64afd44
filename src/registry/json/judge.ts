// Judges values by a program (modern.ts) with ajv, which turns the schema into code. It runs in threads only: the code
// holds regular expressions of users, and a single value can keep it busy for ever.

import { isDeepStrictEqual } from 'node:util'
import { _, type ErrorObject, type KeywordCxt, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import ucs2 from 'ajv/dist/runtime/ucs2length.js'
import type { DataValidateFunction, KeywordErrorCxt } from 'ajv/dist/types/index.js'
import type { Fault } from '../format.ts'
import { remainderIsZero } from './decimals.ts'
import { LONG_ENUM } from './modern.ts'
import { patternOf } from './patterns.ts'

/** Returns null for a valid value. */
export type Judge = (value: unknown) => Fault | null

/** Counts code points. */
const ucs2length = ucs2.default

/** Schemas of more keywords are not copied to each place that refers to them. */
const MOST_INLINED = 8

/** A quotient of doubles is an integer if it is this close to one, relative to its size: 0.3 / 0.1 has to be one. */
const CLOSE = 1e-12

/** Compiles the text of a program. Throws the errors of ajv, which say little; such schemas are not registered. */
export function judgeOf(text: string): Judge {
  const ajv = new Ajv2020({
    strict: false,
    validateFormats: false,
    validateSchema: false,
    logger: false,
    inlineRefs: MOST_INLINED,
    // A property can be called `toString`.
    ownProperties: namesPrototype(text),
    code: { regExp: Object.assign(regExpOf, { code: '' }) },
  })
  ajv.removeKeyword('multipleOf')
  ajv.addKeyword({ keyword: 'multipleOf', type: 'number', schemaType: 'number', compile: multipleOf, errors: true })
  ajv.removeKeyword('maxLength').removeKeyword('minLength')
  ajv.addKeyword({ ...lengthKeyword('more', atMost), keyword: 'maxLength' })
  ajv.addKeyword({ ...lengthKeyword('fewer', atLeast), keyword: 'minLength' })
  ajv.addKeyword({ keyword: LONG_ENUM, schemaType: 'array', compile: longEnum, errors: false })
  const validate = ajv.compile(JSON.parse(text) as boolean | object) as ValidateFunction
  return value => (validate(value) ? null : faultOf(validate.errors?.[0]))
}

function faultOf(error: ErrorObject | undefined): Fault {
  return { reason: 'bad-value', message: `at ${pathOf(error?.instancePath ?? '')}: ${messageOf(error)}` }
}

function messageOf(error: ErrorObject | undefined): string {
  if (error === undefined) return 'must match the schema'
  switch (error.keyword) {
    case LONG_ENUM:
      return 'must be equal to one of the allowed values'
    case 'additionalProperties':
      return `must not have the additional property "${error.params.additionalProperty}"`
    case 'unevaluatedProperties':
      return `must not have the unevaluated property "${error.params.unevaluatedProperty}"`
    default:
      return error.message ?? `must pass "${error.keyword}"`
  }
}

function pathOf(pointer: string): string {
  return pointer === '' ? 'the root' : pointer
}

/** Java accepts patterns that are valid without `u` only. One that is not valid here at all cannot be judged. */
function regExpOf(pattern: string): { readonly test: (text: string) => boolean } {
  return patternOf(pattern) ?? { test: () => true }
}

function multipleOf(divisor: number): DataValidateFunction {
  const validate: DataValidateFunction = (value: number) => {
    const quotient = value / divisor
    // A quotient beyond all doubles has to be looked at digit by digit.
    const isExact = !Number.isFinite(quotient) && Number.isFinite(value)
    if (isExact && remainderIsZero(String(value), String(divisor))) return true
    if (Math.abs(quotient - Math.round(quotient)) <= CLOSE * Math.max(1, Math.abs(quotient))) return true
    validate.errors = [{ keyword: 'multipleOf', message: `must be a multiple of ${divisor}`, params: {} }]
    return false
  }
  return validate
}

/** Whether the text has at most this many code points. Counting them costs more than the rest of a typical schema. */
const atMost = (text: string, most: number) => text.length <= most || ucs2length(text) <= most
const atLeast = (text: string, least: number) =>
  text.length >= 2 * least || (text.length >= least && ucs2length(text) >= least)

function lengthKeyword(than: string, holds: (text: string, limit: number) => boolean) {
  return {
    type: 'string' as const,
    schemaType: 'number' as const,
    error: { message: ({ schema }: KeywordErrorCxt) => `must NOT have ${than} than ${schema} characters` },
    code(cxt: KeywordCxt) {
      const check = cxt.gen.scopeValue('func', { ref: holds })
      cxt.fail(_`!${check}(${cxt.data}, ${cxt.schema})`)
    },
  }
}

function longEnum(values: readonly unknown[]): (value: unknown) => boolean {
  const simple = new Set(values.filter(value => typeof value !== 'object' || value === null))
  const others = values.filter(value => typeof value === 'object' && value !== null)
  return value => simple.has(value) || others.some(other => isDeepStrictEqual(other, value))
}

const PROTOTYPE = Object.getOwnPropertyNames(Object.prototype)

function namesPrototype(text: string): boolean {
  return PROTOTYPE.some(name => text.includes(`"${name}"`))
}
