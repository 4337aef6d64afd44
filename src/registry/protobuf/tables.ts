// The walker's tables (program.ts) of messages.

import type { FieldType, ProgramEnum, ProgramField, ProgramMessage, ProtobufProgram } from './program.ts'
import { ACTION } from './program.ts'

type Tables = Omit<ProtobufProgram, 'messages' | 'enums' | 'topLevel'>

interface Entry {
  readonly tag: number
  readonly action: number
  readonly detail: number
  readonly bit: number
}

export const WIRE = { varint: 0, fixed64: 1, bytes: 2, group: 3, endOfGroup: 4, fixed32: 5 } as const

/** Wire types of a value of each type. */
export function wireType(type: FieldType): number {
  switch (type) {
    case 'double':
    case 'fixed64':
    case 'sfixed64':
      return WIRE.fixed64
    case 'float':
    case 'fixed32':
    case 'sfixed32':
      return WIRE.fixed32
    case 'string':
    case 'bytes':
    case 'message':
      return WIRE.bytes
    case 'group':
      return WIRE.group
    default:
      return WIRE.varint
  }
}

/** True if writers may put elements of the field side by side into one value. */
export function isPackable(field: ProgramField): boolean {
  return field.isRepeated && wireType(field.type) !== WIRE.bytes && wireType(field.type) !== WIRE.group
}

/** `verified` says of each message whether its strings must be UTF-8. */
export function tables(
  messages: readonly ProgramMessage[],
  verified: readonly boolean[],
  enums: readonly ProgramEnum[],
): Tables {
  const entries = messages.map(({ fields }, message) => entriesOf(fields, verified[message] === true, enums))
  const limits = messages.map(({ fields }) => denseLimit(fields))
  const starts = new Int32Array(messages.length)
  const lengths = Int32Array.from(limits)
  const sparseStarts = new Int32Array(messages.length + 1)
  let size = 0
  const sparse: Entry[] = []
  for (let message = 0; message < messages.length; message++) {
    starts[message] = size
    size += lengths[message] ?? 0
    for (const entry of entries[message] ?? []) if (entry.tag >= (lengths[message] ?? 0)) sparse.push(entry)
    sparseStarts[message + 1] = sparse.length
  }
  const dense = {
    actions: new Uint8Array(size),
    details: new Int32Array(size / 8),
    required: new Uint16Array(size / 8),
  }
  for (const [message, ofMessage] of entries.entries()) {
    for (const { tag, action, detail, bit } of ofMessage) {
      if (tag >= (lengths[message] ?? 0)) continue
      const at = (starts[message] ?? 0) + tag
      dense.actions[at] = action
      dense.details[at >> 3] = detail
      dense.required[at >> 3] = bit
    }
  }
  return {
    ...dense,
    starts,
    lengths,
    requiredCounts: Int32Array.from(messages, ({ fields }) => fields.filter(({ isRequired }) => isRequired).length),
    sparseStarts,
    sparseTags: Uint32Array.from(sparse, ({ tag }) => tag),
    sparseActions: Uint8Array.from(sparse, ({ action }) => action),
    sparseDetails: Int32Array.from(sparse, ({ detail }) => detail),
    sparseRequired: Uint16Array.from(sparse, ({ bit }) => bit),
  }
}

/**
 * Tags below this number stand in the dense table: it has room for twice the fields, so its size follows the
 * text's.
 */
function denseLimit(fields: readonly ProgramField[]): number {
  const most = 2 * fields.length + 16
  let largest = 0
  for (const { number } of fields) if (number <= most) largest = Math.max(largest, number)
  return (largest + 1) * 8
}

/** All tags of all fields, in their order. */
function entriesOf(fields: readonly ProgramField[], isVerified: boolean, enums: readonly ProgramEnum[]): Entry[] {
  const entries: Entry[] = []
  let bits = 0
  for (const field of fields) {
    const bit = field.isRequired ? ++bits : 0
    for (let wire = 0; wire < 6; wire++) {
      const action = actionOf(field, wire, isVerified, enums)
      entries.push({ tag: field.number * 8 + wire, action, detail: field.of, bit })
    }
  }
  return entries
}

function actionOf(field: ProgramField, wire: number, isVerified: boolean, enums: readonly ProgramEnum[]): number {
  // The end of a group is no field: the walker compares it with the group's beginning.
  if (field.type === 'open' || (wire === WIRE.endOfGroup && field.type !== 'group')) return ACTION.skip
  if (wire === WIRE.endOfGroup) return ACTION.skip
  const isClosed = field.type === 'enum' && enums[field.of]?.isClosed === true
  if (wire === wireType(field.type)) return single(field.type, isVerified, isClosed)
  return wire === WIRE.bytes && isPackable(field) ? packed(field.type, isClosed) : ACTION.wrong
}

function single(type: FieldType, isVerified: boolean, isClosed: boolean): number {
  switch (type) {
    case 'bool':
      return ACTION.bool
    case 'enum':
      return isClosed ? ACTION.closedEnum : ACTION.varint
    case 'string':
      return isVerified ? ACTION.string : ACTION.bytes
    case 'bytes':
      return ACTION.bytes
    case 'message':
      return ACTION.message
    case 'group':
      return ACTION.group
    default: {
      const wire = wireType(type)
      return wire === WIRE.varint ? ACTION.varint : wire === WIRE.fixed32 ? ACTION.fixed32 : ACTION.fixed64
    }
  }
}

function packed(type: FieldType, isClosed: boolean): number {
  switch (single(type, false, isClosed)) {
    case ACTION.bool:
      return ACTION.packedBool
    case ACTION.closedEnum:
      return ACTION.packedClosedEnum
    case ACTION.fixed32:
      return ACTION.packedFixed32
    case ACTION.fixed64:
      return ACTION.packedFixed64
    default:
      return ACTION.packedVarint
  }
}
