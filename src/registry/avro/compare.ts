// Whether a reader with one schema reads everything that a writer with another one writes, as Java's
// SchemaCompatibility decides it. Logical types, order, documentation and properties do not matter.
//
// The pairs of types form a graph that can be as deep as two schemas have types, so each comparison is a generator and
// one loop drives them.

import type { Difference } from '../format.ts'
import {
  type AvroSchema,
  type AvroType,
  type EnumType,
  type Field,
  isNamed,
  isPrimitive,
  type NamedType,
  nameOf,
  type RecordType,
} from './schema-model.ts'
import { clipped } from './words.ts'

/** No caller needs more reasons. */
const MOST_DIFFERENCES = 100

/** Returns why `reader` cannot read what `writer` writes. Paths are JSON pointers into the reader. */
export function compareSchemas(reader: AvroSchema, writer: AvroSchema): readonly Difference[] {
  const differences = new Comparison().of(reader.root, writer.root)
  return differences.map(({ type, path, description }) => ({
    type,
    path: path === '' ? '/' : clipped(path, 1000),
    description,
  }))
}

/** The path is relative to the reader of the pair. */
type Found = readonly Difference[]
type Pair = readonly [reader: AvroType, writer: AvroType]
type Steps = Generator<Pair, Found, Found>

const NONE: Found = []

class Comparison {
  /** The result of each pair. A pair that is in progress counts as readable, until it is proven otherwise. */
  readonly #known = new Map<AvroType, Map<AvroType, Found>>()

  of(reader: AvroType, writer: AvroType): Found {
    const stack: { readonly steps: Steps; readonly pair: Pair }[] = []
    let result = this.#begin([reader, writer], stack)
    while (stack.length > 0) {
      const { steps, pair } = stack.at(-1)!
      const next = result === null ? steps.next() : steps.next(result)
      if (next.done === true) {
        stack.pop()
        result = next.value
        this.#keep(pair, result)
      } else result = this.#begin(next.value, stack)
    }
    return result!
  }

  /** Returns the result if it is known at once. Else the comparison is put on the stack. */
  #begin(pair: Pair, stack: { readonly steps: Steps; readonly pair: Pair }[]): Found | null {
    const [reader, writer] = pair
    if (reader.kind !== 'union' && writer.kind !== 'union') {
      if (reader.kind !== writer.kind) return promotes(reader, writer) ? NONE : [mismatch(reader, writer)]
      if (isPrimitive(reader.kind)) return NONE
    }
    const known = this.#known.get(reader)?.get(writer)
    if (known !== undefined) return known
    this.#keep(pair, NONE)
    stack.push({ steps: stepsOf(reader, writer), pair })
    return null
  }

  #keep([reader, writer]: Pair, found: Found): void {
    const ofReader = this.#known.get(reader)
    if (ofReader === undefined) this.#known.set(reader, new Map([[writer, found]]))
    else ofReader.set(writer, found)
  }
}

function* stepsOf(reader: AvroType, writer: AvroType): Steps {
  if (writer.kind === 'union') return yield* readEachBranch(reader, writer.branches)
  if (reader.kind === 'union') return yield* readByAnyBranch(reader.branches, writer)
  if (reader.kind === 'array' && writer.kind === 'array') return under('/items', yield [reader.items, writer.items])
  if (reader.kind === 'map' && writer.kind === 'map') return under('/values', yield [reader.values, writer.values])
  if (reader.kind === 'record' && writer.kind === 'record') return yield* readFields(reader, writer)
  if (reader.kind === 'enum' && writer.kind === 'enum')
    return [...compareNames(reader, writer), ...symbols(reader, writer)]
  if (reader.kind === 'fixed' && writer.kind === 'fixed') {
    const names = compareNames(reader, writer)
    if (reader.size === writer.size) return names
    const description = `the writer's fixed ${nameOf(writer)} has ${writer.size} bytes, the reader's ${reader.size}`
    return [...names, reason('FIXED_SIZE_MISMATCH', '/size', description)]
  }
  return [mismatch(reader, writer)]
}

function* readEachBranch(reader: AvroType, branches: readonly AvroType[]): Steps {
  const found: Difference[] = []
  for (const [i, branch] of branches.entries()) {
    const ofBranch = yield [reader, branch]
    if (ofBranch.length === 0) continue
    if (reader.kind === 'union') found.push(missingBranch(`/${i}`, branch))
    else found.push(...under(`/${i}`, ofBranch))
    if (found.length >= MOST_DIFFERENCES) break
  }
  return bounded(found)
}

function* readByAnyBranch(branches: readonly AvroType[], writer: AvroType): Steps {
  for (const branch of candidatesOf(branches, writer)) if ((yield [branch, writer]).length === 0) return NONE
  return [missingBranch('', writer)]
}

interface Branches {
  readonly unnamed: readonly AvroType[]
  /** By the unqualified name, and by each alias. */
  readonly named: ReadonlyMap<string, readonly NamedType[]>
  readonly aliased: ReadonlyMap<string, readonly NamedType[]>
}

const indexes = new WeakMap<readonly AvroType[], Branches>()

