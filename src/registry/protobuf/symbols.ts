// The names that files declare, and how a name is looked up from a place in a file: from the innermost scope
// outwards, as protoc does (DescriptorBuilder::LookupSymbol).

import type { Enum, Extend, Field, File, Message } from './model.ts'
import { everyMessage } from './model.ts'

/** Something that has names below it, or that is one: only messages and enums are types. */
export type Declared = Message | Enum | 'package' | 'value'

export type SymbolTable = ReadonlyMap<string, Declared>

const TABLES = new WeakMap<File, SymbolTable>()

/**
 * By full name: packages, messages, enums; and as `value` the fields, oneofs, values of enums, services and
 * extensions.
 */
export function symbolsOf(file: File): SymbolTable {
  const known = TABLES.get(file)
  if (known !== undefined) return known
  const table = new Map<string, Declared>()
  for (const [name, declared] of declarations(file)) {
    // The first declaration wins; check.ts refuses the second one.
    if (!table.has(name)) table.set(name, declared)
  }
  TABLES.set(file, table)
  return table
}

/** All declarations with their full names, in the order of the text; one name can come twice. */
export function* declarations(file: File): Generator<readonly [string, Declared]> {
  const parts = file.package === '' ? [] : file.package.split('.')
  for (let count = 1; count <= parts.length; count++) yield [parts.slice(0, count).join('.'), 'package']
  yield* declaredEnums(file.package, file.enums)
  yield* extensions(file.package, file.extends)
  for (const service of file.services) {
    yield [service.fullName, 'value']
    for (const method of service.methods) yield [`${service.fullName}.${method.name}`, 'value']
  }
  for (const message of everyMessage(file.messages)) {
    yield [message.fullName, message]
    for (const field of message.fields) yield [`${message.fullName}.${field.name}`, 'value']
    for (const oneof of message.oneofs) yield [`${message.fullName}.${oneof.name}`, 'value']
    yield* declaredEnums(message.fullName, message.enums)
    yield* extensions(message.fullName, message.extends)
  }
}

/** The values of an enum stand beside the enum, not in it. */
function* declaredEnums(scope: string, enums: readonly Enum[]): Generator<readonly [string, Declared]> {
  for (const type of enums) {
    yield [type.fullName, type]
    for (const value of type.values) yield [below(scope, value.name), 'value']
  }
}

function* extensions(scope: string, extend: readonly Extend[]): Generator<readonly [string, Declared]> {
  for (const [name] of extendedFields(scope, extend)) yield [name, 'value']
}

/** The extensions that a file declares, by full name. */
export function* extensionsIn(file: File): Generator<readonly [string, Field]> {
  yield* extendedFields(file.package, file.extends)
  for (const message of everyMessage(file.messages)) yield* extendedFields(message.fullName, message.extends)
}

function* extendedFields(scope: string, extend: readonly Extend[]): Generator<readonly [string, Field]> {
  for (const { fields } of extend) for (const field of fields) yield [below(scope, field.name), field]
}

export function below(scope: string, name: string): string {
  return scope === '' ? name : `${scope}.${name}`
}

/** `file`, its imports, and what those import publicly. */
export function visibleFiles(file: File, files: ReadonlyMap<string, File>): File[] {
  const seen = new Set([file])
  const rest = file.imports.map(({ path }) => path)
  for (let path = rest.pop(); path !== undefined; path = rest.pop()) {
    const imported = files.get(path)
    if (imported === undefined || seen.has(imported)) continue
    seen.add(imported)
    for (const { path: further, kind } of imported.imports) if (kind === 'public') rest.push(further)
  }
  return [...seen]
}

/**
 * Among which declarations a single name is looked up. The type of a field may have the name of a field in between;
 * extended messages and those of an rpc may not.
 */
export type Among = 'types' | 'all'

/** The type that `name` means in `scope` (the full name of a message, or a package); else why it means no type. */
export function typeNamed(
  name: string,
  scope: string,
  among: Among,
  seen: readonly SymbolTable[],
): Message | Enum | string {
  const found = name.startsWith('.') ? declared(name.slice(1), seen) : scoped(name, scope, among, seen)
  if (found === undefined) return `"${name}" is not defined: expected a message or an enum`
  if (typeof found === 'string') return `"${name}" is no message and no enum`
  return found
}

function scoped(name: string, scope: string, among: Among, seen: readonly SymbolTable[]): Declared | undefined {
  const dot = name.indexOf('.')
  const first = dot < 0 ? name : name.slice(0, dot)
  for (let outer = scope; ; outer = outer.slice(0, Math.max(outer.lastIndexOf('.'), 0))) {
    const found = declared(below(outer, first), seen)
    // A first part looks on past all that has no names below it.
    if (dot < 0) {
      if (found !== undefined && (among === 'all' || typeof found !== 'string')) return found
    } else if (found !== undefined && found !== 'value') return declared(below(outer, name), seen)
    if (outer === '') return found
  }
}

function declared(fullName: string, seen: readonly SymbolTable[]): Declared | undefined {
  let found: Declared | undefined
  for (const table of seen) {
    const declaredHere = table.get(fullName)
    // A package can be in many files, and a name that is a package in one file can be a message in no other one.
    if (declaredHere !== undefined && declaredHere !== 'package') return declaredHere
    found ??= declaredHere
  }
  return found
}
