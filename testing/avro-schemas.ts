// Random Avro schemas, and schemas that came out of others by changes that people make. Some are wrong on purpose. The
// same seed makes the same schemas.

import type { Random } from '../src/base/random.ts'

/** JSON text that JavaScript's numbers cannot hold, such as `9223372036854775807` or `1.10`. */
export class Raw {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export type Shape = string | Shape[] | Attributes
export type Attributes = { [name: string]: Plain }
export type Plain = null | boolean | number | string | Raw | Plain[] | { [name: string]: Plain }

/** The text of a schema, with spaces here and there so that no two texts of one schema are alike. */
export function textOf(value: Plain, random: Random | null = null): string {
  const space = random !== null && random.below(4) === 0 ? ' ' : ''
  if (value instanceof Raw) return value.text
  if (Array.isArray(value)) return `[${value.map(item => space + textOf(item, random)).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const members = Object.entries(value)
  return `{${members.map(([name, member]) => `${space}${JSON.stringify(name)}:${textOf(member, random)}`).join(',')}}`
}

const SPACES = ['', 'a', 'a.b', 'c']
const PRIMITIVES = ['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string'] as const
const LOGICAL: readonly (readonly [string, Attributes])[] = [
  ['int', { logicalType: 'date' }],
  ['int', { logicalType: 'time-millis' }],
  ['long', { logicalType: 'timestamp-millis' }],
  ['long', { logicalType: 'time-micros' }],
  ['string', { logicalType: 'uuid' }],
  ['bytes', { logicalType: 'decimal', precision: 9, scale: 2 }],
  ['bytes', { precision: 4, logicalType: 'decimal' }],
  ['bytes', { logicalType: 'decimal', scale: 0, precision: 12 }],
  ['string', { logicalType: 'date' }],
  ['bytes', { logicalType: 'decimal', precision: 2, scale: 3 }],
  ['long', { logicalType: 'of-ours', unit: 'm' }],
]
const PROPERTIES: readonly Plain[] = [
  ...[
    1,
    -0,
    true,
    null,
    'text',
    'ä"\\\n\u0007',
    new Raw('1.10'),
    new Raw('1e10'),
    new Raw('0.0001'),
    new Raw('123456789012'),
  ],
  ...[[1, 'two', { z: 1, a: [2] }], { z: 'one', a: 2, m: { q: 1, b: 2 } }],
]
const NAMES = ['id', 'amount', 'name', 'kind', 'when', 'next', 'items', 'note', 'flag', 'code', 'x', 'y']

/** A named type that later ones can refer to. `open`: its fields are not complete yet. */
interface Defined {
  readonly full: string
  readonly shape: Attributes
  open: boolean
}

export class SchemaMaker {
  readonly #random: Random
  readonly #defined: Defined[] = []
  #names = 0

  constructor(random: Random) {
    this.#random = random
  }

  #chance(of: number): boolean {
    return this.#random.below(100) < of
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.#random.below(items.length)]!
  }

  /** Mostly a record, as real schemas are. */
  schema(): Shape {
    if (this.#chance(80)) return this.#record('', 0)
    return this.type('', 0)
  }

  type(space: string, depth: number): Shape {
    const choice = this.#random.below(depth > 5 ? 10 : 24)
    if (choice < 7) return this.pick(PRIMITIVES)
    if (choice < 9) return this.#primitive()
    if (choice < 10) return this.#known(space, false) ?? 'string'
    if (choice < 13) return { type: 'array', items: this.type(space, depth + 1), ...this.#properties(15) }
    if (choice < 15) return { type: 'map', values: this.type(space, depth + 1), ...this.#properties(15) }
    if (choice < 19) return this.#union(space, depth)
    if (choice < 21) return this.#enum(space)
    if (choice < 22) return this.#fixed(space)
    return this.#record(space, depth)
  }

  #primitive(): Shape {
    if (this.#chance(50)) {
      const [type, attributes] = this.pick(LOGICAL)
      return { type, ...attributes, ...this.#properties(20) }
    }
    return { type: this.pick(PRIMITIVES), ...this.#properties(50), ...(this.#chance(10) ? { doc: 'lost' } : {}) }
  }

  #union(space: string, depth: number): Shape {
    const recursive = this.#known(space, true)
    if (recursive !== null && this.#chance(40)) return ['null', recursive]
    if (this.#chance(5)) return []
    const branches = this.#chance(60) ? ['null', this.type(space, depth + 1)] : []
    for (let i = this.#random.below(3); i >= 0; i--) branches.push(this.type(space, depth + 1))
    const seen = new Set<string>()
    return branches.filter(branch => {
      if (Array.isArray(branch)) return false
      const key = kindOf(branch)
      if (seen.has(key)) return false
      seen.add(key)
      return true
    })
  }

  #known(space: string, open: boolean): string | null {
    const known = this.#defined.filter(defined => defined.open === open || !defined.open)
    if (known.length === 0) return null
    const { full } = this.pick(known)
    const dot = full.lastIndexOf('.')
    return dot > 0 && full.slice(0, dot) === space && this.#chance(50) ? full.slice(dot + 1) : full
  }

  /** `name` and `namespace` in one of the ways to write them. */
  #named(type: string, space: string): { shape: Attributes; own: string; defined: Defined } {
    const name = `${this.pick(['R', 'Order', 'Line', 'E', 'F', 'long', 'record'])}${this.#names++}`
    const own = space === '' || this.#chance(30) ? this.pick(space === '' ? SPACES : SPACES.slice(1)) : space
    const full = own === '' ? name : `${own}.${name}`
    const shape: Attributes = this.#chance(30) ? { type, name: full } : { type, name }
    if (shape.name === name && own !== space) shape.namespace = own
    if (this.#chance(20)) shape.doc = this.pick(['', 'A "word"', 'größer\n'])
    if (this.#chance(20)) shape.aliases = [this.pick([`Old${this.#names}`, `a.Old${this.#names}`, `${full}Old`])]
    const defined = { full, shape, open: true }
    this.#defined.push(defined)
    return { shape, own, defined }
  }

  #record(space: string, depth: number): Attributes {
    const { shape, own, defined } = this.#named(this.#chance(3) ? 'error' : 'record', space)
    const names = [...NAMES]
    const fields: Attributes[] = []
    for (let i = this.#random.below(depth === 0 ? 6 : 4); i >= 0; i--) {
      const [name] = names.splice(this.#random.below(names.length), 1)
      fields.push(this.field(name!, own, depth))
    }
    defined.open = false
    return this.#shuffled({ ...shape, fields, ...this.#properties(15) })
  }

  field(name: string, space: string, depth: number, withDefault = 35): Attributes {
    const type = this.type(space, depth + 1)
    const field: Attributes = { name, type, ...this.#properties(10) }
    if (this.#chance(withDefault)) {
      const value = this.value(type, space)
      if (value !== undefined) field.default = value
    }
    if (this.#chance(10)) field.doc = this.pick(['', 'A field'])
    if (this.#chance(10)) field.order = this.pick(['ascending', 'descending', 'ignore', 'ASCENDING'])
    if (this.#chance(10)) field.aliases = [`old_${name}`]
    return this.#shuffled(field)
  }

  #enum(space: string): Attributes {
    const { shape, defined } = this.#named('enum', space)
    const symbols = ['A', 'B', 'C', 'D', 'E'].slice(0, 1 + this.#random.below(5))
    defined.open = false
    shape.symbols = symbols
    if (this.#chance(30)) shape.default = this.pick(symbols)
    return this.#shuffled({ ...shape, ...this.#properties(10) })
  }

  #fixed(space: string): Attributes {
    const { shape, defined } = this.#named('fixed', space)
    defined.open = false
    shape.size = this.#random.below(17)
    if (this.#chance(20)) Object.assign(shape, { logicalType: 'decimal', precision: 5 })
    return this.#shuffled(shape)
  }

  #properties(chance: number): Attributes {
    const properties: Attributes = {}
    while (this.#chance(chance))
      properties[this.pick(['p', 'q', 'zz', 'a-b', 'connect.name', '10'])] = this.pick(PROPERTIES)
    return properties
  }

  #shuffled(shape: Attributes): Attributes {
    if (this.#chance(70)) return shape
    return Object.fromEntries(Object.entries(shape).sort(() => this.#random.below(3) - 1))
  }

  /** A default of the type; undefined if it has none that is short. The first branch of a union, mostly. */
  value(type: Shape, space: string): Plain | undefined {
    if (Array.isArray(type))
      return type.length === 0 ? undefined : this.value(this.#chance(90) ? type[0]! : this.pick(type), space)
    const kind = typeof type === 'string' ? type : String(type.type)
    switch (kind) {
      case 'null':
        return null
      case 'boolean':
        return this.#chance(50)
      case 'int':
        return this.pick([0, -1, 2147483647, -2147483648])
      case 'long':
        return this.pick([0, -1, new Raw('9223372036854775807'), new Raw('123456789012')])
      case 'float':
      case 'double':
        return this.pick([1, 0.1, -0.5, 100, new Raw('1e10'), new Raw('1.0E-5'), new Raw('3.4028234e38'), '2.5', 'NaN'])
      case 'bytes':
      case 'string':
        return this.pick(['', 'text', 'ÿ\u0001', 'a"b'])
      case 'array':
      case 'map': {
        const item = this.value((type as Attributes)[kind === 'array' ? 'items' : 'values'] as Shape, space)
        // Java takes text for a number only directly in a field.
        if (item === undefined || typeof item === 'string' || this.#chance(40)) return kind === 'array' ? [] : {}
        return kind === 'array' ? [item] : { z: item, a: item }
      }
      case 'enum':
        return typeof type === 'string' ? undefined : this.pick(type.symbols as string[])
      case 'fixed':
        return typeof type === 'string' ? undefined : 'f'.repeat(Number((type as Attributes).size))
      case 'record':
        return typeof type === 'string' ? undefined : this.#recordValue(type as Attributes, space)
      default:
        return undefined
    }
  }

  #recordValue(type: Attributes, space: string): Plain | undefined {
    const members: [string, Plain][] = []
    for (const field of type.fields as Attributes[]) {
      if (field.default !== undefined && this.#chance(50)) continue
      const value = this.value(field.type as Shape, space)
      if (value === undefined || (typeof value === 'string' && isFloating(field.type as Shape))) return undefined
      members.push([String(field.name), value])
    }
    return Object.fromEntries(members)
  }
}

const isFloating = (type: Shape): boolean => /float|double/.test(textOf(type))

function kindOf(shape: Shape): string {
  if (typeof shape === 'string') return shape.slice(shape.lastIndexOf('.') + 1)
  const { type, name } = shape as Attributes
  return typeof name === 'string' ? name.slice(name.lastIndexOf('.') + 1) : String(type)
}
