// Reads the text of an Avro schema (Avro 1.12 specification, "Schema Declaration"). It accepts everything that Java's
// Schema.Parser accepts but types that are used before they are defined, which only its version 1.12 reads.

import { MAX_UNPACKED_BYTES } from '../../protocol/records.ts'
import { InvalidSchema, MOST_SCHEMA_LEVELS, type SchemaText, type Strictness } from '../format.ts'
import { InvalidJson, isObject, type Json, JsonNumber, type JsonObject, readJson } from '../json-text.ts'
import { checkDefault, doubleDefault } from './defaults.ts'
import { checkName, checkPart, nameFrom } from './names.ts'
import {
  type AvroSchema,
  type AvroType,
  type EnumType,
  type Field,
  isEmpty,
  isPrimitive,
  type Name,
  type NamedType,
  nameOf,
  type PrimitiveKind,
  type Properties,
  type RecordType,
} from './schema-model.ts'
import { clipped, kindOf } from './words.ts'

/** A field of a record is three levels of JSON and one of the schema. Defaults and properties need a few more. */
const MOST_JSON_LEVELS = 4 * MOST_SCHEMA_LEVELS

/** Java's bound of a fixed: the largest array of its virtual machine. */
const MOST_FIXED_BYTES = 2 ** 31 - 1 - 8
/** A batch is unpacked to no more (log/unpacking.ts), so no record holds a larger fixed. */
const MOST_NEW_FIXED_BYTES = MAX_UNPACKED_BYTES

/** Throws InvalidSchema. Dependencies are stored schemas, and are read as such. */
export function parseSchema({ text, dependencies }: SchemaText, strictness: Strictness): AvroSchema {
  const names = new Map<string, NamedType>()
  for (const dependency of dependencies) {
    const place = `reference ${JSON.stringify(clipped(dependency.name))}`
    new Parser(names, 'stored', place).type(jsonFrom(dependency.text, place), '', '', 1)
  }
  const known = new Map(names)
  return { root: new Parser(names, strictness, '').type(jsonFrom(text, ''), '', '', 1), dependencies: known }
}

function jsonFrom(text: string, place: string): Json {
  try {
    return readJson(text, MOST_JSON_LEVELS, { hasComments: true })
  } catch (error) {
    if (!(error instanceof InvalidJson)) throw error
    throw new InvalidSchema(`${place === '' ? 'the schema' : place} is no JSON: ${error.message}`, { cause: error })
  }
}

const RESERVED: ReadonlySet<string> = new Set([
  ...['doc', 'fields', 'items', 'name', 'namespace', 'size', 'symbols', 'values', 'type', 'aliases'],
])
const RESERVED_IN_ENUMS: ReadonlySet<string> = new Set([...RESERVED, 'default'])
const RESERVED_IN_FIELDS: ReadonlySet<string> = new Set(['default', 'doc', 'name', 'order', 'type', 'aliases'])

class Parser {
  readonly #names: Map<string, NamedType>
  readonly #strictness: Strictness
  readonly #text: string

  /** `text`: the text that is read, for messages; '' for the schema itself. */
  constructor(names: Map<string, NamedType>, strictness: Strictness, text: string) {
    this.#names = names
    this.#strictness = strictness
    this.#text = text
  }

  /** `space`: the namespace around it. `path`: where it stands, a JSON pointer. */
  type(json: Json, space: string, path: string, level: number): AvroType {
    if (level > MOST_SCHEMA_LEVELS) this.#fail(path, `at most ${MOST_SCHEMA_LEVELS} types in each other`)
    if (typeof json === 'string') return this.#reference(json, space, path)
    if (Array.isArray(json)) return this.#union(json, space, path, level)
    if (isObject(json)) return this.#object(json, space, path, level)
    return this.#fail(path, `a type name, an object with "type" or a union, not ${kindOf(json)}`)
  }

