// JSON as the registry reads it: members in their order and numbers as they were written, which JSON.parse would lose.
// For schemas and for texts that people write; payloads are judged by faster means (json/payload-batch.ts).

import { cut } from '../base/cut.ts'

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

  /** Whether the text has neither a fraction nor an exponent. */
  get isInteger(): boolean {
    return !/[.eE]/.test(this.text)
  }
}

export type JsonObject = ReadonlyMap<string, Json>
export type JsonArray = readonly Json[]
export type Json = null | boolean | string | JsonNumber | JsonArray | JsonObject

/** The text is no JSON, or not that of the expected value. The message names the place. */
export class InvalidJson extends Error {
  override readonly name = 'InvalidJson'
}

export function isObject(value: Json | undefined): value is JsonObject {
  return value instanceof Map
}

export function isArray(value: Json | undefined): value is JsonArray {
  return Array.isArray(value)
}

export interface ReadOptions {
  /** Comments of Java are white space, as in schemas of Avro. */
  readonly hasComments?: boolean
  /** By default the last of two members with one name counts, at the place of the first one, as in Jackson. */
  readonly mayRepeat?: boolean
}

/** Reads one value (RFC 8259). Throws InvalidJson, also if it has more than `mostLevels` levels. */
export function readJson(text: string, mostLevels: number, options: ReadOptions = {}): Json {
  return new Reader(text, mostLevels, options).readAll()
}

const SPACE = /[ \t\n\r]*/y
const SPACE_AND_COMMENTS = /(?:[ \t\n\r]+|\/\*[\s\S]*?\*\/|\/\/[^\n\r]*)*/y
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
/** A string up to its closing quote; JSON.parse then checks it and undoes its escapes. */
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/sy

class Reader {
  readonly #text: string
  readonly #mostLevels: number
  readonly #space: RegExp
  readonly #mayRepeat: boolean
  #at = 0
  #levels = 0

  constructor(text: string, mostLevels: number, { hasComments = false, mayRepeat = true }: ReadOptions) {
    this.#text = text
    this.#mostLevels = mostLevels
    this.#space = hasComments ? SPACE_AND_COMMENTS : SPACE
    this.#mayRepeat = mayRepeat
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
      if (!this.#mayRepeat && members.has(name)) throw this.#wrong(`no second ${JSON.stringify(cut(name))}`)
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
    this.#match(this.#space)
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

  #wrong(expected: string): InvalidJson {
    const before = this.#text.slice(0, this.#at).split('\n')
    const place = `line ${before.length}, column ${before.at(-1)!.length + 1}`
    const found = this.#text.slice(this.#at, this.#at + 20)
    return new InvalidJson(`${place}: expected ${expected}, found ${found === '' ? 'the end' : JSON.stringify(found)}`)
  }
}
