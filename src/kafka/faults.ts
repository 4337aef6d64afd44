// Which answers say that the broker could not do what it was asked, in whichever row of them that stands: such a request did
// not succeed, whatever its handler returned. What a client got wrong, and what it is told in the ordinary course of things (a
// partition that moved, a group that rebalances), is no fault.

import {
  COORDINATOR_NOT_AVAILABLE,
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

/** The first fault in an answer of the API, or null. */
export type FindFault = (answer: object) => Refusal | null

type Struct = Readonly<Record<string, unknown>>

/** Goes by the declaration of the answer, so that nothing is looked into that cannot hold an error code. */
export function faultFinder({ response }: Api): FindFault {
  const find = finderOf(response.fields)
  return find === null ? () => null : answer => find(answer as Struct)
}

/** Null: no error code is among these fields, nor below them. */
function finderOf(fields: Fields): ((struct: Struct) => Refusal | null) | null {
  const below = Object.entries(fields).flatMap(([name, field]) => {
    const inner = field.fields ?? field.element?.fields
    const find = inner === undefined ? null : finderOf(inner)
    return find === null ? [] : [{ name, find }]
  })
  if (!('errorCode' in fields) && below.length === 0) return null
  return struct => {
    const { errorCode } = struct
    // Absent: 0 is its fallback, or there is none here.
    const fault = errorCode === 0 ? undefined : FAULTS.get(errorCode as number)
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
