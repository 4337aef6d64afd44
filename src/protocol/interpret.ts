// The reference for codec.ts. It walks a message's layout field by field, in the plainest way, with the same limits.
// The tests compare the generated code with it. The broker never calls it, so nothing here is made for speed.
//
// The wire in one picture (KIP-482 names the right column "flexible"):
//
//   string        int16 length, UTF-8            unsigned varint length + 1, UTF-8
//   bytes         int32 length, bytes            unsigned varint length + 1, bytes
//   array         int32 count, elements          unsigned varint count + 1, elements
//   null          length or count -1             length or count 0
//   struct        its fields                     its fields, count of tagged fields, (tag, size, bytes)*
//   maybe struct  int8 -1, or int8 1 and the struct

import { isUtf8 } from 'node:buffer'
import { assert } from '../base/assert.ts'
import { MAX_ELEMENTS, MAX_OBJECTS, MAX_TAGS, MAX_VARINT_BYTES } from './limits.ts'
import { Malformed } from './malformed.ts'
import { absent, differs, isFlexible, layout, type Message, type Slot, smallestSize } from './schema.ts'

type Values = Record<string, unknown>

/** Decodes the message that fills bytes from offset to the end. Throws Malformed. */
export function interpretBytes(message: Message, version: number, bytes: Uint8Array, offset = 0): Values {
  const flexible = isFlexible(message, version)
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = offset
  let end = buffer.length
  let budget = MAX_OBJECTS

  const value = fieldsOf(layout(message, version))
  if (at !== end && !message.mayBeFollowed) throw new Malformed(message.name, `${end - at} bytes are left over`)
  return value

  function take(length: number, field: string): Buffer {
    if (length > end - at) throw new Malformed(field, `needs ${length} bytes, ${end - at} are left`)
    at += length
    return buffer.subarray(at - length, at)
  }

  function varint(field: string): number {
    let value = 0
    for (let i = 0; i < MAX_VARINT_BYTES; i++) {
      const byte = take(1, field)[0]!
      if (i === MAX_VARINT_BYTES - 1 && byte > 0x0f) break
      value += (byte & 0x7f) * 2 ** (7 * i)
      if (byte < 0x80) return value
    }
    throw new Malformed(field, 'the varint does not fit 32 bits')
  }

  /** A length or count, -1 for null. */
  function length(slot: Slot, width: 2 | 4): number {
    const n = flexible
      ? varint(slot.path) - 1
      : width === 2
        ? take(2, slot.path).readInt16BE()
        : take(4, slot.path).readInt32BE()
    if (n < -1 || (n === -1 && !slot.nullable)) throw new Malformed(slot.path, `the length ${n} is not allowed`)
    return n
  }

  function spend(count: number, field: string): void {
    budget -= count
    if (budget < 0) throw new Malformed(field, `the message has more than ${MAX_OBJECTS} elements`)
  }

  function fieldsOf(slots: readonly Slot[]): Values {
    const value: Values = {}
    for (const slot of slots) value[slot.name] = slot.present && slot.tag === null ? readValue(slot) : absent(slot)
    if (flexible) readTags(slots, value)
    return value
  }

  function readTags(slots: readonly Slot[], value: Values): void {
    const count = varint('tags')
    if (count > MAX_TAGS || count * 2 > end - at) throw new Malformed('tags', `${count} tagged fields do not fit`)
    spend(count, 'tags')
    let last = -1
    for (let i = 0; i < count; i++) {
      const tag = varint('tags')
      const size = varint('tags')
      if (tag <= last) throw new Malformed('tags', 'the tags are not in rising order')
      last = tag
      if (size > end - at) throw new Malformed('tags', `a field needs ${size} bytes, ${end - at} are left`)
      const slot = slots.find(slot => slot.present && slot.tag === tag)
      const outer = end
      end = at + size
      if (slot) value[slot.name] = readValue(slot)
      else at = end
      if (at !== end) throw new Malformed('tags', 'a field is longer than it says')
      end = outer
    }
  }

  function readValue(slot: Slot): unknown {
    const { path } = slot
    switch (slot.kind) {
      case 'int8':
        return take(1, path).readInt8()
      case 'int16':
        return take(2, path).readInt16BE()
      case 'uint16':
        return take(2, path).readUInt16BE()
      case 'int32':
        return take(4, path).readInt32BE()
      case 'uint32':
        return take(4, path).readUInt32BE()
      case 'int64':
        return Number(take(8, path).readBigInt64BE())
      case 'float64':
        return take(8, path).readDoubleBE()
      case 'bool':
        return take(1, path)[0] !== 0
      case 'uuid':
        return take(16, path).toString('base64url')
      case 'string': {
        const n = length(slot, 2)
        if (n === -1) return null
        const text = take(n, path)
        if (!isUtf8(text)) throw new Malformed(path, 'the text is not UTF-8')
        return text.toString()
      }
      case 'bytes': {
        const n = length(slot, 4)
        return n === -1 ? null : Buffer.from(take(n, path))
      }
      case 'records': {
        const n = length(slot, 4)
        return n === -1 ? null : take(n, path)
      }
      case 'array': {
        const n = length(slot, 4)
        if (n === -1) return null
        if (n > MAX_ELEMENTS || n * smallestSize(slot.element!, flexible) > end - at)
          throw new Malformed(path, `${n} elements do not fit`)
        spend(n, path)
        const elements: unknown[] = []
        for (let i = 0; i < n; i++) elements.push(readValue(slot.element!))
        return elements
      }
      case 'struct': {
        if (slot.nullable) {
          const mark = take(1, path).readInt8()
          if (mark === -1) return null
          if (mark !== 1) throw new Malformed(path, `${mark} is neither a struct nor null`)
        }
        return fieldsOf(slot.slots!)
      }
    }
  }
}

