// The words of a .proto text: names, numbers, strings and signs, one after the other, without comments and spaces.

import { InvalidSchema } from '../format.ts'
import { unescapeText } from './literals.ts'

export interface Token {
  readonly kind: 'identifier' | 'integer' | 'float' | 'string' | 'sign' | 'end'
  /** As written; of a string, its value (literals.ts). */
  readonly text: string
  /** Where it begins in the text, in characters. */
  readonly at: number
}

const SPACE = /(?:[ \t\r\n\v\f]+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y
const IDENTIFIER = /[A-Za-z_][A-Za-z0-9_]*/y
const NUMBER = /0[xX][0-9a-fA-F]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?/y
const INTEGER = /^(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)$/
const STRING = /"(?:[^"\\\n]|\\[^\n])*"|'(?:[^'\\\n]|\\[^\n])*'/y
const SIGN = /[;{}[\]()<>=,.:/+-]/y

export class Tokens {
  readonly #text: string
  #at = 0
  #current: Token

  constructor(text: string) {
    this.#text = text
    if (!text.isWellFormed()) throw new InvalidSchema('The text has half of a surrogate pair: expected Unicode text')
    if (text.startsWith('\ufeff')) this.#at = 1
    this.#current = this.#read()
  }

  /** The next token, which stays the next one. */
  get peek(): Token {
    return this.#current
  }

  next(): Token {
    const token = this.#current
    this.#current = this.#read()
    return token
  }

  /** True if the next token is this sign or word. */
  is(text: string): boolean {
    const { kind } = this.#current
    return (kind === 'sign' || kind === 'identifier') && this.#current.text === text
  }

  /** Takes the next token if it is this sign or word. */
  accept(text: string): boolean {
    if (!this.is(text)) return false
    this.next()
    return true
  }

  expect(text: string): Token {
    if (!this.is(text)) this.fail(`"${text}"`)
    return this.next()
  }

  /** A token of this kind; `expected` names it in the error. */
  take(kind: Token['kind'], expected: string): string {
    if (this.#current.kind !== kind) this.fail(expected)
    return this.next().text
  }

  /** Throws InvalidSchema: the next token is not the expected one. */
  fail(expected: string): never {
    const { kind, text, at } = this.#current
    const found = kind === 'end' ? 'the end of the text' : kind === 'string' ? 'a string' : `"${text}"`
    throw new InvalidSchema(`${this.place(at)}: expected ${expected}, found ${found}`)
  }

  /** `line 3, column 7`. */
  place(at: number): string {
    const before = this.#text.slice(0, at)
    const line = before.split('\n').length
    return `line ${line}, column ${at - before.lastIndexOf('\n')}`
  }

  #read(): Token {
    this.#match(SPACE)
    const at = this.#at
    if (at >= this.#text.length) return { kind: 'end', text: '', at }
    const identifier = this.#match(IDENTIFIER)
    if (identifier !== null) return { kind: 'identifier', text: identifier, at }
    const number = this.#match(NUMBER)
    if (number !== null) return this.#number(number, at)
    const string = this.#match(STRING)
    if (string !== null) return this.#string(string, at)
    if (this.#text.startsWith('/*', at)) throw new InvalidSchema(`${this.place(at)}: the comment has no end`)
    const sign = this.#match(SIGN)
    if (sign !== null) return { kind: 'sign', text: sign, at }
    const character = String.fromCodePoint(this.#text.codePointAt(at) ?? 0)
    const isQuote = character === '"' || character === "'"
    const mistake = isQuote ? 'the string has no end' : `no statement has the character ${JSON.stringify(character)}`
    throw new InvalidSchema(`${this.place(at)}: ${mistake}`)
  }

  #number(text: string, at: number): Token {
    const follower = this.#text[this.#at] ?? ''
    if (/[A-Za-z_0-9]/.test(follower)) throw new InvalidSchema(`${this.place(at)}: "${text}${follower}" is no number`)
    if (/^[0-9]+$/.test(text) && !INTEGER.test(text)) {
      throw new InvalidSchema(`${this.place(at)}: "${text}" begins with 0, but is no octal number`)
    }
    return { kind: INTEGER.test(text) ? 'integer' : 'float', text, at }
  }

  #string(literal: string, at: number): Token {
    const text = unescapeText(literal.slice(1, -1))
    if (text === null) throw new InvalidSchema(`${this.place(at)}: the string has an escape that is not legal`)
    return { kind: 'string', text, at }
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)
    if (found === null) return null
    this.#at = pattern.lastIndex
    return found[0]
  }
}
