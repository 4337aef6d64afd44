// The form of a schema in which payloads are judged, decoded and made. It is plain data, so that a thread can make it
// for another one.
//
// `code` is for the walker. Types that take no bytes have no code, a record that stands in another one is called:
//
//   END                       the end of a record, and of the payload
//   BOOLEAN, INT, LONG, BYTES, STRING
//   SKIP n                    float, double, fixed: any n bytes are valid
//   ENUM n                    n symbols
//   UNION n a1 .. an          goes on at the address of the branch
//   JUMP a                    the end of a branch
//   LOOP a  body  NEXT        array or map; behind it comes the code at a. The body of a map begins with its key
//   EMPTIES                   an array of items that take no bytes
//   CALL a                    a record
//
// `nodes` is for people. A node is its kind, then:
//
//   array, map                node
//   union                     n, n × (node, text of its name)
//   record                    text of its name, n, n × (text of the field's name, node, text of its default or -1)
//   enum                      text of its name, n, n × text of the symbol
//   fixed                     text of its name, size

import { jsonOf } from './java-text.ts'
import { type AvroSchema, type AvroType, isEmpty, isNamed, nameOf, type RecordType } from './schema-model.ts'

export interface AvroProgram {
  readonly code: Int32Array
  /** For each word of the code that begins an instruction: the text of the field, or -1. */
  readonly places: Int32Array
  readonly nodes: Int32Array
  readonly texts: readonly string[]
}

export const END = 0
export const BOOLEAN = 1
export const INT = 2
export const LONG = 3
export const SKIP = 4
export const BYTES = 5
export const STRING = 6
export const ENUM = 7
export const UNION = 8
export const JUMP = 9
export const LOOP = 10
export const NEXT = 11
export const EMPTIES = 12
export const CALL = 13

/** The kinds of nodes. */
export const KINDS = Object.freeze({
  ...{ null: 0, boolean: 1, int: 2, long: 3, float: 4, double: 5, bytes: 6, string: 7 },
  ...{ array: 8, map: 9, union: 10, record: 11, enum: 12, fixed: 13 },
} satisfies Readonly<Record<AvroType['kind'], number>>)

export function compileSchema({ root }: AvroSchema): AvroProgram {
  const texts = new Texts()
  const coder = new Coder(texts)
  coder.whole(root)
  return { code: Int32Array.from(coder.code), places: placesOf(coder), nodes: nodesOf(root, texts), texts: texts.all }
}

/** Each text once. */
class Texts {
  readonly all: string[] = []
  readonly #numbers = new Map<string, number>()

  numberOf(text: string): number {
    let number = this.#numbers.get(text)
    if (number === undefined) {
      number = this.all.push(text) - 1
      this.#numbers.set(text, number)
    }
    return number
  }
}

function placesOf({ code, places }: Coder): Int32Array {
  const table = new Int32Array(code.length).fill(-1)
  for (const [address, text] of places) table[address] = text
  return table
}

class Coder {
  readonly code: number[] = []
  readonly places = new Map<number, number>()
  readonly #texts: Texts
  readonly #addresses = new Map<RecordType, number>()
  /** CALLs whose record has no code yet. */
  readonly #open: { readonly at: number; readonly record: RecordType }[] = []

  constructor(texts: Texts) {
    this.#texts = texts
  }

  whole(root: AvroType): void {
    if (root.kind === 'record') this.#body(root)
    else {
      this.#type(root, '')
      this.code.push(END)
    }
    for (let open = this.#open.pop(); open !== undefined; open = this.#open.pop()) {
      if (!this.#addresses.has(open.record)) this.#body(open.record)
      this.code[open.at] = this.#addresses.get(open.record)!
    }
  }

  #body(record: RecordType): void {
    this.#addresses.set(record, this.code.length)
    for (const field of record.fields!) this.#type(field.type, field.name)
    this.code.push(END)
  }

  /** Adds an instruction. `place` is the way from the record to the value: `lines[]`. */
  #emit(place: string, ...words: readonly number[]): number {
    const at = this.code.length
    if (place !== '') this.places.set(at, this.#texts.numberOf(place))
    for (const word of words) this.code.push(word)
    return at
  }

