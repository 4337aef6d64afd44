// Compares a declared message with Kafka's definition of it, version by version and field by field. It compares the
// layouts of a version, so a field may be declared in another way and still be equal. It does not compare entity
// names, documentation, and the behaviour of Kafka's classes for fields that a version lacks (`ignorable`).

import {
  type Api,
  inRange,
  isFlexible,
  type Kind,
  layout,
  type Message,
  OPEN,
  type Slot,
  ZERO_UUID,
} from '../../src/protocol/schema.ts'

/** A file of common/message in Kafka's client jar. The README there describes its words. */
export interface Definition {
  readonly name: string
  readonly type: string
  readonly apiKey?: number
  readonly validVersions: string
  readonly flexibleVersions: string
  readonly latestVersionUnstable?: boolean
  readonly commonStructs?: readonly { readonly name: string; readonly fields: readonly DefinedField[] }[]
  readonly fields: readonly DefinedField[]
}

interface DefinedField {
  readonly name: string
  readonly type: string
  readonly versions: string
  readonly nullableVersions?: string
  readonly taggedVersions?: string
  readonly tag?: number
  readonly default?: string | number | boolean
  readonly fields?: readonly DefinedField[]
}

/** Returns the differences as sentences that name the message, the versions and the field. */
export function compareApi(api: Api, all: ReadonlyMap<string, Definition>): string[] {
  return [api.request, api.response].flatMap(message => {
    const key = all.get(message.name)?.apiKey
    const wrongKey =
      key === undefined || key === api.key ? [] : [`${message.name}: key ${api.key} here, ${key} in Kafka`]
    return [...wrongKey, ...compareMessage(message, all)]
  })
}

export function compareMessage(message: Message, all: ReadonlyMap<string, Definition>): string[] {
  const definition = all.get(message.name)
  if (definition === undefined) return [`${message.name}: Kafka has no such message`]
  const valid = readRange(definition.validVersions)
  /** The versions of each difference. */
  const differences = new Map<string, number[]>()
  for (let version = message.versions.min; version <= message.versions.max; version++) {
    const found = inRange(valid, version)
      ? compareVersion(message, definition, version)
      : ['the version is here and not in Kafka']
    if (definition.latestVersionUnstable === true && version === valid.max)
      found.push('the version is unstable in Kafka')
    for (const difference of found) differences.set(difference, [...(differences.get(difference) ?? []), version])
  }
  return [...differences].map(([difference, versions]) => `${message.name} ${sayVersions(versions)}: ${difference}`)
}

/** One field in one version, in a form that both sides are converted to. */
interface Line {
  readonly path: string
  readonly isPresent: boolean
  /** The type on the wire. */
  readonly wire: string
  readonly fallback: string
}

function compareVersion(message: Message, definition: Definition, version: number): string[] {
  const found: string[] = []
  const say = (what: string, here: unknown, there: unknown) => {
    if (here !== there) found.push(`${what} ${here} here, ${there} in Kafka`)
  }
  const isFlexibleThere = inRange(readRange(definition.flexibleVersions), version)
  say('flexible:', isFlexible(message, version), isFlexibleThere)
  const here = layout(message, version).flatMap(slot => linesOfSlot(slot, slot.present))
  const there = linesOfFields(definition.fields, definition, version, '', true)
  const byPath = new Map(there.map(line => [line.path, line]))
  for (const line of here) {
    const other = byPath.get(line.path)
    say(`${line.path}:`, line.isPresent ? line.wire : 'absent', other?.isPresent ? other.wire : 'absent')
    if (other !== undefined) say(`${line.path}: the default is`, line.fallback, other.fallback)
  }
  const declared = new Set(here.map(line => line.path))
  for (const { path, wire, isPresent } of there) if (isPresent && !declared.has(path)) say(`${path}:`, 'absent', wire)
  if (found.length === 0) say('the order of fields is', orderOf(here), orderOf(there))
  return found
}

