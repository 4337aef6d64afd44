// Reads JSON text without losing anything that a schema's text or a shown record can hold: a number keeps its digits,
// an object keeps the order of its members. Comments are allowed where Java's Avro allows them. It knows no Avro.

/** A number as its text has it. */
export class JsonNumber {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }

  /** Whether the text has neither a fraction nor an exponent. */
  get isInteger(): boolean {
    return !/[.eE]/.test(this.text)
  }
}

export type Json = null | boolean | string | JsonNumber | readonly Json[] | JsonObject
/** Of two members with one name the last one holds, at the place of the first. */
export type JsonObject = ReadonlyMap<string, Json>

/** The text is no JSON. The message names line, column and what is expected there. */
export class InvalidJson extends Error {
  override readonly name = 'InvalidJson'
}

export const isObject = (value: Json | undefined): value is JsonObject => value instanceof Map

/** Reads one value. Throws InvalidJson, also for more than `mostLevels` arrays and objects in each other. */
export function readJson(text: string, mostLevels: number, comments: 'with comments' | 'strict' = 'strict'): Json {
  return new Reader(text, mostLevels, comments === 'with comments').whole()
}

/** Text of others for a message: its beginning, if it is long. */
export const clipped = (text: string, most = 200): string => (text.length > most ? `${text.slice(0, most)}…` : text)

/** A word for people: what a value is. */
export function kindOf(value: Json | undefined): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return 'a string'
  if (value instanceof JsonNumber) return 'a number'
  return Array.isArray(value) ? 'an array' : 'an object'
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON has none in a string.
const PLAIN = /[^"\\\u0000-\u001f]*/y
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const COMMENT = /\/\*[\s\S]*?\*\/|\/\/[^\n\r]*/y
const WORD = /[A-Za-z_0-9]*/y
const SHORT: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

const isSpace = (unit: number): boolean => unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09

class Reader {
  readonly #text: string
  readonly #mostLevels: number
  readonly #comments: boolean
  #at = 0

  constructor(text: string, mostLevels: number, comments: boolean) {
    this.#text = text
    this.#mostLevels = mostLevels
    this.#comments = comments
  }

  whole(): Json {
    const value = this.#value(1)
    if (this.#peek() !== '') this.#fail('the end of the text')
    return value
  }

  #value(level: number): Json {
    const first = this.#peek()
    if (first === '{' || first === '[') {
      if (level > this.#mostLevels) this.#fail(`at most ${this.#mostLevels} arrays and objects in each other`)
      return first === '{' ? this.#object(level) : this.#array(level)
    }
    if (first === '"') return this.#string()
    if (first === '-' || (first >= '0' && first <= '9')) return this.#number()
    const start = this.#at
    const word = this.#match(WORD)
    if (word === 'true') return true
    if (word === 'false') return false
    if (word === 'null') return null
    this.#at = start
    return this.#fail('a JSON value')
  }

  #object(level: number): JsonObject {
    const members = new Map<string, Json>()
    this.#at++
    if (this.#peek() === '}') {
      this.#at++
      return members
    }
    for (;;) {
      if (this.#peek() !== '"') this.#fail('a member name in quotes')
      const name = this.#string()
      if (this.#peek() !== ':') this.#fail(`":" after ${JSON.stringify(clipped(name))}`)
      this.#at++
      members.set(name, this.#value(level + 1))
      const next = this.#peek()
      if (next !== ',' && next !== '}') this.#fail('"," or "}"')
      this.#at++
      if (next === '}') return members
    }
  }

  #array(level: number): Json[] {
    const items: Json[] = []
    this.#at++
    if (this.#peek() === ']') {
      this.#at++
      return items
    }
    for (;;) {
      items.push(this.#value(level + 1))
      const next = this.#peek()
      if (next !== ',' && next !== ']') this.#fail('"," or "]"')
      this.#at++
      if (next === ']') return items
    }
  }

  #string(): string {
    this.#at++
    let value = this.#match(PLAIN)
    for (;;) {
      const end = this.#text[this.#at]
      if (end === '"') {
        this.#at++
        return value
      }
      if (end !== '\\') this.#fail(end === undefined ? 'the end of a string' : 'an escape for a control character')
      value += this.#escape() + this.#match(PLAIN)
    }
  }

  #escape(): string {
    const letter = this.#text[this.#at + 1] ?? ''
    if (letter === 'u') {
      const digits = this.#text.slice(this.#at + 2, this.#at + 6)
      if (!/^[0-9a-fA-F]{4}$/.test(digits)) this.#fail('four hexadecimal digits after \\u')
      this.#at += 6
      return String.fromCharCode(Number.parseInt(digits, 16))
    }
    const character = SHORT[letter]
    if (character === undefined) return this.#fail('an escape of JSON')
    this.#at += 2
    return character
  }

  #number(): JsonNumber {
    const text = this.#match(NUMBER)
    // "01" and "1.x" match in part only.
    if (text === '' || text === '-' || /[0-9A-Za-z.]/.test(this.#text[this.#at] ?? '')) this.#fail('a JSON number')
    return new JsonNumber(text)
  }

  /** Goes to the next character that means something, and returns it; '' at the end. */
  #peek(): string {
    for (;;) {
      while (isSpace(this.#text.charCodeAt(this.#at))) this.#at++
      const next = this.#text[this.#at] ?? ''
      if (next !== '/' || !this.#comments || this.#match(COMMENT) === '') return next
    }
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    if (!pattern.test(this.#text)) return ''
    const start = this.#at
    this.#at = pattern.lastIndex
    return this.#text.slice(start, this.#at)
  }

  #fail(expected: string): never {
    const before = this.#text.slice(0, this.#at)
    const line = before.split('\n').length
    const column = this.#at - before.lastIndexOf('\n')
    const found = this.#at < this.#text.length ? JSON.stringify(this.#text.slice(this.#at, this.#at + 12)) : 'the end'
    throw new InvalidJson(`line ${line}, column ${column}: ${found} stands where ${expected} is expected`)
  }
}