  #type(type: AvroType, place: string): void {
    if (isEmpty(type)) return
    switch (type.kind) {
      case 'boolean':
        this.#emit(place, BOOLEAN)
        return
      case 'int':
        this.#emit(place, INT)
        return
      case 'long':
        this.#emit(place, LONG)
        return
      case 'float':
        this.#emit(place, SKIP, 4)
        return
      case 'double':
        this.#emit(place, SKIP, 8)
        return
      case 'fixed':
        this.#emit(place, SKIP, type.size)
        return
      case 'bytes':
        this.#emit(place, BYTES)
        return
      case 'string':
        this.#emit(place, STRING)
        return
      case 'enum':
        this.#emit(place, ENUM, type.symbols.length)
        return
      case 'record':
        this.#open.push({ at: this.#emit(place, CALL, 0) + 1, record: type })
        return
      case 'union':
        this.#union(type.branches, place)
        return
      case 'array':
        if (isEmpty(type.items)) this.#emit(place, EMPTIES)
        else this.#loop(place, () => this.#type(type.items, `${place}[]`))
        return
      case 'map':
        this.#loop(place, () => {
          this.#emit(`${place}[] (the key)`, STRING)
          this.#type(type.values, `${place}[]`)
        })
        return
      default:
        return
    }
  }

  #loop(place: string, body: () => void): void {
    const at = this.#emit(place, LOOP, 0)
    body()
    this.#emit(place, NEXT)
    this.code[at + 1] = this.code.length
  }

  #union(branches: readonly AvroType[], place: string): void {
    const at = this.#emit(place, UNION, branches.length)
    for (let i = 0; i < branches.length; i++) this.code.push(0)
    const jumps: number[] = []
    for (const [i, branch] of branches.entries()) {
      this.code[at + 2 + i] = isEmpty(branch) ? -1 : this.code.length
      if (isEmpty(branch)) continue
      this.#type(branch, place)
      jumps.push(this.#emit('', JUMP, 0) + 1)
    }
    for (const jump of jumps) this.code[jump] = this.code.length
    for (let i = at + 2; i < at + 2 + branches.length; i++) if (this.code[i] === -1) this.code[i] = this.code.length
  }
}

/** A node stands at 0 for the root. */
function nodesOf(root: AvroType, texts: Texts): Int32Array {
  const nodes: number[] = []
  const addresses = new Map<AvroType | string, number>()
  /** Words that wait for the address of their type. */
  const open: { readonly at: number; readonly type: AvroType }[] = []
  const child = (type: AvroType): number => {
    open.push({ at: nodes.length, type })
    return 0
  }
  const write = (type: AvroType) => {
    addresses.set(keyOf(type), nodes.length)
    nodes.push(KINDS[type.kind])
    switch (type.kind) {
      case 'array':
        nodes.push(child(type.items))
        return
      case 'map':
        nodes.push(child(type.values))
        return
      case 'union':
        nodes.push(type.branches.length)
        for (const branch of type.branches) {
          nodes.push(child(branch))
          nodes.push(texts.numberOf(nameOf(branch)))
        }
        return
      case 'record':
        nodes.push(texts.numberOf(type.name.full), type.fields!.length)
        for (const field of type.fields!) {
          nodes.push(texts.numberOf(field.name))
          nodes.push(child(field.type))
          nodes.push(field.default === undefined ? -1 : texts.numberOf(jsonOf(field.default)))
        }
        return
      case 'enum':
        nodes.push(texts.numberOf(type.name.full), type.symbols.length)
        for (const symbol of type.symbols) nodes.push(texts.numberOf(symbol))
        return
      case 'fixed':
        nodes.push(texts.numberOf(type.name.full), type.size)
        return
      default:
        return
    }
  }
  write(root)
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (!addresses.has(keyOf(next.type))) write(next.type)
    nodes[next.at] = addresses.get(keyOf(next.type))!
  }
  return Int32Array.from(nodes)
}

/** All primitives of a kind are one node. */
const keyOf = (type: AvroType): AvroType | string =>
  isNamed(type) || type.kind === 'array' || type.kind === 'map' || type.kind === 'union' ? type : type.kind
