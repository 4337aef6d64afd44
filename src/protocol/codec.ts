// Encoders and decoders of messages. For each message, version and direction, the first use generates straight-line
// source from the message's layout and compiles it with `new Function`. That is two to six times faster than walking
// the layout, and the code always matches the declaration. interpret.ts walks the layout; the tests compare the two.
//
// A decoder reads a whole message or throws Malformed. It never reads past `end`, and it compares every count with
// limits.ts and with the bytes left before it allocates anything. `records` are views of the frame, `bytes` are
// copies. An encoder asserts that its value fits the declaration: a wrong value is our own mistake.

import { isUtf8 } from 'node:buffer'
import { assert } from '../base/assert.ts'
import { MAX_ELEMENTS, MAX_OBJECTS, MAX_TAGS, MAX_VARINT_BYTES } from './limits.ts'
import { Malformed } from './malformed.ts'
import {
  type Api,
  absent,
  differs,
  type Fields,
  type InputOf,
  isFlexible,
  layout,
  type Message,
  type RequestInput,
  type RequestOf,
  type ResponseInput,
  type ResponseOf,
  SIZES,
  type Slot,
  smallestSize,
  type ValueOf,
  ZERO_UUID,
} from './schema.ts'

type Decoder = (bytes: Buffer, offset: number, end: number) => unknown
type Encoder = (value: unknown, lead?: number) => Buffer[]

/** Decodes the request that fills bytes from offset to the end. Throws Malformed. */
export function decodeRequest<A extends Api>(api: A, version: number, bytes: Uint8Array, offset: number): RequestOf<A> {
  return decode(api.request, version, bytes, offset) as RequestOf<A>
}

/** Decodes the response that fills bytes from offset to the end. Throws Malformed. */
export function decodeResponse<A extends Api>(
  api: A,
  version: number,
  bytes: Uint8Array,
  offset: number,
): ResponseOf<A> {
  return decode(api.response, version, bytes, offset) as ResponseOf<A>
}

/** Returns the request body in parts, in the order of writing. Slices given as `records` are parts of their own. */
export function encodeRequest<A extends Api>(api: A, version: number, value: RequestInput<A>): Uint8Array[] {
  return encoderOf(api.request, version)(value)
}

/**
 * Returns the response body in parts, in the order of writing. Slices given as `records` are parts of their own. The
 * first part begins with `lead` bytes, up to 16, that the caller fills.
 */
export function encodeResponse<A extends Api>(api: A, version: number, value: ResponseInput<A>, lead = 0): Buffer[] {
  return encoderOf(api.response, version)(value, lead)
}

/** Decodes a message that is not a request or response and fills bytes from offset to the end. Throws Malformed. */
export function decodeMessage<S extends Fields>(
  message: Message<S>,
  version: number,
  bytes: Uint8Array,
  offset = 0,
): ValueOf<S> {
  return decode(message, version, bytes, offset) as ValueOf<S>
}

export function encodeMessage<S extends Fields>(message: Message<S>, version: number, value: InputOf<S>): Uint8Array[] {
  return encoderOf(message, version)(value)
}

function decode(message: Message, version: number, bytes: Uint8Array, offset: number): unknown {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return decoderOf(message, version)(buffer, offset, buffer.length)
}

const decoders = new WeakMap<Message, Decoder[]>()
const encoders = new WeakMap<Message, Encoder[]>()

function decoderOf(message: Message, version: number): Decoder {
  return (
    decoders.get(message)?.[version] ??
    keep(
      decoders,
      message,
      version,
      compile(`decode-${message.name}-${version}`, decoderSource(message, version), READING) as Decoder,
    )
  )
}

function encoderOf(message: Message, version: number): Encoder {
  return (
    encoders.get(message)?.[version] ??
    keep(
      encoders,
      message,
      version,
      compile(`encode-${message.name}-${version}`, encoderSource(message, version), WRITING) as Encoder,
    )
  )
}

