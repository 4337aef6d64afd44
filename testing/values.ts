// Random values of a message in one version, for properties: all values that its fields accept and that a decoder
// returns unchanged. It omits int64 beyond 2^53 and NaN, because JavaScript cannot represent or compare them.

import { absent, type Slot } from '../src/protocol/schema.ts'
import { fc } from './property.ts'

/** Returns values of these fields. Fields that the version does not have get their default. */
export function anyFields(slots: readonly Slot[]): fc.Arbitrary<Record<string, unknown>> {
  return fc.record(
    Object.fromEntries(slots.map(slot => [slot.name, slot.present ? anyOf(slot) : fc.constant(absent(slot))])),
    { noNullPrototype: true },
  )
}

function anyOf(slot: Slot): fc.Arbitrary<unknown> {
  const plain = anyPlain(slot)
  return slot.nullable ? fc.oneof({ weight: 3, arbitrary: plain }, { weight: 1, arbitrary: fc.constant(null) }) : plain
}

function anyPlain(slot: Slot): fc.Arbitrary<unknown> {
  switch (slot.kind) {
    case 'int8':
      return fc.integer({ min: -128, max: 127 })
    case 'int16':
      return fc.integer({ min: -32768, max: 32767 })
    case 'uint16':
      return fc.integer({ min: 0, max: 65535 })
    case 'int32':
      return fc.integer()
    case 'uint32':
      return fc.integer({ min: 0, max: 2 ** 32 - 1 })
    case 'int64':
      return fc.maxSafeInteger()
    case 'float64':
      // The judge reads the values as JSON, which has no infinity.
      return fc.double({ noNaN: true, noDefaultInfinity: true })
    case 'bool':
      return fc.boolean()
    case 'uuid':
      return fc.uint8Array({ minLength: 16, maxLength: 16 }).map(bytes => Buffer.from(bytes).toString('base64url'))
    case 'string':
      return fc.oneof(fc.string({ unit: 'binary', maxLength: 12 }), fc.constantFrom('', 'topic', 'é'.repeat(70)))
    case 'bytes':
    case 'records':
      return fc.uint8Array({ maxLength: 150 }).map(bytes => Buffer.from(bytes))
    case 'array':
      return fc.array(anyOf(slot.element!), { maxLength: 3 })
    case 'struct':
      return anyFields(slot.slots!)
  }
}
