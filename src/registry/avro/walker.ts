// Judges Avro payloads (Avro 1.12 specification, "Binary Encoding") by a program, without building values. It checks
// more than readers do: the bits of a number beyond its width, UTF-8, and the length that a block claims.

import { isUtf8 } from 'node:buffer'
import { asciiUntil } from '../ascii.ts'
import { type Fault, MOST_EMPTY_ELEMENTS, MOST_LEVELS, type Walker } from '../format.ts'
import type { AvroProgram } from './program.ts'
import * as op from './program.ts'
import { characterStart, utf8Until } from './utf8.ts'
import { clipped } from './words.ts'

/** A longer text is checked in parts of this many bytes, and may be left in between. */
const PART_BYTES = 16 * 1024
/** The work for a part, in values. */
const PART_STEPS = 256

/** Words of a frame: where to go on, the items that are left (-1: a record), where the block ends (-1: not known). */
const FRAME = 3

/** The result of `#count` if it has set the fault. */
const FAILED = -1

export class AvroWalker implements Walker {
  readonly #program: AvroProgram
  readonly #frames = new Int32Array(MOST_LEVELS * FRAME)
  #bytes: Uint8Array = new Uint8Array(0)
  /** The same bytes. The records of a batch share it. */
  #view = new DataView(this.#bytes.buffer)
  #from = 0
  #to = 0
  #at = 0
  #pc = 0
  #top = 0
  /** Items without bytes so far. */
  #empties = 0
  /** The end of a long text that is being checked; -1 outside of one. */
  #textEnd = -1
  #blockEnd = -1
  /** The last length that `#long` read. It is exact up to 2^53. */
  #value = 0
  #fault: Fault | null = null

  constructor(program: AvroProgram) {
    this.#program = program
  }

  begin(bytes: Uint8Array, from: number, to: number): void {
    if (bytes !== this.#bytes) {
      this.#bytes = bytes
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    }
    this.#from = from
    this.#to = to
    this.#at = from
    this.#pc = 0
    this.#top = 0
    this.#empties = 0
    this.#textEnd = -1
    this.#fault = null
  }

