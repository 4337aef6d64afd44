// The options of a .proto text: `option a = 1;`, `[a = 1, (b).c = {d: 2}]`, and their values.

import { InvalidSchema, MOST_SCHEMA_LEVELS } from '../format.ts'
import type { NamePart, Option, OptionEntry, OptionValue } from './model.ts'
import type { Tokens } from './tokens.ts'

/** After the word `option`, to its semicolon. */
export function parseOptionStatement(tokens: Tokens): Option {
  const option = parseOption(tokens)
  tokens.expect(';')
  return option
}

/** Options in brackets; none if the next token is no bracket. */
export function parseOptionList(tokens: Tokens): Option[] {
  const options: Option[] = []
  if (!tokens.accept('[')) return options
  do options.push(parseOption(tokens))
  while (tokens.accept(','))
  tokens.expect(']')
  return options
}

function parseOption(tokens: Tokens): Option {
  const name: NamePart[] = []
  do name.push(parseNamePart(tokens))
  while (tokens.accept('.'))
  tokens.expect('=')
  return { name, value: parseValue(tokens, 0) }
}

function parseNamePart(tokens: Tokens): NamePart {
  if (!tokens.accept('(')) return { text: tokens.take('identifier', 'the name of an option'), isExtension: false }
  const text = parseTypeName(tokens, 'the name of an extension')
  tokens.expect(')')
  return { text, isExtension: true }
}

/** `a.b.C` or `.a.b.C`. */
export function parseTypeName(tokens: Tokens, expected: string): string {
  let name = tokens.accept('.') ? '.' : ''
  name += tokens.take('identifier', expected)
  while (tokens.accept('.')) name += `.${tokens.take('identifier', expected)}`
  return name
}

function parseValue(tokens: Tokens, level: number): OptionValue {
  // Wire, and so Confluent's registry, accepts a list here, which protoc does not.
  return tokens.is('{') || tokens.is('[') ? parseEntryValue(tokens, level) : parseScalar(tokens)
}

function parseScalar(tokens: Tokens): OptionValue {
  const { kind, text } = tokens.peek
  if (kind === 'string') return { kind: 'string', text: parseStrings(tokens) }
  if (kind === 'identifier') {
    tokens.next()
    return { kind: 'identifier', text }
  }
  const sign = tokens.accept('-') ? '-' : ''
  const value = tokens.peek
  if (value.kind === 'identifier' && /^(?:inf|infinity|nan)$/i.test(value.text)) {
    tokens.next()
    return { kind: 'number', text: sign + value.text }
  }
  if (value.kind !== 'integer' && value.kind !== 'float') tokens.fail('a value')
  tokens.next()
  return { kind: 'number', text: sign + value.text }
}

/** Strings that stand side by side are one string. */
export function parseStrings(tokens: Tokens): string {
  const parts = [tokens.take('string', 'a string')]
  while (tokens.peek.kind === 'string') parts.push(tokens.next().text)
  return parts.join('')
}

/** A message in text format: `{ a: 1, b { c: 2 } [x.y]: 3 }`. */
function parseMessage(tokens: Tokens, open: string, close: string, level: number): OptionValue {
  checkLevel(tokens, level)
  tokens.expect(open)
  const entries: OptionEntry[] = []
  while (!tokens.accept(close)) {
    const name = parseEntryName(tokens)
    const isColon = tokens.accept(':')
    if (!isColon && !tokens.is('{') && !tokens.is('<')) tokens.fail('":"')
    entries.push({ name, value: parseEntryValue(tokens, level + 1) })
    if (!tokens.accept(',')) tokens.accept(';')
  }
  return { kind: 'message', entries }
}

function parseEntryName(tokens: Tokens): string {
  if (!tokens.accept('[')) return tokens.take('identifier', 'the name of a field')
  let name = parseTypeName(tokens, 'the name of an extension')
  // The key of an Any: [type.googleapis.com/pkg.Message].
  while (tokens.accept('/')) name += `/${parseTypeName(tokens, 'the name of a message')}`
  tokens.expect(']')
  return `[${name}]`
}

function parseEntryValue(tokens: Tokens, level: number): OptionValue {
  if (tokens.is('{')) return parseMessage(tokens, '{', '}', level)
  if (tokens.is('<')) return parseMessage(tokens, '<', '>', level)
  if (!tokens.accept('[')) return parseScalar(tokens)
  checkLevel(tokens, level)
  const items: OptionValue[] = []
  if (tokens.accept(']')) return { kind: 'list', items }
  do items.push(parseEntryValue(tokens, level + 1))
  while (tokens.accept(','))
  tokens.expect(']')
  return { kind: 'list', items }
}

function checkLevel(tokens: Tokens, level: number): void {
  if (level <= MOST_SCHEMA_LEVELS) return
  const place = tokens.place(tokens.peek.at)
  throw new InvalidSchema(`${place}: the value of the option has more than ${MOST_SCHEMA_LEVELS} levels`)
}