function orderOf(lines: readonly Line[]): string {
  const present = lines.filter(line => line.isPresent)
  return present.map(line => line.path).join(' ')
}

function linesOfSlot(slot: Slot, isPresent: boolean): Line[] {
  const inner = slot.element ?? slot
  const wire = wireOf(slot.element === null ? slot.kind : `array of ${nullableOf(inner)}`, slot.nullable, slot.tag)
  const line = { path: slot.path, isPresent, wire, fallback: sayFallback(slot.fallback) }
  return [line, ...(inner.slots ?? []).flatMap(each => linesOfSlot(each, isPresent && each.present))]
}

function nullableOf(element: Slot): string {
  return element.nullable ? `nullable ${element.kind}` : element.kind
}

function wireOf(kind: string, isNullable: boolean, tag: number | null): string {
  return `${isNullable ? 'nullable ' : ''}${kind}${tag === null ? '' : ` with tag ${tag}`}`
}

function linesOfFields(
  fields: readonly DefinedField[],
  definition: Definition,
  version: number,
  prefix: string,
  isInside: boolean,
): Line[] {
  const tagOf = (field: DefinedField) =>
    field.taggedVersions !== undefined && inRange(readRange(field.taggedVersions), version) ? field.tag! : null
  const plain = fields.filter(field => tagOf(field) === null)
  const tags = fields.filter(field => tagOf(field) !== null).sort((a, b) => a.tag! - b.tag!)
  return [...plain, ...tags].flatMap(field => {
    const path = prefix + field.name[0]!.toLowerCase() + field.name.slice(1)
    const isArray = field.type.startsWith('[]')
    const word = isArray ? field.type.slice(2) : field.type
    const inner = field.fields ?? definition.commonStructs?.find(each => each.name === word)?.fields
    const kind = inner === undefined ? word : 'struct'
    const isPresent = isInside && inRange(readRange(field.versions), version)
    const isNullable = field.nullableVersions !== undefined && inRange(readRange(field.nullableVersions), version)
    const line = {
      path,
      isPresent,
      wire: wireOf(isArray ? `array of ${kind}` : kind, isNullable, tagOf(field)),
      fallback: sayFallback(fallbackOf((isArray ? 'array' : kind) as Kind, field.default)),
    }
    return [line, ...linesOfFields(inner ?? [], definition, version, `${path}.`, isPresent)]
  })
}

/** Returns the default of Kafka's FieldSpec#fieldDefault as a value of ours. */
function fallbackOf(kind: Kind, written: DefinedField['default']): unknown {
  const text = String(written ?? '')
  switch (kind) {
    case 'string':
      return text === 'null' ? null : text
    case 'bool':
      return text === 'true'
    case 'uuid':
      return text === '' ? ZERO_UUID : text
    case 'records':
      return null
    case 'bytes':
    case 'array':
      return text === 'null' ? null : []
    case 'struct':
      return text === 'null' ? null : undefined
    default:
      return Number(text)
  }
}

function sayFallback(value: unknown): string {
  if (value === undefined) return 'that of its fields'
  if (Array.isArray(value) || Buffer.isBuffer(value)) return 'empty'
  return JSON.stringify(value)
}

/** Parses '0-3', '2+', '5' or 'none'. */
function readRange(text: string): { readonly min: number; readonly max: number } {
  if (text === 'none') return { min: 0, max: -1 }
  const [min = '', max] = text.split(/[-+]/)
  return { min: Number(min), max: max === undefined ? Number(min) : max === '' ? OPEN : Number(max) }
}

/** Returns '3-5, 7' for [3, 4, 5, 7]. */
function sayVersions(versions: readonly number[]): string {
  const runs: [number, number][] = []
  for (const version of versions) {
    const last = runs.at(-1)
    if (last !== undefined && last[1] === version - 1) last[1] = version
    else runs.push([version, version])
  }
  return runs.map(([min, max]) => (min === max ? `${min}` : `${min}-${max}`)).join(', ')
}
