// Encodes and decodes a classic group for the store: the group as a whole and all of its members, in the field `head`
// of its document. This file has only names and bytes; group.ts says what they mean.

import { array, bytes, int8, int32, int64, message, nullable, string } from '../../protocol/schema.ts'
import { decodeValue, encodeValue } from '../field-value.ts'
import type { GroupState, StoredGroup } from './group.ts'

export const HEAD = 'head'

/** A state is stored as its index in this list, so new states must go to the end. */
const states: readonly GroupState[] = Object.freeze([
  'Empty',
  'PreparingRebalance',
  'CompletingRebalance',
  'Stable',
] as const)

const groupHead = message({
  name: 'GroupHead',
  versions: '0-0',
  flexible: '0+',
  fields: {
    state: int8(),
    stateSinceMs: int64(),
    generation: int32(),
    protocolType: nullable(string()),
    protocolName: nullable(string()),
    leader: nullable(string()),
    members: array({
      id: string(),
      instanceId: nullable(string()),
      clientId: string(),
      clientHost: string(),
      rebalanceTimeoutMs: int32(),
      sessionTimeoutMs: int32(),
      protocols: array({ name: string(), metadata: bytes() }),
      assignment: bytes(),
    }),
  },
})

export function encodeHead(group: StoredGroup): Uint8Array {
  const state = states.indexOf(group.state)
  return encodeValue(groupHead, { ...group, state })
}

/** Throws if `encodeHead` does not make such bytes. */
export function decodeHead(value: Uint8Array): StoredGroup {
  const head = decodeValue(groupHead, value)
  const state = states[head.state]
  if (state === undefined)
    throw new Error(`a stored group has state ${head.state}, 0 to ${states.length - 1} are known`)
  return { ...head, state }
}
