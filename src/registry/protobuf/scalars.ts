// JSON to scalar values of Protobuf. Numbers may be strings, as proto3 JSON writes those of 64 bits.

import { InvalidJson, type Json, JsonNumber } from '../json-text.ts'
import type { FieldType, ProgramField } from './program.ts'

const RANGES: Partial<Record<FieldType, readonly [bigint, bigint]>> = {
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  sint32: [-(2n ** 31n), 2n ** 31n - 1n],
  sfixed32: [-(2n ** 31n), 2n ** 31n - 1n],
  uint32: [0n, 2n ** 32n - 1n],
  fixed32: [0n, 2n ** 32n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  sint64: [-(2n ** 63n), 2n ** 63n - 1n],
  sfixed64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
  fixed64: [0n, 2n ** 64n - 1n],
}

const LARGEST_FLOAT = 3.4028234663852886e38

export function stringOf(json: Json, path: string): string {
  if (typeof json !== 'string') throw expected(path, 'a string', json)
  if (!json.isWellFormed()) throw new InvalidJson(`${path}: the string has half of a surrogate pair`)
  return json
}

/** Standard and URL-safe base64, with or without padding. */
export function base64Of(json: Json, path: string): Uint8Array {
  if (typeof json !== 'string' || !/^[A-Za-z0-9+/_-]*={0,2}$/.test(json)) throw expected(path, 'base64', json)
  return Buffer.from(json, 'base64')
}

export function booleanOf(json: Json, path: string): boolean {
  if (typeof json === 'boolean') return json
  throw expected(path, 'true or false', json)
}

export function doubleOf(json: Json, path: string): number {
  if (json === 'NaN') return Number.NaN
  if (json === 'Infinity') return Number.POSITIVE_INFINITY
  if (json === '-Infinity') return Number.NEGATIVE_INFINITY
  const text = json instanceof JsonNumber ? json.text : json
  const value = typeof text === 'string' && /^-?[0-9.]+(?:[eE][+-]?\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isFinite(value)) throw expected(path, 'a number', json)
  return value
}

export function floatOf(json: Json, path: string): number {
  const value = doubleOf(json, path)
  if (Number.isFinite(value) && Math.abs(value) > LARGEST_FLOAT) throw expected(path, 'a number of 32 bits', json)
  return value
}

export function integerOf(type: FieldType, json: Json, path: string): bigint {
  const [least, most] = RANGES[type] ?? [0n, 0n]
  const value = wholeNumber(json instanceof JsonNumber ? json.text : json)
  if (value === null || value < least || value > most) {
    throw expected(path, `a whole number from ${least} to ${most}`, json)
  }
  return value
}

/** `12`, `1.0` and `1e2` are whole numbers. */
function wholeNumber(text: unknown): bigint | null {
  if (typeof text !== 'string') return null
  if (/^-?\d{1,20}$/.test(text)) return BigInt(text)
  if (!/^-?\d{1,20}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,2})?$/.test(text)) return null
  const value = Number(text)
  return Number.isSafeInteger(value) ? BigInt(value) : null
}

/** The key of a map, which JSON writes as a string. */
export function keyOf(type: FieldType, key: string, path: string): Json {
  if (type === 'string') return key
  if (type !== 'bool') return new JsonNumber(key)
  if (key !== 'true' && key !== 'false') throw expected(path, 'the key true or false', key)
  return key === 'true'
}

/** True for the value that a field without presence leaves out. */
export function isDefault(field: ProgramField, json: Json): boolean {
  if (field.type === 'string' || field.type === 'bytes') return json === ''
  if (field.type === 'bool') return json === false
  const text = json instanceof JsonNumber ? json.text : json
  return typeof text === 'string' && /^0+(?:\.0*)?(?:[eE][+-]?\d+)?$/.test(text)
}

function expected(path: string, what: string, json: Json): InvalidJson {
  return new InvalidJson(`${path}: expected ${what}, found ${shown(json)}`)
}

function shown(json: Json): string {
  if (json instanceof JsonNumber) return json.text.slice(0, 40)
  if (json instanceof Map) return 'an object'
  if (Array.isArray(json)) return 'a list'
  return JSON.stringify(json).slice(0, 60)
}