  run(steps: number): 'more' | Fault | null {
    if (this.#fault !== null) return this.#fault
    let left = steps
    if (this.#textEnd >= 0) {
      left = this.#longText(left)
      if (this.#fault !== null) return this.#fault
      if (this.#textEnd >= 0) return 'more'
    }
    const { code } = this.#program
    const bytes = this.#bytes
    const view = this.#view
    const to = this.#to
    const frames = this.#frames
    let at = this.#at
    let pc = this.#pc
    let top = this.#top
    for (;;) {
      if (--left < 0) {
        this.#at = at
        this.#pc = pc
        this.#top = top
        return 'more'
      }
      // The engine makes a jump table of literals only, and the walk takes a third less time. program.ts names them.
      switch (code[pc]) {
        case 0: {
          // END
          if (top === 0) {
            this.#at = at
            this.#pc = pc
            this.#top = 0
            return at === to ? null : this.#failAt(at, 'trailing-bytes', `${to - at} bytes follow the value`)
          }
          top -= FRAME
          pc = frames[top]!
          break
        }
        case 1: {
          // BOOLEAN
          if (at >= to) return this.#truncated(at, pc, top)
          if (bytes[at]! > 1) return this.#fail(at, pc, top, 'bad-value', `a boolean is 0 or 1, not ${bytes[at]}`)
          at++
          pc++
          break
        }
        case 2:
        case 3: {
          // INT or LONG
          const isInt = code[pc] === op.INT
          const last = at + (isInt ? 4 : 9)
          const start = at
          while (at < to && at < last && bytes[at]! >= 0x80) at++
          if (at >= to) return this.#truncated(start, pc, top)
          if (at === last && bytes[at]! > (isInt ? 0x0f : 0x01))
            return this.#fail(start, pc, top, 'bad-value', `an integer has more than ${isInt ? 32 : 64} bits`)
          at++
          pc++
          break
        }
        case 4: {
          // SKIP
          at += code[pc + 1]!
          if (at > to) return this.#truncated(at - code[pc + 1]!, pc, top)
          pc += 2
          break
        }
        case 5:
        case 6: {
          // BYTES or STRING
          const start = at
          let length = at < to ? bytes[at]! : -1
          if (length >= 0 && length < 0x80) {
            if ((length & 1) === 1) return this.#negative(start, pc, top, (-1 - length) / 2)
            length >>>= 1
            at++
          } else if (length >= 0 && (length & 1) === 0 && at + 1 < to && bytes[at + 1]! < 0x80) {
            // A length of two bytes, without a call: most texts have one byte or two.
            length = ((length & 0x7f) >>> 1) | (bytes[at + 1]! << 6)
            at += 2
          } else {
            at = this.#long(at)
            if (at < 0) return this.#badLong(start, pc, top)
            length = this.#value
            if (length < 0) return this.#negative(start, pc, top, length)
          }
          if (length > to - at)
            return this.#fail(start, pc, top, 'truncated', `a length of ${length} with ${to - at} bytes left`)
          const end = at + length
          if (code[pc] === op.STRING) {
            if (length > PART_BYTES) {
              this.#at = at
              this.#pc = pc
              this.#top = top
              this.#textEnd = end
              left = this.#longText(left)
              if (this.#fault !== null) return this.#fault
              if (this.#textEnd >= 0) return 'more'
            } else {
              at = asciiUntil(bytes, view, at, end)
              if (at < end) {
                const wrong = utf8Until(bytes, at, end)
                if (wrong < end) return this.#fail(wrong, pc, top, 'bad-value', 'the text is no valid UTF-8')
              }
            }
          }
          at = end
          pc++
          break
        }
        case 7:
        case 8: {
          // ENUM or UNION
          const start = at
          let index = at < to ? bytes[at]! : -1
          if (index >= 0 && index < 0x80) {
            index = (index & 1) === 1 ? (-1 - index) / 2 : index >>> 1
            at++
          } else {
            at = this.#long(at)
            if (at < 0) return this.#badLong(start, pc, top)
            index = this.#value
          }
          const count = code[pc + 1]!
          if (index < 0 || index >= count) return this.#badIndex(start, pc, top, index)
          pc = code[pc] === op.UNION ? code[pc + 2 + index]! : pc + 2
          break
        }
        case 9: {
          // JUMP
          pc = code[pc + 1]!
          break
        }
        case 10: {
          // LOOP
          const start = at
          this.#at = at
          const count = this.#count(pc, top, 1)
          if (count === FAILED) return this.#fault
          at = this.#at
          if (count === 0) pc = code[pc + 1]!
          else {
            if (top === frames.length) return this.#tooDeep(start, pc, top)
            pc += 2
            frames[top] = pc
            frames[top + 1] = count
            frames[top + 2] = this.#blockEnd
            top += FRAME
          }
          break
        }
        case 11: {
          // NEXT
          const frame = top - FRAME
          const more = frames[frame + 1]! - 1
          if (more > 0) {
            frames[frame + 1] = more
            pc = frames[frame]!
            break
          }
          const blockEnd = frames[frame + 2]!
          if (blockEnd >= 0 && blockEnd !== at)
            return this.#fail(
              at,
              pc,
              top,
              'bad-value',
              `a block ends here that claims to end at byte ${blockEnd - this.#from}`,
            )
          this.#at = at
          const count = this.#count(pc, top, 1)
          if (count === FAILED) return this.#fault
          at = this.#at
          if (count === 0) {
            top = frame
            pc++
          } else {
            frames[frame + 1] = count
            frames[frame + 2] = this.#blockEnd
            pc = frames[frame]!
          }
          break
        }
        case 12: {
          // EMPTIES
          this.#at = at
          const count = this.#count(pc, top, 0)
          if (count === FAILED) return this.#fault
          this.#empties += count
          if (this.#empties > MOST_EMPTY_ELEMENTS)
            return this.#fail(at, pc, top, 'too-many-elements', `more than ${MOST_EMPTY_ELEMENTS} items without bytes`)
          at = this.#at
          if (count === 0) pc++
          break
        }
        default: {
          // CALL
          if (top === frames.length) return this.#tooDeep(at, pc, top)
          frames[top] = pc + 2
          frames[top + 1] = -1
          top += FRAME
          pc = code[pc + 1]!
        }
      }
    }
  }

  /**
   * Reads the head of a block at `#at`: the number of its items, and `#blockEnd`. Returns FAILED with `#fault`.
   * `itemBytes`: the fewest bytes of an item.
   */
  #count(pc: number, top: number, itemBytes: number): number {
    const start = this.#at
    let at = this.#long(start)
    if (at < 0) return this.#failed(this.#badLong(start, pc, top))
    let count = this.#value
    this.#blockEnd = -1
    if (count < 0) {
      count = -count
      const sizeAt = at
      at = this.#long(at)
      if (at < 0) return this.#failed(this.#badLong(sizeAt, pc, top))
      const size = this.#value
      if (size < 0) return this.#failed(this.#negative(sizeAt, pc, top, size))
      if (size > this.#to - at || (itemBytes === 0 && size > 0))
        return this.#failed(
          this.#fail(sizeAt, pc, top, 'bad-value', `a block of ${size} bytes with ${this.#to - at} left`),
        )
      this.#blockEnd = at + size
    }
    if (count * itemBytes > this.#to - at)
      return this.#failed(this.#fail(start, pc, top, 'truncated', `${count} items with ${this.#to - at} bytes left`))
    this.#at = at
    return count
  }

  #failed(_fault: Fault): number {
    return FAILED
  }

  /** Reads a varint into `#value`. Returns where it ends; -1 if the bytes end before, -2 if it has too many bits. */
  #long(from: number): number {
    const bytes = this.#bytes
    let at = from
    let value = 0
    let factor = 1
    for (let i = 0; i < 10; i++) {
      if (at >= this.#to) return -1
      const byte = bytes[at++]!
      value += (byte & 0x7f) * factor
      if (byte < 0x80) {
        if (i === 9 && byte > 1) return -2
        // Half of an odd number beyond 2^53 is not exact, and far beyond every bound.
        const half = Math.floor(value / 2)
        this.#value = (bytes[from]! & 1) === 1 ? -1 - half : half
        return at
      }
      factor *= 128
    }
    return -2
  }

  /** Checks parts of the text from `#at` to `#textEnd`. Returns the steps that are left. */
  #longText(steps: number): number {
    let left = steps
    while (this.#at < this.#textEnd) {
      if (left <= 0) return left
      const end = characterStart(this.#bytes, Math.min(this.#at + PART_BYTES, this.#textEnd), this.#textEnd)
      if (!isUtf8(this.#bytes.subarray(this.#at, end))) {
        this.#fail(this.#at, this.#pc, this.#top, 'bad-value', 'the text is no valid UTF-8')
        return left
      }
      this.#at = end
      left -= PART_STEPS
    }
    this.#textEnd = -1
    this.#pc++
    return left
  }

  #truncated(at: number, pc: number, top: number): Fault {
    return this.#fail(at, pc, top, 'truncated', 'the payload ends within a value')
  }

  #tooDeep(at: number, pc: number, top: number): Fault {
    return this.#fail(at, pc, top, 'too-deep', `more than ${MOST_LEVELS} levels`)
  }

  #negative(at: number, pc: number, top: number, length: number): Fault {
    return this.#fail(at, pc, top, 'bad-value', `a length of ${length}`)
  }

  #badLong(at: number, pc: number, top: number): Fault {
    if (this.#long(at) === -1) return this.#truncated(at, pc, top)
    return this.#fail(at, pc, top, 'bad-value', 'an integer has more than 64 bits')
  }

  #badIndex(at: number, pc: number, top: number, index: number): Fault {
    const count = this.#program.code[pc + 1]!
    const message =
      this.#program.code[pc] === op.UNION
        ? `a union of ${count} branches has no branch ${index}`
        : `an enum of ${count} symbols has no symbol ${index}`
    return this.#fail(at, pc, top, 'bad-value', message)
  }

  #fail(at: number, pc: number, top: number, reason: Fault['reason'], what: string): Fault {
    const fields: string[] = []
    const place = (address: number) => {
      const text = this.#program.places[address]!
      if (text >= 0) fields.push(this.#program.texts[text]!)
    }
    // A frame of a record returns behind its CALL.
    for (let frame = 0; frame < top; frame += FRAME) if (this.#frames[frame + 1] === -1) place(this.#frames[frame]! - 2)
    place(pc)
    const field = fields.length > 8 ? [...fields.slice(0, 4), '…', ...fields.slice(-3)] : fields
    return this.#failAt(at, reason, what, field.join('.'))
  }

  #failAt(at: number, reason: Fault['reason'], what: string, field = ''): Fault {
    const where = `at byte ${at - this.#from}${field === '' ? '' : `, field "${clipped(field)}"`}`
    this.#fault = { reason, message: `${where}: ${what}` }
    return this.#fault
  }
}
