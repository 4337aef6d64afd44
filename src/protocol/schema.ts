// Functions that declare a Kafka message as a value, and the TypeScript types that follow from such a value. Each
// file in messages/ declares one API with them. codec.ts makes encoders and decoders from the values, and
// interpret.ts walks them. Nothing here touches bytes.
//
// A field without versions exists in every version of its struct. The input of an encoder may omit a field with
// versions or with a fallback. A decoder always delivers every field, absent ones with their fallback. Fallbacks are
// Kafka's: the declared one, else 0, false, '', the zero uuid, no bytes, null records, an empty array, and for a
// struct the fallbacks of its fields (org.apache.kafka.message.FieldSpec#fieldDefault).

import { assert } from '../base/assert.ts'

/** Versions min to max, both included. `max` is OPEN for a text such as `3+`. */
export interface Range {
  readonly min: number
  readonly max: number
}

export const OPEN = 32_767

/** The number nearest to the largest int64, which means "not given" in Kafka. It is decoded, never encoded. */
export const INT64_MAX = 2 ** 63

/** The uuid that means "no id" in Kafka, in the text form of Kafka's Uuid class. */
export const ZERO_UUID = 'AAAAAAAAAAAAAAAAAAAAAA'

/** Reads '3+', '0-12' or '8'. */
export function parseRange(text: string): Range {
  const match = /^(\d+)(?:(\+)|-(\d+))?$/.exec(text)
  assert(match, `versions must look like 3+, 0-12 or 8, got ${text}`)
  const min = Number(match[1])
  const max = match[2] ? OPEN : Number(match[3] ?? min)
  assert(min <= max, `versions must not go down, got ${text}`)
  return Object.freeze({ min, max })
}

export function inRange(range: Range, version: number): boolean {
  return version >= range.min && version <= range.max
}

export type Kind =
  | 'int8'
  | 'int16'
  | 'uint16'
  | 'int32'
  | 'uint32'
  | 'int64'
  | 'float64'
  | 'bool'
  | 'uuid'
  | 'string'
  | 'bytes'
  | 'records'
  | 'array'
  | 'struct'

// These three exist for the type checker only: what a decoder delivers, what an encoder takes, whether it may be
// absent.
declare const DECODED: unique symbol
declare const TAKEN: unique symbol
declare const OPTIONAL: unique symbol

export interface Field<Decoded = unknown, Taken = unknown, Optional extends boolean = boolean> {
  readonly kind: Kind
  /** null: every version of the enclosing struct. */
  readonly versions: Range | null
  /** The versions that allow null; null if no version does. */
  readonly nullable: Range | null
  readonly tag: number | null
  /** undefined: the fallback of the kind. */
  readonly fallback: unknown
  /** The element of an array. */
  readonly element?: Field
  /** The fields of a struct. */
  readonly fields?: Fields
  readonly [DECODED]?: Decoded
  readonly [TAKEN]?: Taken
  readonly [OPTIONAL]?: Optional
}

export type Fields = { readonly [name: string]: Field }

type DecodedOf<F> = F extends Field<infer D, infer _T, infer _O> ? D : never
type TakenOf<F> = F extends Field<infer _D, infer T, infer _O> ? T : never
type OptionalNames<S> = {
  [N in keyof S]: S[N] extends { readonly [OPTIONAL]?: infer O } ? (true extends O ? N : never) : never
}[keyof S]

/** The value that a decoder delivers for these fields. */
export type ValueOf<S> = { readonly [N in keyof S]: DecodedOf<S[N]> }

/** The value that an encoder takes for these fields. */
export type InputOf<S> = { readonly [N in Exclude<keyof S, OptionalNames<S>>]: TakenOf<S[N]> } & {
  readonly [N in OptionalNames<S>]?: TakenOf<S[N]> | undefined
}

type ElementOf<E> = E extends Field ? DecodedOf<E> : ValueOf<E>
type ElementTakenOf<E> = E extends Field ? TakenOf<E> : InputOf<E>

/** Called with (versions?, fallback?). A null fallback needs nullable() around the field. */
interface Scalar<Decoded, Taken = Decoded> {
  (): Field<Decoded, Taken, false>
  (versions: string, fallback?: Decoded | null): Field<Decoded, Taken, true>
}

function field(kind: Kind, versions: string | undefined, fallback: unknown, rest?: Partial<Field>): Field {
  return Object.freeze({
    kind,
    versions: versions === undefined ? null : parseRange(versions),
    nullable: null,
    tag: null,
    fallback,
    ...rest,
  })
}

function scalar<Decoded, Taken = Decoded>(kind: Kind): Scalar<Decoded, Taken> {
  return ((versions?: string, fallback?: unknown) => field(kind, versions, fallback)) as Scalar<Decoded, Taken>
}