function keep<F>(made: WeakMap<Message, F[]>, message: Message, version: number, fn: F): F {
  const versions = made.get(message) ?? []
  versions[version] = fn
  made.set(message, versions)
  return fn
}

/** The source of a function, and the values that it refers to as K[0], K[1] and so on. */
interface Source {
  readonly text: string
  readonly constants: readonly unknown[]
}

/** Compiles the source. `name` is the name of the code in profiles, coverage and stack traces. */
function compile(name: string, source: Source, words: object): unknown {
  const names = [...Object.keys(words), 'K']
  const body = `'use strict'\nreturn ${source.text}\n//# sourceURL=ketch:${name}`
  return new Function(...names, body)(...Object.values(words), source.constants)
}

// ---------------------------------------------------------------------------------------------------------- reading

/** The offset after the varint that varint() has read. The caller reads it at once. */
const cursor = { at: 0 }

function fail(field: string, reason: string): never {
  throw new Malformed(field, reason)
}

function short(field: string, left: number): never {
  throw new Malformed(field, `the bytes end too early, ${left} are left`)
}

/** Reads an unsigned varint of any length and returns its value. The generated code reads one-byte varints itself. */
function varint(b: Buffer, at: number, end: number, field: string): number {
  let value = 0
  for (let i = 0; i < MAX_VARINT_BYTES; i++) {
    if (at + i >= end) short(field, 0)
    const byte = b[at + i]!
    if (i === MAX_VARINT_BYTES - 1 && byte > 0x0f) break
    value |= (byte & 0x7f) << (7 * i)
    if (byte < 0x80) {
      cursor.at = at + i + 1
      return value >>> 0
    }
  }
  return fail(field, 'the varint does not fit 32 bits')
}

/** The most bytes of a text for which a loop is faster than a call into C++. */
const SHORT_TEXT = 64

// Every Node version has these methods of Buffer; its type declarations leave them out.
interface Slices {
  latin1Slice(start: number, end: number): string
  utf8Slice(start: number, end: number): string
  base64urlSlice(start: number, end: number): string
}

/** Returns the text. Overlong forms, lone surrogates and cut sequences of UTF-8 are malformed. */
function text(b: Buffer & Slices, at: number, length: number, field: string): string {
  const end = at + length
  if (length <= SHORT_TEXT) {
    let all = 0
    for (let i = at; i < end; i++) all |= b[i]!
    if (all < 0x80) return b.latin1Slice(at, end)
  }
  if (!isUtf8(b.subarray(at, end))) fail(field, 'the text is not UTF-8')
  return b.utf8Slice(at, end)
}

function uuidText(b: Buffer & Slices, at: number): string {
  let all = 0
  for (let i = at; i < at + 16; i++) all |= b[i]!
  return all === 0 ? ZERO_UUID : b.base64urlSlice(at, at + 16)
}

const copy = (b: Buffer, at: number, end: number): Buffer => Buffer.from(b.subarray(at, end))

const READING = { varint, text, uuidText, copy, fail, short, cursor }

/**
 * Returns the source of a function (b, p, end): b is the frame, p the current offset, end the end of the message or
 * of the tagged field, n a length or count, budget the rest of MAX_OBJECTS.
 */