/** Encodes the message. */
export function interpretValue(message: Message, version: number, value: object): Buffer {
  const flexible = isFlexible(message, version)
  return fieldsOf(layout(message, version), value as Values)

  function varint(value: number): Buffer {
    const bytes: number[] = []
    let rest = value
    for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80)
    return Buffer.from([...bytes, rest])
  }

  function length(n: number, width: 2 | 4): Buffer {
    if (flexible) return varint(n + 1)
    const bytes = Buffer.alloc(width)
    bytes.writeIntBE(n, 0, width)
    return bytes
  }

  function fieldsOf(slots: readonly Slot[], value: Values): Buffer {
    const present = slots.filter(slot => slot.present)
    const plain = present.filter(slot => slot.tag === null)
    const parts = plain.map(slot => {
      const given = value[slot.name]
      return bytesOf(slot, given === undefined && !slot.required ? absent(slot) : given)
    })
    if (flexible) {
      const tags = present.filter(slot => slot.tag !== null && differs(slot, value[slot.name]))
      parts.push(varint(tags.length))
      for (const slot of tags) {
        const bytes = bytesOf(slot, value[slot.name])
        parts.push(varint(slot.tag!), varint(bytes.length), bytes)
      }
    }
    return Buffer.concat(parts)
  }

  function fixed(size: number, write: (bytes: Buffer) => void): Buffer {
    const bytes = Buffer.alloc(size)
    write(bytes)
    return bytes
  }

  function bytesOf(slot: Slot, value: unknown): Buffer {
    const number = value as number
    assert(value !== null || slot.nullable, `${slot.path} must not be null`)
    switch (slot.kind) {
      case 'int8':
        return fixed(1, bytes => bytes.writeInt8(number))
      case 'int16':
        return fixed(2, bytes => bytes.writeInt16BE(number))
      case 'uint16':
        return fixed(2, bytes => bytes.writeUInt16BE(number))
      case 'int32':
        return fixed(4, bytes => bytes.writeInt32BE(number))
      case 'uint32':
        return fixed(4, bytes => bytes.writeUInt32BE(number))
      case 'int64':
        return fixed(8, bytes => bytes.writeBigInt64BE(BigInt(number)))
      case 'float64':
        return fixed(8, bytes => bytes.writeDoubleBE(number))
      case 'bool':
        return Buffer.from([value ? 1 : 0])
      case 'uuid':
        return Buffer.from(value as string, 'base64url')
      case 'string': {
        if (value === null) return length(-1, 2)
        const text = Buffer.from(value as string)
        return Buffer.concat([length(text.length, 2), text])
      }
      case 'bytes':
      case 'records': {
        if (value === null) return length(-1, 4)
        const bytes = Buffer.concat(Array.isArray(value) ? value : [value as Uint8Array])
        return Buffer.concat([length(bytes.length, 4), bytes])
      }
      case 'array': {
        if (value === null) return length(-1, 4)
        const elements = value as readonly unknown[]
        return Buffer.concat([length(elements.length, 4), ...elements.map(element => bytesOf(slot.element!, element))])
      }
      case 'struct': {
        if (!slot.nullable) return fieldsOf(slot.slots!, value as Values)
        if (value === null) return Buffer.from([0xff])
        return Buffer.concat([Buffer.from([1]), fieldsOf(slot.slots!, value as Values)])
      }
    }
  }
}