/** The branches that may read the writer, so that two unions of thousands of records take less than all pairs. */
function candidatesOf(branches: readonly AvroType[], writer: AvroType): readonly AvroType[] {
  let index = indexes.get(branches)
  if (index === undefined) {
    const named = branches.filter(isNamed)
    index = {
      unnamed: branches.filter(branch => !isNamed(branch)),
      named: Map.groupBy(named, ({ name }) => name.name),
      aliased: groupByAll(named, ({ aliases }) => aliases.map(alias => alias.full)),
    }
    indexes.set(branches, index)
  }
  if (!isNamed(writer)) return index.unnamed
  return [...(index.named.get(writer.name.name) ?? []), ...(index.aliased.get(writer.name.full) ?? [])]
}

function groupByAll<Item>(items: readonly Item[], keysOf: (item: Item) => readonly string[]): Map<string, Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items)
    for (const key of keysOf(item)) {
      const group = groups.get(key)
      if (group === undefined) groups.set(key, [item])
      else group.push(item)
    }
  return groups
}

function* readFields(reader: RecordType, writer: RecordType): Steps {
  const found = [...compareNames(reader, writer)]
  const written = new Map(writer.fields!.map(field => [field.name, field]))
  for (const [i, field] of reader.fields!.entries()) {
    const path = `/fields/${i}`
    const sources = [field.name, ...field.aliases].flatMap(name => written.get(name) ?? [])
    if (sources.length > 1) found.push(ambiguous(path, field, sources))
    else if (sources[0] !== undefined) found.push(...under(`${path}/type`, yield [field.type, sources[0].type]))
    else if (field.default === undefined) found.push(missingDefault(path, field, reader, writer))
    if (found.length >= MOST_DIFFERENCES) break
  }
  return bounded(found)
}

function compareNames(reader: AvroType, writer: AvroType): Found {
  if (!isNamed(reader) || !isNamed(writer)) return NONE
  if (reader.name.name === writer.name.name) return NONE
  if (reader.aliases.some(alias => alias.full === writer.name.full)) return NONE
  const description = `the reader's ${reader.kind} ${reader.name.full} is no ${writer.name.full} of the writer, neither by name nor by alias`
  return [reason('NAME_MISMATCH', '/name', description)]
}

function symbols(reader: EnumType, writer: EnumType): Found {
  if (reader.default !== null) return NONE
  const known = new Set(reader.symbols)
  const missing = writer.symbols.filter(symbol => !known.has(symbol)).toSorted()
  if (missing.length === 0) return NONE
  const description = `the reader's enum ${reader.name.full} has no default and lacks symbols of the writer: ${listOf(missing)}`
  return [reason('MISSING_ENUM_SYMBOLS', '/symbols', description)]
}

function ambiguous(path: string, field: Field, sources: readonly Field[]): Difference {
  const names = listOf(sources.map(source => source.name))
  const description = `the reader's field "${field.name}" matches several fields of the writer by name and alias: ${names}`
  return reason('AMBIGUOUS_FIELD_ALIAS', path, description)
}

function missingDefault(path: string, field: Field, reader: RecordType, writer: RecordType): Difference {
  const hint =
    field.type.kind === 'enum' && field.type.default !== null ? '; the default of its enum does not help' : ''
  const description = `the reader's field "${field.name}" of ${reader.name.full} has no default, and the writer's ${writer.name.full} has no such field${hint}`
  return reason('READER_FIELD_MISSING_DEFAULT_VALUE', path, description)
}

function missingBranch(path: string, writer: AvroType): Difference {
  const description = `no branch of the reader's union reads the writer's ${wordsFor(writer)}`
  return reason('MISSING_UNION_BRANCH', path, description)
}

function mismatch(reader: AvroType, writer: AvroType): Difference {
  const description = `the reader's ${wordsFor(reader)} cannot read the writer's ${wordsFor(writer)}`
  return reason('TYPE_MISMATCH', '', description)
}

const wordsFor = (type: AvroType): string => (nameOf(type) === type.kind ? type.kind : `${type.kind} ${nameOf(type)}`)

function listOf(names: readonly string[]): string {
  return names.length > 10 ? `${names.slice(0, 10).join(', ')} and ${names.length - 10} more` : names.join(', ')
}

const READS: Readonly<Record<string, readonly AvroType['kind'][]>> = {
  long: ['int'],
  float: ['int', 'long'],
  double: ['int', 'long', 'float'],
  string: ['bytes'],
  bytes: ['string'],
}

/** Names of a schema can be long, and a hundred reasons repeat them. */
function reason(type: string, path: string, description: string): Difference {
  return { type, path, description: clipped(description, 500) }
}

const promotes = (reader: AvroType, writer: AvroType): boolean => READS[reader.kind]?.includes(writer.kind) === true

function under(path: string, found: Found): Found {
  return found.map(difference => ({ ...difference, path: path + difference.path }))
}

const bounded = (found: readonly Difference[]): Found =>
  found.length > MOST_DIFFERENCES ? found.slice(0, MOST_DIFFERENCES) : found
