// Changes of a schema that people make, with and without care. Each change is made at a random place.

import type { Random } from '../src/base/random.ts'
import { type Attributes, type Plain, Raw, SchemaMaker, type Shape } from './avro-schemas.ts'

/** Returns a schema that came out of `shape` by `count` changes. It may be wrong: then the change was a mistake. */
export function changed(shape: Shape, count: number, random: Random): Shape {
  let copy = structuredCopy(shape) as Shape
  for (let i = 0; i < count; i++) copy = changeOnce(copy, random)
  return copy
}

function structuredCopy(value: Plain): Plain {
  if (value instanceof Raw || value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(structuredCopy)
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, structuredCopy(member)]))
}

interface Place {
  readonly shape: Shape
  put(shape: Shape): void
}

/** Every type in the schema, with the way to replace it. */
function placesOf(shape: Shape, put: (shape: Shape) => void, into: Place[] = []): Place[] {
  into.push({ shape, put })
  if (Array.isArray(shape))
    for (const [i, branch] of shape.entries()) placesOf(branch, other => (shape[i] = other), into)
  else if (typeof shape !== 'string') {
    const attributes = shape as Attributes
    for (const name of ['items', 'values'])
      if (attributes[name] !== undefined) placesOf(attributes[name] as Shape, other => (attributes[name] = other), into)
    for (const field of (attributes.fields as Attributes[] | undefined) ?? [])
      placesOf(field.type as Shape, other => (field.type = other), into)
  }
  return into
}

const WIDER: Readonly<Record<string, readonly string[]>> = {
  int: ['long', 'float', 'double'],
  long: ['float', 'double', 'int'],
  float: ['double', 'long'],
  string: ['bytes'],
  bytes: ['string'],
}

function changeOnce(root: Shape, random: Random): Shape {
  let result = root
  const maker = new SchemaMaker(random)
  // Names of the maker must not meet those of the schema.
  const places = placesOf(root, other => (result = other))
  const place = maker.pick(places)
  const { shape } = place
  if (typeof shape === 'string') changePrimitive(shape, place, maker, random)
  else if (Array.isArray(shape)) changeUnion(shape, maker, random)
  else if (shape.type === 'record' || shape.type === 'error') changeRecord(shape as Attributes, maker, random)
  else changeOther(shape as Attributes, place, maker, random)
  return result
}

function changePrimitive(shape: string, place: Place, maker: SchemaMaker, random: Random): void {
  const choice = random.below(10)
  if (choice < 5) place.put(maker.pick(WIDER[shape] ?? ['string']))
  else if (choice < 7) place.put(['null', shape])
  else if (choice < 8) place.put([shape, 'null'])
  else if (choice < 9) place.put({ type: shape, doc: 'as before' })
  else place.put(maker.pick(['int', 'string', 'boolean']))
}

function changeUnion(shape: Shape[], maker: SchemaMaker, random: Random): void {
  const choice = random.below(4)
  if (choice === 0 && shape.length > 1) shape.splice(random.below(shape.length), 1)
  else if (choice === 1) shape.push(maker.pick(['string', 'long', 'boolean', 'bytes']))
  else if (choice === 2) shape.reverse()
  else shape.unshift(maker.pick(['null', 'double', { type: 'array', items: 'int' }]))
}

function changeRecord(shape: Attributes, maker: SchemaMaker, random: Random): void {
  const fields = shape.fields as Attributes[]
  const field = fields[random.below(Math.max(fields.length, 1))]
  const fresh = `new_${random.below(1000)}`
  switch (random.below(16)) {
    case 0:
    case 1:
      fields.splice(random.below(fields.length + 1), 0, { name: fresh, ...defaulted(maker, random) })
      return
    case 2:
      fields.push({ name: fresh, type: maker.pick(['int', 'string', ['null', 'string']] as Shape[]) })
      return
    case 3:
    case 4:
      fields.splice(random.below(fields.length), 1)
      return
    case 5:
      if (field !== undefined) field.name = fresh
      return
    case 6:
    case 7:
      if (field !== undefined)
        Object.assign(field, { aliases: [...((field.aliases as string[]) ?? []), field.name!], name: fresh })
      return
    case 8:
      // An alias that is the name of another field: two sources for one field.
      if (field !== undefined) field.aliases = [String(maker.pick(fields).name)]
      return
    case 9:
      fields.reverse()
      return
    case 10:
      rename(shape, maker, random)
      return
    case 11:
      if (field !== undefined) delete field.default
      return
    case 12:
      if (field !== undefined) field.default = maker.pick<Plain>([null, 1, 'x', [], {}, true, new Raw('1e400')])
      return
    case 13:
      if (field !== undefined) field.name = maker.pick(fields).name!
      return
    case 14:
      if (field !== undefined) field.name = maker.pick(['1st', 'a-b', 'a.b', ''])
      return
    default:
      Object.assign(shape, { doc: 'another', since: random.below(9) })
  }
}

function defaulted(maker: SchemaMaker, random: Random): Attributes {
  const type = maker.pick<Shape>([
    'int',
    'string',
    ['null', 'string'],
    { type: 'array', items: 'int' },
    'double',
    'boolean',
  ])
  return { type, default: maker.value(type, '')!, ...(random.below(5) === 0 ? { doc: 'added' } : {}) }
}

function rename(shape: Attributes, maker: SchemaMaker, random: Random): void {
  const full = String(shape.name)
  const choice = random.below(4)
  if (choice === 0) shape.name = `${full}New`
  else if (choice === 1) {
    const space = shape.namespace === undefined || full.includes('.') ? '' : `${shape.namespace}.`
    Object.assign(shape, { name: `${full}New`, aliases: [...((shape.aliases as string[]) ?? []), space + full] })
  } else if (choice === 2) shape.namespace = maker.pick(['a', 'other.space'])
  else shape.aliases = [`${full}Old`]
}

function changeOther(shape: Attributes, place: Place, maker: SchemaMaker, random: Random): void {
  const choice = random.below(8)
  if (choice === 0) place.put(['null', shape])
  else if (choice === 1) shape.note = random.below(9)
  else if (shape.type === 'enum') changeEnum(shape, maker, random)
  else if (shape.type === 'fixed') {
    if (choice < 4) shape.size = random.below(40)
    else if (choice < 5) shape.size = maker.pick<Plain>([-1, 1.5, '4', new Raw('3000000000')])
    else rename(shape, maker, random)
  } else if (shape.type === 'array' && choice < 4) place.put({ type: 'map', values: shape.items! })
  else if (choice < 6) shape.type = maker.pick(['array', 'map', 'string', 'unknown'])
}

function changeEnum(shape: Attributes, maker: SchemaMaker, random: Random): void {
  const symbols = shape.symbols as string[]
  switch (random.below(7)) {
    case 0:
    case 1:
      symbols.push('NEW')
      return
    case 2:
      symbols.splice(random.below(symbols.length), 1)
      return
    case 3:
      shape.default = maker.pick([...symbols, 'NOBODY'])
      return
    case 4:
      delete shape.default
      return
    case 5:
      symbols.push(maker.pick([symbols[0] ?? 'A', 'a-b']))
      return
    default:
      rename(shape, maker, random)
  }
}
