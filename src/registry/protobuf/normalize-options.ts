// The options of a normalized file: in the order of their names, names of extensions written out, several assignments
// to one message (`(a).b = 1, (a).c = 2`) as one value, numbers in decimal.

import type { Field, Message, Option, OptionEntry, OptionValue, ProtobufSchema } from './model.ts'
import { entryOf } from './model.ts'
import { decimal } from './options-to-json.ts'
import { nameOf } from './print.ts'
import { extensionsIn } from './symbols.ts'

export class OptionNormalizer {
  /** By full name. */
  readonly #extensions: ReadonlyMap<string, Field>

  constructor({ files }: ProtobufSchema) {
    this.#extensions = new Map([...files.values()].flatMap(file => [...extensionsIn(file)]))
  }

  /** `scope` is where names of extensions are looked up from. */
  list(options: readonly Option[], scope: string): Option[] {
    const normal: Option[] = []
    const singular = new Map<string, number>()
    for (const option of options) {
      const { folded, field } = this.#fold(option, scope)
      const name = nameOf(folded)
      const at = singular.get(name)
      const known = at === undefined ? undefined : normal[at]
      if (known === undefined || at === undefined) {
        // Only of an extension that is found it is known that it comes once.
        if (field !== null && !isRepeated(field)) singular.set(name, normal.length)
        normal.push(folded)
      } else normal[at] = { ...known, value: this.#merge(known.value, folded.value, messageOf(field)) }
    }
    const finished = normal.map(option => ({ ...option, value: finish(option.value) }))
    return finished.sort((one, other) => order(nameOf(one), nameOf(other)))
  }

  /** `(a).b = 1` as `(a) = {b: 1}`. An extension that is not found stays as it is. */
  #fold(option: Option, scope: string): { folded: Option; field: Field | null } {
    const [first, ...rest] = option.name
    if (first === undefined || !first.isExtension) return { folded: option, field: null }
    const found = this.#find(first.text, scope)
    if (found === null) return { folded: option, field: null }
    const [fullName, field] = found
    let value = this.#qualified(option.value, scope)
    for (const { text, isExtension } of rest.toReversed()) {
      const name = isExtension ? `[${this.#find(text, scope)?.[0] ?? text}]` : text
      value = { kind: 'message', entries: [{ name, value }] }
    }
    const folded = { name: [{ text: fullName, isExtension: true }], value: this.#settled(value, messageOf(field)) }
    return { folded, field }
  }

  #find(name: string, scope: string): readonly [string, Field] | null {
    if (name.startsWith('.')) return this.#known(name.slice(1))
    for (let outer = scope; ; outer = outer.slice(0, Math.max(outer.lastIndexOf('.'), 0))) {
      const found = this.#known(outer === '' ? name : `${outer}.${name}`)
      if (found !== null || outer === '') return found
    }
  }

  #known(fullName: string): readonly [string, Field] | null {
    const field = this.#extensions.get(fullName)
    return field === undefined ? null : [fullName, field]
  }

  #qualified(value: OptionValue, scope: string): OptionValue {
    if (value.kind === 'list') return { kind: 'list', items: value.items.map(item => this.#qualified(item, scope)) }
    if (value.kind !== 'message') return value
    const entries = value.entries.map(entry => {
      const found = entry.name.startsWith('[') ? this.#find(entry.name.slice(1, -1), scope) : null
      return { name: found === null ? entry.name : `[${found[0]}]`, value: this.#qualified(entry.value, scope) }
    })
    return { kind: 'message', entries }
  }

  /** One entry for each field of the message. */
  #settled(value: OptionValue, type: Message | null): OptionValue {
    if (value.kind === 'list') return { kind: 'list', items: value.items.map(item => this.#settled(item, type)) }
    if (value.kind !== 'message') return value
    const byName = new Map<string, OptionValue>()
    for (const { name, value: inner } of value.entries) {
      const field = this.#member(type, name)
      const settled = this.#settled(inner, messageOf(field))
      const known = byName.get(name)
      byName.set(name, known === undefined ? settled : this.#joined(known, settled, field))
    }
    const entries = [...byName].map(([name, inner]) => ({ name, value: inner }))
    return { kind: 'message', entries: entries.sort((one, other) => order(one.name, other.name)) }
  }

  #merge(one: OptionValue, other: OptionValue, type: Message | null): OptionValue {
    if (one.kind !== 'message' || other.kind !== 'message') return other
    return this.#settled({ kind: 'message', entries: [...one.entries, ...other.entries] }, type)
  }

  /** Values of one member: of a repeated field both, of a message merged, else the last one. */
  #joined(one: OptionValue, other: OptionValue, field: Field | null): OptionValue {
    if (field === null || isRepeated(field)) return { kind: 'list', items: [...itemsOf(one), ...itemsOf(other)] }
    return this.#merge(one, other, messageOf(field))
  }

  #member(type: Message | null, name: string): Field | null {
    if (name.startsWith('[')) return this.#extensions.get(name.slice(1, -1)) ?? null
    return type?.fields.find(field => field.name === name) ?? null
  }
}

function itemsOf(value: OptionValue): readonly OptionValue[] {
  return value.kind === 'list' ? value.items : [value]
}

function isRepeated(field: Field): boolean {
  return field.label === 'repeated' || entryOf(field) !== null
}

function messageOf(field: Field | null): Message | null {
  return field?.target?.kind === 'message' ? field.target : null
}

/** A list of one item is that item, an empty one nothing. */
function finish(value: OptionValue): OptionValue {
  switch (value.kind) {
    case 'number':
      return { kind: 'number', text: numberText(value.text) }
    case 'list':
      return { kind: 'list', items: value.items.map(finish) }
    case 'message':
      return { kind: 'message', entries: value.entries.flatMap(finishEntry) }
    default:
      return value
  }
}

/** Integers keep all digits; `1.50` and `15e-1` are 1.5. */
function numberText(text: string): string {
  const number = decimal(text)
  const value = /^-?\d+$/.test(number) ? Number.NaN : Number(number)
  return Number.isFinite(value) ? String(value) : number
}

function finishEntry({ name, value }: OptionEntry): OptionEntry[] {
  const finished = finish(value)
  if (finished.kind !== 'list') return [{ name, value: finished }]
  const [first, ...rest] = finished.items
  if (first === undefined) return []
  return [{ name, value: rest.length === 0 ? first : finished }]
}

function order(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}