  #reference(text: string, space: string, path: string): AvroType {
    if (isPrimitive(text)) return { kind: text, properties: NO_PROPERTIES }
    return (
      this.#find(text, space) ??
      this.#fail(path, `a type that is defined before it is used; ${JSON.stringify(text)} is not defined`)
    )
  }

  #find(text: string, space: string): NamedType | undefined {
    return this.#names.get(nameFrom(text, space).full) ?? this.#names.get(nameFrom(text, '').full)
  }

  #union(json: readonly Json[], space: string, path: string, level: number): AvroType {
    const branches = json.map((branch, i) => this.type(branch, space, `${path}/${i}`, level + 1))
    const names = new Set<string>()
    for (const [i, branch] of branches.entries()) {
      if (branch.kind === 'union') this.#fail(`${path}/${i}`, 'a branch that is no union itself')
      const name = nameOf(branch)
      if (names.has(name)) this.#fail(`${path}/${i}`, `one branch of ${name}, not two`)
      names.add(name)
    }
    return { kind: 'union', branches }
  }

  #object(json: JsonObject, space: string, path: string, level: number): AvroType {
    const type = json.get('type')
    if (typeof type !== 'string') return this.#fail(`${path}/type`, `the name of a type, not ${kindOf(type)}`)
    if (isPrimitive(type)) return primitive(type, propertiesOf(json, RESERVED))
    const part = (name: string) => {
      const value = json.get(name)
      if (value === undefined) this.#fail(`${path}/${name}`, `the type of the ${name} of the ${type}`)
      return this.type(value!, space, `${path}/${name}`, level + 1)
    }
    switch (type) {
      case 'array':
        return { kind: type, items: part('items'), properties: propertiesOf(json, RESERVED) }
      case 'map':
        return { kind: type, values: part('values'), properties: propertiesOf(json, RESERVED) }
      case 'record':
      case 'error':
        return this.#record(json, space, path, level, type === 'error')
      case 'enum':
        return this.#enum(json, space, path)
      case 'fixed':
        return this.#fixed(json, space, path)
      default:
        // Avro 1.11 takes a defined name here too; its attributes mean nothing.
        return this.#names.get(nameFrom(type, space).full) ?? this.#fail(`${path}/type`, `a type, not "${type}"`)
    }
  }

  #record(json: JsonObject, space: string, path: string, level: number, isError: boolean): RecordType {
    const named = this.#named(json, space, path)
    const record: { -readonly [Key in keyof RecordType]: RecordType[Key] } = {
      ...{ kind: 'record', isError, fields: null, isEmpty: false },
      ...named,
      properties: propertiesOf(json, RESERVED),
    }
    this.#define(record, path)
    const list = json.get('fields')
    if (!Array.isArray(list)) return this.#fail(`${path}/fields`, `the list of fields, not ${kindOf(list)}`)
    const fields = list.map((field: Json, i) => this.#field(field, named.name, `${path}/fields/${i}`, level))
    const names = new Set<string>()
    for (const [i, { name }] of fields.entries()) {
      if (names.has(name)) this.#fail(`${path}/fields/${i}/name`, `one field "${name}", not two`)
      names.add(name)
    }
    record.fields = fields
    record.isEmpty = fields.every(field => isEmpty(field.type))
    return record
  }

  #field(json: Json, record: Name, path: string, level: number): Field {
    if (!isObject(json)) return this.#fail(path, `an object with "name" and "type", not ${kindOf(json)}`)
    const name = json.get('name')
    if (typeof name !== 'string') return this.#fail(`${path}/name`, `the name of the field, not ${kindOf(name)}`)
    this.#check(() => checkPart(name, `field of ${record.full}`, this.#strictness), `${path}/name`)
    const typeJson = json.get('type')
    if (typeJson === undefined) return this.#fail(`${path}/type`, `the type of field "${name}"`)
    const type = this.type(typeJson, record.space, `${path}/type`, level + 1)
    return {
      ...{ name, type, doc: textIn(json, 'doc'), order: this.#order(json.get('order'), path) },
      default: this.#default(json.get('default'), type, name, path),
      aliases: [...new Set(this.#aliases(json, path))],
      properties: propertiesOf(json, RESERVED_IN_FIELDS),
    }
  }

  #default(json: Json | undefined, type: AvroType, field: string, path: string): Json | undefined {
    if (json === undefined) return undefined
    const isText = typeof json === 'string' && (type.kind === 'float' || type.kind === 'double')
    const value = isText ? doubleDefault(json) : json
    if (value === undefined) return this.#fail(`${path}/default`, `a number, not ${JSON.stringify(json)}`)
    if (isText || this.#strictness === 'stored') return value
    const wrong = checkDefault(type, value)
    if (wrong !== null) this.#fail(`${path}/default`, `a default of field "${field}" that is valid: ${wrong}`)
    return value
  }

  #order(json: Json | undefined, path: string): Field['order'] {
    if (json === undefined) return 'ascending'
    const order = typeof json === 'string' ? json.toLowerCase() : ''
    if (order === 'ascending' || order === 'descending' || order === 'ignore') return order
    return this.#fail(`${path}/order`, '"ascending", "descending" or "ignore"')
  }

  #enum(json: JsonObject, space: string, path: string): EnumType {
    const named = this.#named(json, space, path)
    const list = json.get('symbols')
    if (!Array.isArray(list)) return this.#fail(`${path}/symbols`, `the list of symbols, not ${kindOf(list)}`)
    const symbols = new Set<string>()
    for (const [i, symbol] of list.entries()) {
      const at = `${path}/symbols/${i}`
      if (typeof symbol !== 'string') return this.#fail(at, `a symbol, not ${kindOf(symbol)}`)
      this.#check(() => checkPart(symbol, 'symbol', this.#strictness), at)
      if (symbols.has(symbol)) this.#fail(at, `one symbol "${symbol}", not two`)
      symbols.add(symbol)
    }
    const byDefault = textIn(json, 'default')
    if (byDefault !== null && !symbols.has(byDefault)) this.#fail(`${path}/default`, 'one of the symbols')
    return this.#define(
      {
        ...{ kind: 'enum', symbols: [...symbols], default: byDefault },
        ...named,
        properties: propertiesOf(json, RESERVED_IN_ENUMS),
      },
      path,
    )
  }

  #fixed(json: JsonObject, space: string, path: string): AvroType {
    const named = this.#named(json, space, path)
    const sizeJson = json.get('size')
    const size = sizeJson instanceof JsonNumber && sizeJson.isInteger ? Number(sizeJson.text) : -1
    if (size < 0 || size > MOST_FIXED_BYTES)
      return this.#fail(`${path}/size`, 'the bytes of the fixed, from 0 to 2^31-9')
    if (size > MOST_NEW_FIXED_BYTES && this.#strictness === 'new')
      return this.#fail(
        `${path}/size`,
        `at most ${MOST_NEW_FIXED_BYTES} bytes, since no record holds the ${size} of the fixed ${named.name.full}`,
      )
    return this.#define({ kind: 'fixed', ...named, size, properties: propertiesOf(json, RESERVED) }, path)
  }

  #named(json: JsonObject, space: string, path: string) {
    const text = json.get('name')
    if (typeof text !== 'string') return this.#fail(`${path}/name`, `the name of the type, not ${kindOf(text)}`)
    const name = nameFrom(text, textIn(json, 'namespace') ?? space)
    this.#check(() => checkName(name, 'type', this.#strictness), `${path}/name`)
    if (isPrimitive(name.full)) this.#fail(`${path}/name`, `a name that is no primitive type, as "${name.full}" is`)
    const aliases = new Map<string, Name>()
    for (const alias of this.#aliases(json, path)) {
      const full = nameFrom(alias, name.space)
      this.#check(() => checkName(full, 'alias', this.#strictness), `${path}/aliases`)
      aliases.set(full.full, full)
    }
    return { name, doc: textIn(json, 'doc'), aliases: [...aliases.values()] }
  }

  #aliases(json: JsonObject, path: string): readonly string[] {
    const list = json.get('aliases')
    if (list === undefined) return []
    if (Array.isArray(list) && list.every(alias => typeof alias === 'string')) return list
    return this.#fail(`${path}/aliases`, 'a list of names')
  }

  #define<Type extends NamedType>(type: Type, path: string): Type {
    const { full } = type.name
    if (this.#names.has(full)) this.#fail(`${path}/name`, `one definition of ${full}, not two`)
    this.#names.set(full, type)
    return type
  }

  #check(check: () => void, path: string): void {
    try {
      check()
    } catch (error) {
      if (error instanceof InvalidSchema) throw new InvalidSchema(`${this.#place(path)}: ${error.message}`)
      throw error
    }
  }

  #place(path: string): string {
    return [this.#text, path === '' ? 'at the top' : `at ${path}`].filter(part => part !== '').join(' ')
  }

  #fail(path: string, expected: string): never {
    throw new InvalidSchema(`${this.#place(path)}: expected ${clipped(expected)}`)
  }
}

const NO_PROPERTIES: Properties = new Map()

function primitive(kind: PrimitiveKind, properties: Properties): AvroType {
  return { kind, properties }
}

function propertiesOf(json: JsonObject, reserved: ReadonlySet<string>): Properties {
  let properties: Map<string, Json> | null = null
  for (const [name, value] of json) {
    if (reserved.has(name)) continue
    properties ??= new Map()
    properties.set(name, value)
  }
  return properties ?? NO_PROPERTIES
}

/** Java takes an attribute of another type for an absent one. */
function textIn(json: JsonObject, name: string): string | null {
  const value = json.get(name)
  return typeof value === 'string' ? value : null
}