export const int8 = scalar<number>('int8')
export const int16 = scalar<number>('int16')
export const uint16 = scalar<number>('uint16')
export const int32 = scalar<number>('int32')
export const uint32 = scalar<number>('uint32')
/** A JavaScript number. Beyond 2^53 a decoder delivers the nearest one and an encoder fails an assertion. */
export const int64 = scalar<number>('int64')
export const float64 = scalar<number>('float64')
export const bool = scalar<boolean>('bool')
/** Kafka's text form: 22 characters of base64url. */
export const uuid = scalar<string>('uuid')
export const string = scalar<string>('string')
/** A decoder delivers a copy, because groups and sessions keep these values for longer than the frame. */
export const bytes = scalar<Buffer, Uint8Array>('bytes')
/** A decoder delivers a view of the frame; an encoder passes the given slices on without a copy. */
export const records = scalar<Buffer, Uint8Array | readonly Uint8Array[]>('records')

/** An array of one kind of field, or of structs with these fields. */
export function array<const E extends Field | Fields, V extends string | undefined = undefined>(
  element: E,
  versions?: V,
  fallback?: null,
): Field<readonly ElementOf<E>[], readonly ElementTakenOf<E>[], V extends string ? true : false> {
  const inner = typeof element.kind === 'string' ? (element as Field) : struct(element as Fields)
  return field('array', versions, fallback, { element: inner }) as never
}

/** One nested struct. */
export function struct<const S extends Fields, V extends string | undefined = undefined>(
  fields: S,
  versions?: V,
  fallback?: null,
): Field<ValueOf<S>, InputOf<S>, V extends string ? true : false> {
  return field('struct', versions, fallback, { fields: Object.freeze(fields) }) as never
}

/** Lets the field be null, in all of its versions or in these. */
export function nullable<D, T, O extends boolean>(of: Field<D, T, O>, versions?: string): Field<D | null, T | null, O> {
  const range = versions === undefined ? { min: 0, max: OPEN } : parseRange(versions)
  return Object.freeze({ ...of, nullable: range }) as never
}

/** Makes the field tagged: it is written only if it differs from its fallback (KIP-482). */
export function tagged<D, T>(tag: number, of: Field<D, T>): Field<D, T, true> {
  return Object.freeze({ ...of, tag }) as never
}

/** A message that is not a request or a response: the fields, and which versions of it exist. */
export interface Message<S extends Fields = Fields> {
  readonly name: string
  readonly versions: Range
  readonly flexible: Range | null
  /** Whether a decoder leaves bytes after the last field unread, as Kafka does. If false, such bytes are malformed. */
  readonly mayBeFollowed: boolean
  readonly fields: S
}

export interface Api<Q extends Fields = Fields, S extends Fields = Fields> {
  readonly key: number
  readonly name: string
  /** The versions that can be encoded and decoded. */
  readonly versions: Range
  /**
   * The versions that ApiVersions names. They may be more than `versions`: the broker refuses a request of the others
   * without decoding it.
   */
  readonly advertised: Range
  /** The versions with compact lengths, tagged fields and a version 2 header (KIP-482). */
  readonly flexible: Range | null
  readonly request: Message<Q>
  readonly response: Message<S>
}

/** The decoded request of an API: RequestOf<typeof produce>. */
export type RequestOf<A> = A extends Api<infer Q, infer _S> ? ValueOf<Q> : never
export type ResponseOf<A> = A extends Api<infer _Q, infer S> ? ValueOf<S> : never
/** The value that an encoder of the API's request takes. */
export type RequestInput<A> = A extends Api<infer Q, infer _S> ? InputOf<Q> : never
export type ResponseInput<A> = A extends Api<infer _Q, infer S> ? InputOf<S> : never

/** Declares one Kafka API. Without `flexible` no version is flexible. */
export function api<const Q extends Fields, const S extends Fields>(declared: {
  key: number
  name: string
  versions: string
  advertised?: string
  flexible?: string
  /** For the request; see Message. */
  mayBeFollowed?: boolean
  request: Q
  response: S
}): Api<Q, S> {
  const shape = {
    versions: declared.versions,
    ...(declared.flexible === undefined ? {} : { flexible: declared.flexible }),
  }
  const { mayBeFollowed = false } = declared
  const request = message({ ...shape, name: `${declared.name}Request`, mayBeFollowed, fields: declared.request })
  const response = message({ ...shape, name: `${declared.name}Response`, fields: declared.response })
  return Object.freeze({
    key: declared.key,
    name: declared.name,
    versions: request.versions,
    advertised: parseRange(declared.advertised ?? declared.versions),
    flexible: request.flexible,
    request,
    response,
  })
}

/** Declares a message outside of the request and response pairs. */
export function message<const S extends Fields>(declared: {
  name: string
  versions: string
  flexible?: string
  mayBeFollowed?: boolean
  fields: S
}): Message<S> {
  const versions = parseRange(declared.versions)
  const flexible = declared.flexible === undefined ? null : parseRange(declared.flexible)
  assert(versions.max !== OPEN, `${declared.name}: the versions of a message must have an end`)
  check(declared.name, declared.fields, false)
  const { name, mayBeFollowed = false } = declared
  return Object.freeze({ name, versions, flexible, mayBeFollowed, fields: Object.freeze(declared.fields) })
}

function check(path: string, fields: Fields, insideTagged: boolean): void {
  const tags = new Set<number>()
  for (const [name, of] of Object.entries(fields)) checkField(`${path}.${name}`, of, tags, insideTagged)
}