function decoderSource(message: Message, version: number): Source {
  const flexible = isFlexible(message, version)
  const constants: unknown[] = []
  const lines: string[] = []
  let names = 0
  const emit = (line: string) => lines.push(line)
  const name = (stem: string) => `${stem}${names++}`
  const constant = (value: unknown) => `K[${constants.push(value) - 1}]`

  emit(`function decode(b, p, end) {\nlet n = 0, budget = ${MAX_OBJECTS}`)
  const result = readFields(layout(message, version), message.name)
  if (!message.mayBeFollowed) emit(`if (p !== end) fail('${message.name}', (end - p) + ' bytes are left over')`)
  emit(`return ${result}\n}`)
  return { text: lines.join('\n'), constants }

  function literal(slot: Slot): string {
    const value = absent(slot)
    return typeof value === 'object' && value !== null ? constant(value) : JSON.stringify(value)
  }

  /** Emits the reading of a struct's fields and returns the expression that makes the struct. */
  function readFields(slots: readonly Slot[], path: string): string {
    const values = new Map<Slot, string>()
    let run: Slot[] = []
    const flush = () => {
      if (run.length > 0) readRun(run, values)
      run = []
    }
    for (const slot of slots) {
      if (!slot.present || slot.tag !== null) continue
      if (SIZES[slot.kind] !== undefined) {
        run.push(slot)
        continue
      }
      flush()
      values.set(slot, readValue(slot))
    }
    flush()
    if (flexible) readTags(slots, values, path)
    const members = slots.map(slot => `${slot.name}: ${values.get(slot) ?? literal(slot)}`)
    return `{ ${members.join(', ')} }`
  }

  /** Emits the reading of neighbours of fixed size, with one check of the end for all of them. */
  function readRun(run: readonly Slot[], values: Map<Slot, string>): void {
    const size = run.reduce((sum, slot) => sum + SIZES[slot.kind]!, 0)
    emit(`if (end - p < ${size}) short('${run[0]!.path}', end - p)`)
    let offset = 0
    for (const slot of run) {
      const value = name('v')
      emit(`const ${value} = ${fixed(slot, offset)}`)
      values.set(slot, value)
      offset += SIZES[slot.kind]!
    }
    emit(`p += ${size}`)
  }

  /** Returns the expression of a value of fixed size at p + offset. */
  function fixed(slot: Slot, offset: number): string {
    const byte = (i: number) => (offset + i === 0 ? 'b[p]' : `b[p + ${offset + i}]`)
    const word = (i: number) => `(${byte(i)} << 24 | ${byte(i + 1)} << 16 | ${byte(i + 2)} << 8 | ${byte(i + 3)})`
    switch (slot.kind) {
      case 'int8':
        return `${byte(0)} << 24 >> 24`
      case 'int16':
        return `(${byte(0)} << 24 | ${byte(1)} << 16) >> 16`
      case 'uint16':
        return `${byte(0)} << 8 | ${byte(1)}`
      case 'int32':
        return word(0)
      case 'uint32':
        return `${word(0)} >>> 0`
      case 'int64':
        return `${word(0)} * 4294967296 + (${word(4)} >>> 0)`
      case 'float64':
        return `b.readDoubleBE(p + ${offset})`
      case 'bool':
        return `${byte(0)} !== 0`
      default:
        assert(slot.kind === 'uuid', `${slot.path} has no fixed size`)
        return `uuidText(b, p + ${offset})`
    }
  }

  /** Emits the reading of an unsigned varint into n. */
  function readVarint(path: string): void {
    emit(`if (p >= end) short('${path}', 0)`)
    emit(`n = b[p++]\nif (n > 127) { n = varint(b, p - 1, end, '${path}'); p = cursor.at }`)
  }

  /** Emits the reading of a length or count into n; -1 is null. */
  function readLength(slot: Slot, width: 2 | 4): void {
    if (flexible) {
      readVarint(slot.path)
      emit('n--')
    } else {
      emit(`if (end - p < ${width}) short('${slot.path}', end - p)`)
      const low =
        width === 2 ? '(b[p] << 24 | b[p + 1] << 16) >> 16' : 'b[p] << 24 | b[p + 1] << 16 | b[p + 2] << 8 | b[p + 3]'
      emit(`n = ${low}\np += ${width}`)
    }
    emit(`if (n < ${slot.nullable ? -1 : 0}) fail('${slot.path}', 'the length ' + n + ' is not allowed')`)
  }

  /** Emits the reading of a value and returns the name or expression that holds it. */
  function readValue(slot: Slot): string {
    const { path } = slot
    const size = SIZES[slot.kind]
    const value = name('v')
    if (size !== undefined) {
      emit(`if (end - p < ${size}) short('${path}', end - p)`)
      emit(`const ${value} = ${fixed(slot, 0)}\np += ${size}`)
    } else if (slot.kind === 'array') readArray(slot, value)
    else if (slot.kind === 'struct') readStruct(slot, value)
    else {
      readLength(slot, slot.kind === 'string' ? 2 : 4)
      emit(`let ${value} = null`)
      emit('if (n !== -1) {')
      emit(`if (n > end - p) short('${path}', end - p)`)
      if (slot.kind === 'string') emit(`${value} = n === 0 ? '' : text(b, p, n, '${path}')`)
      else emit(`${value} = ${slot.kind === 'bytes' ? 'copy(b, p, p + n)' : 'b.subarray(p, p + n)'}`)
      emit('p += n\n}')
    }
    return value
  }

  function readArray(slot: Slot, value: string): void {
    const { path } = slot
    const element = slot.element!
    const [count, i] = [name('c'), name('i')]
    readLength(slot, 4)
    emit(`const ${count} = n\nlet ${value} = null\nif (n !== -1) {`)
    emit(
      `if (n > ${MAX_ELEMENTS} || n * ${smallestSize(element, flexible)} > end - p) fail('${path}', n + ' elements do not fit')`,
    )
    emit(`if ((budget -= n) < 0) fail('${path}', 'the message has more than ${MAX_OBJECTS} elements')`)
    // The array is not allocated by its count, because the elements have not been read yet.
    emit(`${value} = []\nfor (let ${i} = 0; ${i} < ${count}; ${i}++) {`)
    const size = SIZES[element.kind]
    if (size !== undefined) emit(`${value}.push(${fixed(element, 0)})\np += ${size}`)
    else emit(`${value}.push(${readValue(element)})`)
    emit('}\n}')
  }

  function readStruct(slot: Slot, value: string): void {
    if (!slot.nullable) {
      emit(`const ${value} = ${readFields(slot.slots!, slot.path)}`)
      return
    }
    emit(`let ${value} = null\nif (p >= end) short('${slot.path}', 0)\nn = b[p++]`)
    emit(`if (n !== 1 && n !== 255) fail('${slot.path}', n + ' is neither a struct nor null')`)
    emit('if (n === 1) {')
    emit(`${value} = ${readFields(slot.slots!, slot.path)}\n}`)
  }

  function readTags(slots: readonly Slot[], values: Map<Slot, string>, path: string): void {
    const known = slots.filter(slot => slot.tag !== null && slot.present)
    for (const slot of known) {
      const value = name('t')
      emit(`let ${value} = ${literal(slot)}`)
      values.set(slot, value)
    }
    const [count, i, tag, last, outer] = [name('c'), name('i'), name('g'), name('l'), name('e')]
    readVarint(path)
    emit('if (n !== 0) {')
    emit(`if (n > ${MAX_TAGS} || n * 2 > end - p) fail('${path}', n + ' tagged fields do not fit')`)
    emit(`if ((budget -= n) < 0) fail('${path}', 'the message has more than ${MAX_OBJECTS} elements')`)
    emit(`const ${count} = n, ${outer} = end\nlet ${last} = -1`)
    emit(`for (let ${i} = 0; ${i} < ${count}; ${i}++) {`)
    readVarint(path)
    emit(`const ${tag} = n`)
    readVarint(path)
    emit(`if (${tag} <= ${last}) fail('${path}', 'the tags are not in rising order')\n${last} = ${tag}`)
    emit(`if (n > end - p) short('${path}', end - p)`)
    if (known.length > 0) {
      emit(`end = p + n\nswitch (${tag}) {`)
      for (const slot of known) {
        emit(`case ${slot.tag}: {`)
        emit(`${values.get(slot)} = ${readValue(slot)}\nbreak\n}`)
      }
      emit('default: p = end\n}')
      emit(`if (p !== end) fail('${path}', 'the tagged field ' + ${tag} + ' is longer than it says')\nend = ${outer}`)
    } else emit('p += n')
    emit('}\n}')
  }
}

