// Walks payloads of one message type without building values, with a stack of its own. A payload is
//
//   (tag value)*    tag = varint of number * 8 + wire type
//
// A message in a field is a length and such a sequence; a group is such a sequence up to a tag of its end. The walker
// is stricter than parsers, which skip a known field with another wire type: that is a writer with another schema.

import type { Fault, Walker } from '../format.ts'
import { MOST_LEVELS } from '../format.ts'
import { enumNumber } from './enum-number.ts'
import type { ProtobufProgram } from './program.ts'
import { ACTION, sparseIndex } from './program.ts'
import { RequiredFields } from './required-fields.ts'
import { WIRE } from './tables.ts'
import { isUtf8 } from './utf8.ts'
import { fieldAt, missingField, varintMistake, wireMistake } from './walker-mistakes.ts'

// As constants of the module they cost no look-up in the loop.
const { varint: VARINT, bool: BOOL, closedEnum: CLOSED_ENUM, fixed32: FIXED32, fixed64: FIXED64 } = ACTION
const { string: STRING, bytes: BYTES, message: MESSAGE, group: GROUP, wrong: WRONG, skip: SKIP } = ACTION

/** The message of an unknown group: it has no fields. */
const NO_MESSAGE = -1

/** `message` is a number of the program (messageAt). */
export function walkerOf(program: ProtobufProgram, message: number): Walker {
  return new ProtobufWalker(program, message)
}

class ProtobufWalker implements Walker {
  readonly #program: ProtobufProgram
  readonly #root: number
  readonly #hasRequired: boolean
  #bytes: Uint8Array = new Uint8Array(0)
  #view: DataView = new DataView(new ArrayBuffer(0))
  #start = 0
  #at = 0
  #level = 0
  /** Of each open message. The end of a group is the end of what holds it, until its last tag comes. */
  readonly #messages = new Int32Array(MOST_LEVELS)
  readonly #ends = new Int32Array(MOST_LEVELS)
  /** The tag that ends a group; 0 for a message with a length. */
  readonly #endTags = new Uint32Array(MOST_LEVELS)
  readonly #required: RequiredFields
  /** A packed value that the last run left: its action, or 0, its detail and its end. */
  #packedAction = 0
  #packedDetail = 0
  #packedEnd = 0
  /** Of the last varint: where the next byte is, or -1 if it is not valid. */
  #next = 0
  #wasCut = false

  constructor(program: ProtobufProgram, root: number) {
    this.#program = program
    this.#root = root
    this.#required = new RequiredFields(program)
    this.#hasRequired = program.requiredCounts.some(count => count > 0)
  }

  begin(bytes: Uint8Array, from: number, to: number): void {
    if (bytes !== this.#bytes) {
      this.#bytes = bytes
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    }
    this.#start = from
    this.#at = from
    this.#level = -1
    this.#packedAction = 0
    this.#open(this.#root, to, 0)
  }

  run(steps: number): 'more' | Fault | null {
    let left = steps
    if (this.#packedAction !== 0) {
      const rest = this.#packed(left)
      if (typeof rest !== 'number') return rest
      left = rest
    }
    return this.#run(left)
  }

