// JSON as the registry keeps it: keys in their order and numbers as they were written, which JSON.parse would lose. Two
// members of the same name count as the last one, at the place of the first one, as in Jackson. For schemas and for
// texts that people write; payloads are judged by faster means (payload-batch.ts).

import { hash } from 'node:crypto'

/** A number with its digits. */
export class JsonNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** The nearest double. */
  get value(): number {
    return Number(this.text)
  }
}

export type JsonObject = ReadonlyMap<string, Json>
export type JsonArray = readonly Json[]
export type Json = null | boolean | string | JsonNumber | JsonArray | JsonObject

/** The text is no JSON. The message names the line and the column. */
export class NotJson extends Error {
  override readonly name = 'NotJson'
}

export function isObject(value: Json | undefined): value is JsonObject {
  return value instanceof Map
}

export function isArray(value: Json | undefined): value is JsonArray {
  return Array.isArray(value)
}

/** Reads one value (RFC 8259). Throws NotJson, also if it has more than `mostLevels` levels. */
export function readJson(text: string, mostLevels: number): Json {
  return new Reader(text, mostLevels).readAll()
}

/** Returns the text without white space. With `isSorted`, the members are in the order of their names. */
export function writeJson(value: Json, isSorted = false): string {
  const parts: string[] = []
  write(value, isSorted, parts)
  return parts.join('')
}

/** Decimal numbers of 15 digits are all different doubles. */
const EXACT_DIGITS = 15

/** Returns a text that is the same for equal values: sorted, and with each number in one form. */
export function keyOfJson(value: Json): string {
  if (value instanceof JsonNumber) return value.text.length <= EXACT_DIGITS ? String(value.value) : value.text
  if (isArray(value)) return `[${value.map(keyOfJson).join()}]`
  if (!isObject(value)) return JSON.stringify(value)
  const names = [...value.keys()].sort()
  return `{${names.map(name => `${JSON.stringify(name)}:${keyOfJson(value.get(name)!)}`).join()}}`
}

const digests = new WeakMap<object, string>()

/** Returns a short name that is the same for equal values, and for no others. It costs time only once for a value. */
export function digestOf(value: Json): string {
  if (!isArray(value) && !isObject(value)) return keyOfJson(value)
  const known = digests.get(value)
  if (known !== undefined) return known
  const inside = isArray(value)
    ? value.map(digestOf)
    : [...value.keys()].sort().map(name => `${JSON.stringify(name)}:${digestOf(value.get(name)!)}`)
  const digest = hash('sha256', `${isArray(value) ? 'array' : 'object'} ${inside.join()}`, 'base64')
  digests.set(value, digest)
  return digest
}

/** Returns the value as JSON.parse would: numbers become doubles. */
export function plain(value: Json): unknown {
  if (value instanceof JsonNumber) return value.value
  if (isArray(value)) return value.map(plain)
  if (!isObject(value)) return value
  const object: Record<string, unknown> = {}
  for (const [name, member] of value) define(object, name, plain(member))
  return object
}

/** Sets a member of any name: an assignment to `__proto__` would change the prototype instead. */
export function define(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
}

function write(value: Json, isSorted: boolean, parts: string[]): void {
  if (value instanceof JsonNumber) parts.push(value.text)
  else if (isArray(value)) {
    let before = '['
    for (const item of value) {
      parts.push(before)
      write(item, isSorted, parts)
      before = ','
    }
    parts.push(value.length === 0 ? '[]' : ']')
  } else if (isObject(value)) {
    let before = '{'
    const names = isSorted ? [...value.keys()].sort() : value.keys()
    for (const name of names) {
      parts.push(before, JSON.stringify(name), ':')
      write(value.get(name)!, isSorted, parts)
      before = ','
    }
    parts.push(value.size === 0 ? '{}' : '}')
  } else parts.push(JSON.stringify(value))
}

const SPACE = /[ \t\n\r]*/y
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
/** A string up to its closing quote; JSON.parse then checks it and undoes its escapes. */
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/sy

class Reader {
  readonly #text: string
  readonly #mostLevels: number
  #at = 0
  #levels = 0

  constructor(text: string, mostLevels: number) {
    this.#text = text
    this.#mostLevels = mostLevels
  }

  readAll(): Json {
    const value = this.#value()
    if (this.#next() !== '') throw this.#wrong('the end of the text')
    return value
  }

  #value(): Json {
    switch (this.#next()) {
      case '{':
        return this.#nested(() => this.#object())
      case '[':
        return this.#nested(() => this.#array())
      case '"':
        return this.#string()
      case 't':
        return this.#word('true', true)
      case 'f':
        return this.#word('false', false)
      case 'n':
        return this.#word('null', null)
      default:
        return new JsonNumber(this.#match(NUMBER) ?? this.#fail('a value'))
    }
  }

  #nested<T>(read: () => T): T {
    if (++this.#levels > this.#mostLevels) throw this.#wrong(`at most ${this.#mostLevels} levels`)
    this.#at++
    const value = read()
    this.#levels--
    return value
  }

  #object(): JsonObject {
    const members = new Map<string, Json>()
    if (this.#take('}')) return members
    do {
      if (this.#next() !== '"') throw this.#wrong('a name in quotes')
      const name = this.#string()
      if (!this.#take(':')) throw this.#wrong('":"')
      members.set(name, this.#value())
    } while (this.#take(','))
    if (!this.#take('}')) throw this.#wrong('"," or "}"')
    return members
  }

  #array(): JsonArray {
    const items: Json[] = []
    if (this.#take(']')) return items
    do items.push(this.#value())
    while (this.#take(','))
    if (!this.#take(']')) throw this.#wrong('"," or "]"')
    return items
  }

  #string(): string {
    const from = this.#at
    const quoted = this.#match(STRING) ?? this.#fail('a string with a closing quote')
    try {
      return JSON.parse(quoted) as string
    } catch {
      this.#at = from
      throw this.#wrong('a string with the escapes of JSON and without control characters')
    }
  }

  #word<T>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) throw this.#wrong(word)
    this.#at += word.length
    return value
  }

  /** The next character that is no white space; empty at the end. */
  #next(): string {
    this.#match(SPACE)
    return this.#text.charAt(this.#at)
  }

  #take(character: string): boolean {
    if (this.#next() !== character) return false
    this.#at++
    return true
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    if (found !== undefined) this.#at += found.length
    return found
  }

  #fail(expected: string): never {
    throw this.#wrong(expected)
  }

  #wrong(expected: string): NotJson {
    const before = this.#text.slice(0, this.#at).split('\n')
    const place = `line ${before.length}, column ${before.at(-1)!.length + 1}`
    const found = this.#text.slice(this.#at, this.#at + 20)
    return new NotJson(`${place}: expected ${expected}, found ${found === '' ? 'the end' : JSON.stringify(found)}`)
  }
}