// ---------------------------------------------------------------------------------------------------------- writing

/**
 * The buffer that encoders write to before finish() copies the exact bytes. Encoding is synchronous and calls no
 * outside code.
 */
const scratch = Buffer.allocUnsafeSlow(64 * 1024)

/**
 * Returns a larger buffer with the bytes written so far. finish() returns it without a copy, and no encoder reuses
 * it.
 */
function grow(s: Buffer, written: number, more: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(Math.max(s.length * 2, written + more))
  s.copy(larger, 0, 0, written)
  return larger
}

function bad(field: string, value: unknown, wanted: string): never {
  assert(false, `${field} must be ${wanted}, got ${typeof value === 'string' ? JSON.stringify(value) : String(value)}`)
}

/** Writes an unsigned varint of 32 bits and returns the offset after it. */
function putVarint(s: Buffer, at: number, value: number): number {
  let rest = value
  let p = at
  for (; rest > 0x7f; rest >>>= 7) s[p++] = (rest & 0x7f) | 0x80
  s[p++] = rest
  return p
}

/**
 * Writes short ASCII at `at` and returns true. Returns false if the text is longer or not ASCII; the bytes from `at`
 * on have no meaning then.
 */
function putAscii(s: Buffer, at: number, value: string): boolean {
  if (value.length > SHORT_TEXT) return false
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i)
    if (code > 0x7f) return false
    s[at + i] = code
  }
  return true
}