  #run(steps: number): 'more' | Fault | null {
    const { starts, lengths, actions, details, required } = this.#program
    const bytes = this.#bytes
    let left = steps
    let at = this.#at
    let message = this.#messages[this.#level] as number
    let end = this.#ends[this.#level] as number
    let start = message < 0 ? 0 : (starts[message] as number)
    let length = message < 0 ? 0 : (lengths[message] as number)
    let hasRequired = message >= 0 && (this.#program.requiredCounts[message] as number) > 0
    for (;;) {
      // One round is one field, or the end of a message.
      let isMoved = false
      if (at >= end) {
        if (hasRequired || (this.#endTags[this.#level] as number) !== 0) {
          const fault = this.#unclosed(at)
          if (fault !== null) return fault
        }
        if (--this.#level < 0) return null
        isMoved = true
      } else {
        if (left-- <= 0) {
          this.#at = at
          return 'more'
        }
        const tagAt = at
        let tag = bytes[at++] as number
        if (tag >= 0x80) {
          if (at < end && (bytes[at] as number) < 0x80) tag += ((bytes[at++] as number) << 7) - 0x80
          else {
            tag = this.#tag(tagAt, end)
            at = this.#next
          }
        }
        if (tag < 8) return this.#badTag(tagAt, at)
        let action: number
        let detail = -1
        let bit = 0
        if (tag < length) {
          const index = start + tag
          action = actions[index] as number
          detail = details[index >> 3] as number
          if (hasRequired) bit = required[index >> 3] as number
        } else {
          const index = message < 0 ? -1 : sparseIndex(this.#program, message, tag)
          action = index < 0 ? SKIP : (this.#program.sparseActions[index] as number)
          if (index >= 0) {
            detail = this.#program.sparseDetails[index] as number
            bit = this.#program.sparseRequired[index] as number
          }
        }
        // The end of a group may have the number of a required field in it.
        if (bit !== 0 && action !== SKIP) this.#required.mark(this.#level, bit)
        switch (action) {
          case VARINT: {
            // Nine bytes hold 63 bits: up to there every varint is valid.
            const limit = end - at > 9 ? at + 9 : end
            const from = at
            while (at < limit && (bytes[at] as number) >= 0x80) at++
            if (at < limit) at++
            else {
              this.#varint(from, end)
              at = this.#next
              if (at < 0) return this.#badVarint(tagAt, tag)
            }
            break
          }
          case STRING:
          case BYTES:
          case MESSAGE: {
            let size: number
            if (at < end && (bytes[at] as number) < 0x80) size = bytes[at++] as number
            else if (at + 1 < end && (bytes[at + 1] as number) < 0x80) {
              size = ((bytes[at] as number) & 0x7f) + ((bytes[at + 1] as number) << 7)
              at += 2
            } else {
              size = this.#varint(at, end)
              at = this.#next
              if (at < 0) return this.#badVarint(tagAt, tag)
            }
            if (size > end - at) return this.#tooLong(tagAt, tag, size, end - at)
            if (action === MESSAGE) {
              if (this.#level + 1 >= MOST_LEVELS) return this.#tooDeep(tagAt, tag)
              this.#open(detail, at + size, 0)
              isMoved = true
            } else {
              if (action === STRING && !isUtf8(bytes, this.#view, at, at + size)) {
                return this.#fault('bad-value', tagAt, tag, 'the string is not UTF-8')
              }
              left -= size >> 8
              at += size
            }
            break
          }
          case BOOL: {
            if (at >= end) return this.#cut(tagAt, tag)
            if ((bytes[at++] as number) > 1) return this.#fault('bad-value', tagAt, tag, 'a bool is 0 or 1')
            break
          }
          case FIXED32:
          case FIXED64: {
            at += action === FIXED32 ? 4 : 8
            if (at > end) return this.#cut(tagAt, tag)
            break
          }
          case GROUP: {
            if (this.#level + 1 >= MOST_LEVELS) return this.#tooDeep(tagAt, tag)
            this.#open(detail, end, tag + 1)
            isMoved = true
            break
          }
          case CLOSED_ENUM: {
            const fault = this.#closedEnum(at, end, tagAt, tag, detail)
            if (fault !== null) return fault
            at = this.#next
            break
          }
          case WRONG:
            return this.#fault('bad-value', tagAt, tag, wireMistake(this.#program, message, tag))
          case SKIP: {
            const wire = tag & 7
            if (wire === WIRE.endOfGroup) {
              if (tag !== (this.#endTags[this.#level] as number)) {
                return this.#fault('bad-value', tagAt, tag, 'the end of a group that did not begin here')
              }
              const fault = hasRequired ? this.#missing(tagAt) : null
              if (fault !== null) return fault
              this.#level--
              isMoved = true
            } else if (wire === WIRE.group) {
              if (this.#level + 1 >= MOST_LEVELS) return this.#tooDeep(tagAt, tag)
              this.#open(NO_MESSAGE, end, tag + 1)
              isMoved = true
            } else {
              const fault = this.#skip(at, end, tagAt, tag)
              if (fault !== null) return fault
              at = this.#next
            }
            break
          }
          default: {
            const size = this.#varint(at, end)
            at = this.#next
            if (at < 0) return this.#badVarint(tagAt, tag)
            if (size > end - at) return this.#tooLong(tagAt, tag, size, end - at)
            this.#at = at
            this.#packedAction = action
            this.#packedDetail = detail
            this.#packedEnd = at + size
            const rest = this.#packed(left)
            if (typeof rest !== 'number') return rest
            left = rest
            at = this.#at
          }
        }
      }
      if (isMoved) {
        message = this.#messages[this.#level] as number
        end = this.#ends[this.#level] as number
        start = message < 0 ? 0 : (starts[message] as number)
        length = message < 0 ? 0 : (lengths[message] as number)
        hasRequired = message >= 0 && (this.#program.requiredCounts[message] as number) > 0
      }
    }
  }

  /** Elements side by side, up to #packedEnd. Returns the steps that are left. */
  #packed(steps: number): number | 'more' | Fault {
    const bytes = this.#bytes
    const end = this.#packedEnd
    const action = this.#packedAction
    let at = this.#at
    let left = steps
    if (action === ACTION.packedFixed32 || action === ACTION.packedFixed64) {
      const size = action === ACTION.packedFixed32 ? 4 : 8
      if ((end - at) % size !== 0)
        return this.#badPacked(at, `${end - at} bytes hold no whole number of values of ${size}`)
      at = end
    }
    while (at < end) {
      if (left-- <= 0) {
        this.#at = at
        return 'more'
      }
      if (action === ACTION.packedBool) {
        if ((bytes[at] as number) > 1) return this.#badPacked(at, 'a bool is 0 or 1')
        at++
      } else if (action === ACTION.packedClosedEnum) {
        const fault = this.#closedEnum(at, end, at, 0, this.#packedDetail)
        if (fault !== null) return fault
        at = this.#next
      } else if ((bytes[at] as number) < 0x80) at++
      else {
        this.#varint(at, end)
        if (this.#next < 0) return this.#badPacked(at, varintMistake(this.#wasCut))
        at = this.#next
      }
    }
    this.#at = at
    this.#packedAction = 0
    return left
  }

  /** Why the message that ends at `at`, with its length, is not complete. */
  #unclosed(at: number): Fault | null {
    const endTag = this.#endTags[this.#level] as number
    return endTag === 0 ? this.#missing(at) : this.#faultText('truncated', at, `the group ${endTag >>> 3} has no end`)
  }

  #open(message: number, end: number, endTag: number): void {
    const level = ++this.#level
    this.#messages[level] = message
    this.#ends[level] = end
    this.#endTags[level] = endTag
    if (this.#hasRequired) this.#required.open(level, message)
  }

  /** Why the message that ends here is not complete. */
  #missing(at: number): Fault | null {
    const message = this.#messages[this.#level] as number
    const bit = this.#required.missing(this.#level, message)
    return bit < 0 ? null : this.#faultText('bad-value', at, missingField(this.#program, message, bit))
  }

  /** A tag of more than one byte; less than 8 if it is not valid. */
  #tag(from: number, end: number): number {
    const tag = this.#varint(from, end)
    return this.#next < 0 || tag > 0xffffffff ? 0 : tag
  }

  /** Reads a varint; above 2^53 its value is about right. Sets #next, to -1 if the bytes are no varint of 64 bits. */
  #varint(from: number, end: number): number {
    const bytes = this.#bytes
    let value = 0
    let factor = 1
    let at = from
    this.#wasCut = false
    while (at < end) {
      const byte = bytes[at++] as number
      value += (byte & 0x7f) * factor
      if (byte < 0x80) {
        // The tenth byte holds the last one of 64 bits.
        this.#next = at - from === 10 && byte > 1 ? -1 : at
        return value
      }
      if (at - from === 10) {
        this.#next = -1
        return 0
      }
      factor *= 128
    }
    this.#wasCut = true
    this.#next = -1
    return 0
  }

  #closedEnum(from: number, end: number, tagAt: number, tag: number, detail: number): Fault | null {
    const value = this.#varint(from, end)
    if (this.#next < 0) return this.#badVarint(tagAt, tag)
    const number = enumNumber(this.#bytes, from, value)
    const type = this.#program.enums[detail]
    if (type === undefined || type.names.has(number)) return null
    return this.#fault('bad-value', tagAt, tag, `the enum ${type.fullName} has no value ${number}`)
  }

  #skip(from: number, end: number, tagAt: number, tag: number): Fault | null {
    const wire = tag & 7
    if (wire === WIRE.varint) {
      this.#varint(from, end)
      return this.#next < 0 ? this.#badVarint(tagAt, tag) : null
    }
    if (wire === WIRE.bytes) {
      const size = this.#varint(from, end)
      if (this.#next < 0) return this.#badVarint(tagAt, tag)
      if (size > end - this.#next) return this.#tooLong(tagAt, tag, size, end - this.#next)
      this.#next += size
      return null
    }
    if (wire !== WIRE.fixed32 && wire !== WIRE.fixed64) {
      return this.#fault('bad-value', tagAt, tag, `no value has the wire type ${wire}`)
    }
    this.#next = from + (wire === WIRE.fixed32 ? 4 : 8)
    return this.#next > end ? this.#cut(tagAt, tag) : null
  }

  #badTag(at: number, next: number): Fault {
    if (next >= 0) return this.#faultText('bad-value', at, 'no field has the number 0 or one above 536870911')
    return this.#faultText(this.#wasCut ? 'truncated' : 'bad-value', at, varintMistake(this.#wasCut))
  }

  #badVarint(at: number, tag: number): Fault {
    return this.#fault(this.#wasCut ? 'truncated' : 'bad-value', at, tag, varintMistake(this.#wasCut))
  }

  #badPacked(at: number, text: string): Fault {
    return this.#faultText(this.#wasCut ? 'truncated' : 'bad-value', at, `a packed field: ${text}`)
  }

  #cut(at: number, tag: number): Fault {
    return this.#fault('truncated', at, tag, 'its value goes on beyond the end')
  }

  #tooLong(at: number, tag: number, size: number, left: number): Fault {
    return this.#fault('truncated', at, tag, `its length is ${size}, and ${left} bytes are left`)
  }

  #tooDeep(at: number, tag: number): Fault {
    return this.#fault('too-deep', at, tag, `messages stand in each other over more than ${MOST_LEVELS} levels`)
  }

  #fault(reason: Fault['reason'], at: number, tag: number, text: string): Fault {
    const message = this.#messages[this.#level] as number
    const field = fieldAt(this.#program, message, tag)
    return { reason, message: `at byte ${at - this.#start}${field === '' ? '' : `, ${field}`}: ${text}` }
  }

  #faultText(reason: Fault['reason'], at: number, text: string): Fault {
    return { reason, message: `at byte ${at - this.#start}: ${text}` }
  }
}
