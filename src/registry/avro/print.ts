// The text of a schema as Java's Schema.toString() writes it: fixed order of attributes, names shortened by the
// namespace around them, types of dependencies as names. It works through a list and not through calls, because with
// all dependencies written out the types can be thousands of levels deep.

import { jsonOf, quoted } from './java-text.ts'
import { shortName } from './names.ts'
import type { AvroSchema, AvroType, Field, Name, NamedType, Properties } from './schema-model.ts'

/** Types of dependencies stand as names. */
export const canonicalText = (schema: AvroSchema): string => print(schema, new Set(schema.dependencies.keys()))

/** Types of dependencies are written out at their first use. */
export const inlinedText = (schema: AvroSchema): string => print(schema, new Set())

/** Text, or a type that stands in a namespace. */
type Piece = string | { readonly type: AvroType; readonly space: string }

function print({ root }: AvroSchema, written: Set<string>): string {
  const pieces: Piece[] = [{ type: root, space: '' }]
  let text = ''
  for (let piece = pieces.pop(); piece !== undefined; piece = pieces.pop()) {
    if (typeof piece === 'string') text += piece
    else for (const part of piecesOf(piece.type, piece.space, written).reverse()) pieces.push(part)
  }
  return text
}

function piecesOf(type: AvroType, space: string, written: Set<string>): Piece[] {
  switch (type.kind) {
    case 'array':
      return ['{"type":"array","items":', { type: type.items, space }, `${propertiesText(type.properties)}}`]
    case 'map':
      return ['{"type":"map","values":', { type: type.values, space }, `${propertiesText(type.properties)}}`]
    case 'union':
      return ['[', ...between(type.branches.map(branch => [{ type: branch, space }])), ']']
    case 'record':
    case 'enum':
    case 'fixed':
      if (written.has(type.name.full)) return [quoted(shortName(type.name, space))]
      written.add(type.name.full)
      return namedPieces(type, space)
    default:
      return type.properties.size === 0
        ? [`"${type.kind}"`]
        : [`{"type":"${type.kind}"${propertiesText(type.properties)}}`]
  }
}

function namedPieces(type: NamedType, space: string): Piece[] {
  const kind = type.kind === 'record' && type.isError ? 'error' : type.kind
  const head = `{"type":"${kind}"${nameText(type.name, space)}${type.doc === null ? '' : `,"doc":${quoted(type.doc)}`}`
  return [head, ...bodyPieces(type), `${propertiesText(type.properties)}${aliasesText(type)}}`]
}

function bodyPieces(type: NamedType): Piece[] {
  if (type.kind === 'fixed') return [`,"size":${type.size}`]
  if (type.kind === 'record')
    return [',"fields":[', ...between(type.fields!.map(field => fieldPieces(field, type.name.space))), ']']
  const symbols = `,"symbols":[${type.symbols.map(quoted).join(',')}]`
  return [type.default === null ? symbols : `${symbols},"default":${quoted(type.default)}`]
}

function fieldPieces(field: Field, space: string): Piece[] {
  const doc = field.doc === null ? '' : `,"doc":${quoted(field.doc)}`
  const byDefault = field.default === undefined ? '' : `,"default":${jsonOf(field.default)}`
  const order = field.order === 'ascending' ? '' : `,"order":"${field.order}"`
  const aliases = field.aliases.length === 0 ? '' : `,"aliases":[${field.aliases.map(quoted).join(',')}]`
  const tail = `${doc}${byDefault}${order}${aliases}${propertiesText(field.properties)}}`
  return [`{"name":${quoted(field.name)},"type":`, { type: field.type, space }, tail]
}

/** The namespace is written where it is not the one around. */
function nameText(name: Name, space: string): string {
  return `,"name":${quoted(name.name)}${name.space === space ? '' : `,"namespace":${quoted(name.space)}`}`
}

function aliasesText({ aliases, name }: NamedType): string {
  if (aliases.length === 0) return ''
  return `,"aliases":[${aliases.map(alias => quoted(shortName(alias, name.space))).join(',')}]`
}

function propertiesText(properties: Properties): string {
  let text = ''
  for (const [name, value] of properties) text += `,${quoted(name)}:${jsonOf(value)}`
  return text
}

/** The lists one after the other, with commas between them. */
function between(lists: readonly (readonly Piece[])[]): Piece[] {
  return lists.flatMap((list, i) => (i === 0 ? list : [',', ...list]))
}