/** Writes a string with its length as a varint and returns the offset after it. The caller has made room. */
function putCompactText(s: Buffer, at: number, value: string): number {
  if (putAscii(s, at + 1, value)) {
    s[at] = value.length + 1
    return at + 1 + value.length
  }
  const p = putVarint(s, at, Buffer.byteLength(value) + 1)
  return p + s.write(value, p)
}

function putText(s: Buffer, at: number, value: string, field: string): number {
  const length = putAscii(s, at + 2, value) ? value.length : s.write(value, at + 2)
  if (length > 0x7fff) bad(field, `${length} bytes`, 'a text of at most 32767 bytes')
  s[at] = length >> 8
  s[at + 1] = length
  return at + 2 + length
}

function putUuid(s: Buffer, at: number, value: string, field: string): void {
  if (value === ZERO_UUID) s.fill(0, at, at + 16)
  else if (value.length !== 22 || s.write(value, at, 16, 'base64url') !== 16)
    bad(field, value, 'a uuid of 22 characters')
}

/** Returns the length of all slices together in bytes. */
function lengthOf(slices: Uint8Array | readonly Uint8Array[]): number {
  if (!Array.isArray(slices)) return slices.length
  let sum = 0
  for (const slice of slices) sum += slice.length
  return sum
}

/** Moves the bytes after a one-byte size up, because the size needs more bytes. Returns the offset after them. */
function widen(s: Buffer, sizeAt: number, end: number): number {
  const size = end - sizeAt - 1
  const width = size < 0x4000 ? 2 : size < 0x200000 ? 3 : size < 0x10000000 ? 4 : 5
  s.copyWithin(sizeAt + width, sizeAt + 1, end)
  putVarint(s, sizeAt, size)
  return sizeAt + width + size
}

/** Returns the parts of the message. `cuts` has, in turn, an offset in s and the records that belong there. */
function finish(s: Buffer, end: number, cuts: readonly unknown[] | null): Buffer[] {
  const written = s === scratch ? Buffer.from(s.subarray(0, end)) : s.subarray(0, end)
  if (cuts === null) return [written]
  const parts: Buffer[] = []
  let from = 0
  for (let i = 0; i < cuts.length; i += 2) {
    const at = cuts[i] as number
    if (at > from) parts.push(written.subarray(from, at))
    from = at
    const slices = cuts[i + 1] as Buffer | readonly Buffer[]
    if (Array.isArray(slices)) for (const slice of slices) parts.push(slice)
    else parts.push(slices as Buffer)
  }
  if (end > from) parts.push(written.subarray(from, end))
  return parts
}

const WRITING = { scratch, grow, bad, putVarint, putCompactText, putText, putUuid, lengthOf, widen, finish, differs }

