// JSON text to values, for payloads that are written as JSON. Unlike JSON.parse it keeps the digits of numbers,
// refuses a key that comes twice, and has a bound of levels.

import { MOST_LEVELS } from '../format.ts'

export class JsonNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export type JsonValue = null | boolean | string | JsonNumber | JsonValue[] | Map<string, JsonValue>

/** The text is no JSON, or no JSON of the expected shape. The message names the place. */
export class InvalidJson extends Error {
  override readonly name = 'InvalidJson'
}

const SPACE = /[ \t\r\n]*/y
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const WORDS: readonly (readonly [string, JsonValue])[] = [
  ['null', null],
  ['true', true],
  ['false', false],
]

export function parseJson(text: string): JsonValue {
  const reader = new JsonReader(text)
  return reader.document()
}

class JsonReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  document(): JsonValue {
    const value = this.#value(0)
    this.#match(SPACE)
    if (this.#at < this.#text.length) this.#fail('the end of the text')
    return value
  }

  #value(level: number): JsonValue {
    if (level > MOST_LEVELS) throw new InvalidJson(`the JSON has more than ${MOST_LEVELS} levels`)
    this.#match(SPACE)
    if (this.#accept('{')) return this.#object(level)
    if (this.#accept('[')) return this.#array(level)
    const first = this.#text[this.#at]
    if (first === '"') return this.#string()
    for (const [word, value] of WORDS) if (this.#accept(word)) return value
    const number = this.#match(NUMBER)
    if (number === null || number === '') this.#fail('a JSON value')
    return new JsonNumber(number)
  }

  #object(level: number): Map<string, JsonValue> {
    const members = new Map<string, JsonValue>()
    this.#match(SPACE)
    if (this.#accept('}')) return members
    for (;;) {
      this.#match(SPACE)
      const key = this.#string()
      if (members.has(key))
        throw new InvalidJson(`the key ${JSON.stringify(key)} comes twice, at character ${this.#at}`)
      this.#match(SPACE)
      if (!this.#accept(':')) this.#fail('":"')
      members.set(key, this.#value(level + 1))
      this.#match(SPACE)
      if (this.#accept('}')) return members
      if (!this.#accept(',')) this.#fail('"," or "}"')
    }
  }

  #array(level: number): JsonValue[] {
    const items: JsonValue[] = []
    this.#match(SPACE)
    if (this.#accept(']')) return items
    for (;;) {
      items.push(this.#value(level + 1))
      this.#match(SPACE)
      if (this.#accept(']')) return items
      if (!this.#accept(',')) this.#fail('"," or "]"')
    }
  }

  #string(): string {
    if (this.#text[this.#at] !== '"') this.#fail('a string')
    const end = this.#endOfString()
    const literal = this.#text.slice(this.#at, end)
    try {
      const value: string = JSON.parse(literal)
      this.#at = end
      return value
    } catch (error) {
      throw new InvalidJson(`the string at character ${this.#at} is not legal`, { cause: error })
    }
  }

  #endOfString(): number {
    let from = this.#at + 1
    for (;;) {
      const quote = this.#text.indexOf('"', from)
      if (quote < 0) throw new InvalidJson(`the string at character ${this.#at} has no end`)
      let slashes = 0
      while (this.#text[quote - 1 - slashes] === '\\') slashes++
      if (slashes % 2 === 0) return quote + 1
      from = quote + 1
    }
  }

  #accept(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false
    this.#at += text.length
    return true
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)
    if (found === null) return null
    this.#at = pattern.lastIndex
    return found[0]
  }

  #fail(expected: string): never {
    const found = this.#text[this.#at]
    const where = found === undefined ? 'the end of the text' : JSON.stringify(found)
    throw new InvalidJson(`expected ${expected} at character ${this.#at}, found ${where}`)
  }
}