function checkField(path: string, of: Field, tags: Set<number>, insideTagged: boolean): void {
  assert(of.fallback !== null || of.nullable, `${path}: a null fallback needs nullable()`)
  if (of.tag !== null) {
    assert(!tags.has(of.tag), `${path}: tag ${of.tag} is taken`)
    tags.add(of.tag)
  }
  const inside = insideTagged || of.tag !== null
  // The size of a tagged field is written before its bytes. Records are passed on as slices, which that size would
  // not count.
  assert(of.kind !== 'records' || !inside, `${path}: records cannot be tagged`)
  if (of.element) checkField(`${path}[]`, of.element, new Set(), inside)
  if (of.fields) check(path, of.fields, inside)
}

/** A field in one version. Tagged fields come after the others, ordered by tag. */
export interface Slot {
  readonly name: string
  /** The path of the field in messages: `topicData.partitionData.index`. */
  readonly path: string
  readonly kind: Kind
  readonly nullable: boolean
  readonly tag: number | null
  /** False for a field that this version does not have: a decoder delivers the fallback, an encoder ignores it. */
  readonly present: boolean
  /** Whether the input of an encoder must have the field. */
  readonly required: boolean
  readonly fallback: unknown
  readonly element: Slot | null
  readonly slots: readonly Slot[] | null
}

/** Returns the fields of a message in one version, in the order of the wire. */
export function layout(of: Message, version: number): readonly Slot[] {
  assert(inRange(of.versions, version), `${of.name} has no version ${version}`)
  return slotsOf(of.fields, version, '')
}

export function isFlexible(of: Message | Api, version: number): boolean {
  return of.flexible !== null && inRange(of.flexible, version)
}

function slotsOf(fields: Fields, version: number, prefix: string): Slot[] {
  const slots = Object.entries(fields).map(([name, of]) => slotOf(name, prefix + name, of, version))
  const plain = slots.filter(slot => slot.tag === null)
  const tags = slots.filter(slot => slot.tag !== null).sort((a, b) => a.tag! - b.tag!)
  return [...plain, ...tags]
}

function slotOf(name: string, path: string, of: Field, version: number): Slot {
  return {
    name,
    path,
    kind: of.kind,
    nullable: of.nullable !== null && inRange(of.nullable, version),
    tag: of.tag,
    present: of.versions === null || inRange(of.versions, version),
    required: of.versions === null && of.fallback === undefined && of.tag === null,
    fallback: of.fallback === undefined ? fallbackOf(of.kind) : of.fallback,
    element: of.element ? slotOf('', path, of.element, version) : null,
    slots: of.fields ? slotsOf(of.fields, version, `${path}.`) : null,
  }
}

const NO_BYTES = Buffer.alloc(0)
const NO_ELEMENTS = Object.freeze([])

/** Returns undefined for a struct, whose fallback is made of the fallbacks of its fields. */
function fallbackOf(kind: Kind): unknown {
  if (kind === 'bool') return false
  if (kind === 'string') return ''
  if (kind === 'uuid') return ZERO_UUID
  if (kind === 'bytes') return NO_BYTES
  if (kind === 'records') return null
  if (kind === 'array') return NO_ELEMENTS
  if (kind === 'struct') return undefined
  return 0
}

/** Returns the value of a field that is absent from the bytes. */
export function absent(slot: Slot): unknown {
  if (slot.kind !== 'struct' || slot.fallback === null) return slot.fallback
  return Object.freeze(Object.fromEntries(slot.slots!.map(inner => [inner.name, absent(inner)])))
}

/** Returns whether a tagged field must be written: its value is given and is not the fallback. */
export function differs(slot: Slot, value: unknown): boolean {
  if (value === undefined) return false
  if (value === null || slot.fallback === null) return value !== slot.fallback
  if (slot.kind === 'array' || slot.kind === 'bytes') return (value as { length: number }).length !== 0
  if (slot.kind !== 'struct') return value !== slot.fallback
  return slot.slots!.some(inner => differs(inner, (value as Record<string, unknown>)[inner.name]))
}

/**
 * Returns the fewest bytes that a present field takes. A decoder compares a count times this size with the rest of
 * the frame.
 */
export function smallestSize(slot: Slot, flexible: boolean): number {
  const size = SIZES[slot.kind]
  if (size !== undefined) return size
  if (slot.kind === 'struct') {
    if (slot.nullable) return 1
    const plain = slot.slots!.filter(inner => inner.present && inner.tag === null)
    return plain.reduce((sum, inner) => sum + smallestSize(inner, flexible), flexible ? 1 : 0)
  }
  if (flexible) return 1
  return slot.kind === 'string' ? 2 : 4
}

/** The size in bytes of each kind that always has the same size. */
export const SIZES: Readonly<Partial<Record<Kind, number>>> = Object.freeze({
  int8: 1,
  int16: 2,
  uint16: 2,
  int32: 4,
  uint32: 4,
  int64: 8,
  float64: 8,
  bool: 1,
  uuid: 16,
})
