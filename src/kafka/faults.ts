// Finds the error codes in the rows of answers. Some of them are faults of the broker: it could not carry out the
// request, so the request failed, whatever its handler returned. A mistake of the client is not a fault, and neither is
// a code of normal operation (a partition that moved, a group that rebalances).

import {
  COORDINATOR_NOT_AVAILABLE,
  errorOf,
  KAFKA_STORAGE_ERROR,
  NOT_ENOUGH_REPLICAS,
  NOT_ENOUGH_REPLICAS_AFTER_APPEND,
  REQUEST_TIMED_OUT,
  type Refusal,
  UNKNOWN_SERVER_ERROR,
} from '../protocol/errors.ts'
import type { Api, Fields } from '../protocol/schema.ts'

const FAULTS: ReadonlyMap<number, Refusal> = new Map(
  [
    UNKNOWN_SERVER_ERROR,
    KAFKA_STORAGE_ERROR,
    NOT_ENOUGH_REPLICAS,
    NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    COORDINATOR_NOT_AVAILABLE,
    REQUEST_TIMED_OUT,
  ].map(fault => [fault.code, fault]),
)

/** Returns the first fault in an answer of the API, or null. */
export type FindFault = (answer: object) => Refusal | null

/** Returns the names of the errors in an answer of the API, each once. */
export type FindCodes = (answer: object) => readonly string[]

type Struct = Readonly<Record<string, unknown>>
/** Called with each error code except 0. The search ends when it returns a refusal. */
type Pick = (code: number) => Refusal | undefined

/**
 * Returns a function that finds the first fault in an answer. It follows the schema of the answer, so that it visits
 * only parts that can have an error code.
 */
export function faultFinder({ response }: Api): FindFault {
  const find = finderOf(response.fields, code => FAULTS.get(code))
  return find === null ? () => null : answer => find(answer as Struct)
}

/** Returns a function that finds all error codes in an answer, for the log. */
export function codeFinder({ response }: Api): FindCodes {
  let found = new Set<string>()
  const find = finderOf(response.fields, code => {
    found.add(errorOf(code)?.name ?? String(code))
    return undefined
  })
  return answer => {
    found = new Set()
    find?.(answer as Struct)
    return [...found]
  }
}

/** Returns null if neither these fields nor the fields below them have an error code. */
function finderOf(fields: Fields, pick: Pick): ((struct: Struct) => Refusal | null) | null {
  const below = Object.entries(fields).flatMap(([name, field]) => {
    const inner = field.fields ?? field.element?.fields
    const find = inner === undefined ? null : finderOf(inner, pick)
    return find === null ? [] : [{ name, find }]
  })
  if (!('errorCode' in fields) && below.length === 0) return null
  return struct => {
    const { errorCode } = struct
    // An absent error code has the default 0, or this struct has no error code.
    const fault = errorCode === 0 || errorCode === undefined ? undefined : pick(errorCode as number)
    if (fault !== undefined) return fault
    for (const { name, find } of below) {
      const value = struct[name] as Struct | readonly Struct[] | null | undefined
      for (const each of Array.isArray(value) ? value : [value ?? NOTHING]) {
        const found = find(each)
        if (found !== null) return found
      }
    }
    return null
  }
}

const NOTHING: Struct = Object.freeze({})