/** Returns the source of a function (v, lead): s is the buffer, p the offset in it, n a length or count. */
function encoderSource(message: Message, version: number): Source {
  const flexible = isFlexible(message, version)
  const constants: unknown[] = []
  const lines: string[] = []
  let names = 0
  const emit = (line: string) => lines.push(line)
  const name = (stem: string) => `${stem}${names++}`
  const constant = (value: unknown) => `K[${constants.push(value) - 1}]`
  const room = (bytes: number | string) => emit(`if (s.length - p < ${bytes}) s = grow(s, p, ${bytes})`)

  emit('function encode(v, lead = 0) {\nlet s = scratch, p = lead, n = 0, cuts = null')
  writeFields(layout(message, version), 'v', message.name)
  emit('return finish(s, p, cuts)\n}')
  return { text: lines.join('\n'), constants }

  /** Emits the reading of a member, with its fallback if it may be left out, and returns its name. */
  function member(slot: Slot, of: string): string {
    const value = name('x')
    emit(`let ${value} = ${of}.${slot.name}`)
    if (slot.required) return value
    const fallback = absent(slot)
    const shown = typeof fallback === 'object' && fallback !== null ? constant(fallback) : JSON.stringify(fallback)
    emit(`if (${value} === undefined) ${value} = ${shown}`)
    return value
  }

  function writeFields(slots: readonly Slot[], of: string, path: string): void {
    emit(`if (typeof ${of} !== 'object' || ${of} === null) bad('${path}', ${of}, 'an object')`)
    const plain = slots.filter(slot => slot.present && slot.tag === null)
    for (let i = 0; i < plain.length; i++) {
      // The first of neighbours of fixed size makes room for all of them.
      if (SIZES[plain[i]!.kind] !== undefined && (i === 0 || SIZES[plain[i - 1]!.kind] === undefined)) {
        let size = 0
        for (let j = i; j < plain.length && SIZES[plain[j]!.kind] !== undefined; j++) size += SIZES[plain[j]!.kind]!
        room(size)
      }
      writeValue(plain[i]!, member(plain[i]!, of))
    }
    if (flexible) writeTags(slots, of)
  }

  function writeTags(slots: readonly Slot[], of: string): void {
    const known = slots.filter(slot => slot.tag !== null && slot.present)
    if (known.length === 0) {
      room(1)
      emit('s[p++] = 0')
      return
    }
    const flags = known.map(slot => {
      const flag = name('d')
      emit(`const ${flag} = ${of}.${slot.name} !== undefined && differs(${constant(slot)}, ${of}.${slot.name})`)
      return flag
    })
    room(5)
    emit(`p = putVarint(s, p, ${flags.map(flag => `(${flag} ? 1 : 0)`).join(' + ')})`)
    known.forEach((slot, index) => {
      const [start, value] = [name('a'), name('x')]
      emit(`if (${flags[index]}) {`)
      room(6)
      emit(`p = putVarint(s, p, ${slot.tag})\nconst ${start} = p++\nconst ${value} = ${of}.${slot.name}`)
      if (SIZES[slot.kind] !== undefined) room(SIZES[slot.kind]!)
      writeValue(slot, value)
      room(4)
      emit(`if (p - ${start} > 128) p = widen(s, ${start}, p)\nelse s[${start}] = p - ${start} - 1\n}`)
    })
  }

  function writeLength(length: string, width: 2 | 4): void {
    if (flexible) emit(`p = putVarint(s, p, ${length} + 1)`)
    else {
      if (width === 4) emit(`s[p++] = ${length} >> 24\ns[p++] = ${length} >> 16`)
      emit(`s[p++] = ${length} >> 8\ns[p++] = ${length}`)
    }
  }

  function writeValue(slot: Slot, x: string): void {
    const { path, kind } = slot
    if (SIZES[kind] !== undefined) {
      writeFixed(slot, x)
      return
    }
    room(5)
    emit(`if (${x} === null) {`)
    if (!slot.nullable) emit(`bad('${path}', ${x}, 'given')`)
    else if (kind === 'struct') emit('s[p++] = 255')
    else if (flexible) emit('s[p++] = 0')
    else
      emit(kind === 'string' ? 's[p++] = 255\ns[p++] = 255' : 's[p++] = 255\ns[p++] = 255\ns[p++] = 255\ns[p++] = 255')
    emit('} else {')
    if (kind === 'string') {
      emit(`if (typeof ${x} !== 'string') bad('${path}', ${x}, 'a text')`)
      room(`${x}.length * 3 + 5`)
      emit(flexible ? `p = putCompactText(s, p, ${x})` : `p = putText(s, p, ${x}, '${path}')`)
    } else if (kind === 'bytes') {
      emit(`if (!(${x} instanceof Uint8Array)) bad('${path}', ${x}, 'bytes')`)
      room(`${x}.length + 5`)
      writeLength(`${x}.length`, 4)
      emit(`s.set(${x}, p)\np += ${x}.length`)
    } else if (kind === 'records') {
      emit(`if (!(${x} instanceof Uint8Array) && !Array.isArray(${x})) bad('${path}', ${x}, 'bytes or slices')`)
      emit(`n = lengthOf(${x})`)
      writeLength('n', 4)
      emit(`if (n > 0) (cuts ??= []).push(p, ${x})`)
    } else if (kind === 'array') {
      const [i, element] = [name('i'), name('x')]
      emit(`if (!Array.isArray(${x})) bad('${path}', ${x}, 'an array')`)
      writeLength(`${x}.length`, 4)
      emit(`for (let ${i} = 0; ${i} < ${x}.length; ${i}++) {\nconst ${element} = ${x}[${i}]`)
      if (SIZES[slot.element!.kind] !== undefined) room(SIZES[slot.element!.kind]!)
      writeValue(slot.element!, element)
      emit('}')
    } else {
      if (slot.nullable) emit('s[p++] = 1')
      writeFields(slot.slots!, x, path)
    }
    emit('}')
  }

  /** Emits the writing of a value of fixed size. The caller has made room. */
  function writeFixed(slot: Slot, x: string): void {
    const { path } = slot
    const check = (condition: string, wanted: string) => emit(`if (!(${condition})) bad('${path}', ${x}, '${wanted}')`)
    const word = (of: string) => emit(`s[p++] = ${of} >> 24\ns[p++] = ${of} >> 16\ns[p++] = ${of} >> 8\ns[p++] = ${of}`)
    switch (slot.kind) {
      case 'int8':
        check(`(${x} << 24 >> 24) === ${x}`, 'an int8')
        emit(`s[p++] = ${x}`)
        break
      case 'int16':
      case 'uint16':
        check(slot.kind === 'int16' ? `(${x} << 16 >> 16) === ${x}` : `(${x} & 65535) === ${x}`, `an ${slot.kind}`)
        emit(`s[p++] = ${x} >> 8\ns[p++] = ${x}`)
        break
      case 'int32':
      case 'uint32':
        check(slot.kind === 'int32' ? `(${x} | 0) === ${x}` : `(${x} >>> 0) === ${x}`, `an ${slot.kind}`)
        word(x)
        break
      case 'int64': {
        const high = name('h')
        check(`Number.isSafeInteger(${x})`, 'an integer of at most 53 bits')
        emit(`const ${high} = Math.floor(${x} / 4294967296)`)
        word(high)
        word(x)
        break
      }
      case 'float64':
        check(`typeof ${x} === 'number'`, 'a number')
        emit(`s.writeDoubleBE(${x}, p)\np += 8`)
        break
      case 'bool':
        check(`typeof ${x} === 'boolean'`, 'true or false')
        emit(`s[p++] = ${x} ? 1 : 0`)
        break
      default:
        assert(slot.kind === 'uuid', `${path} has no fixed size`)
        check(`typeof ${x} === 'string'`, 'a uuid')
        emit(`putUuid(s, p, ${x}, '${path}')\np += 16`)
    }
  }
}
