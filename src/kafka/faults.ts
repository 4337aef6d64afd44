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
  const isCoded = 'errorCode' in fields
  if (!isCoded && below.length === 0) return null
  return struct => {
    const code = isCoded ? struct.errorCode : undefined
    // Absent: 0 is its fallback.
    if (code !== undefined && code !== 0) {
      const fault = FAULTS.get(code as number)
      if (fault !== undefined) return fault
    }
    for (const { name, find } of below) {
      const value = struct[name] as Struct | readonly Struct[] | null | undefined
      if (value === null || value === undefined) continue
      if (!Array.isArray(value)) {
        const fault = find(value as Struct)
        if (fault !== null) return fault
        continue
      }
      for (const each of value) {
        const fault = find(each)
        if (fault !== null) return fault
      }
    }
    return null
  }
}
