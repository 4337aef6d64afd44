// Finds what the names of a file mean: the message or the enum that each type names.

import type { Strictness } from '../format.ts'
import { InvalidSchema } from '../format.ts'
import type { Enum, Field, File, Message } from './model.ts'
import { everyMessage, isScalar } from './model.ts'
import type { Among, SymbolTable } from './symbols.ts'
import { symbolsOf, typeNamed, visibleFiles } from './symbols.ts'

/** Sets the targets of the names in `file`. With `stored`, a name that means nothing stays open. */
export function linkFile(file: File, files: ReadonlyMap<string, File>, strictness: Strictness): void {
  const seen = visibleFiles(file, files)
  const linker = new Linker(seen.map(symbolsOf), symbolsOf(file), files, strictness)
  for (const message of everyMessage(file.messages)) linker.message(message)
  for (const extend of file.extends) {
    extend.target = linker.messageNamed(extend.extendee, file.package, `The extend block of "${extend.extendee}"`)
    for (const field of extend.fields) linker.field(field, file.package, `The extension "${field.name}"`)
  }
  for (const { fullName, methods } of file.services) {
    for (const method of methods) {
      const place = `The rpc "${fullName}.${method.name}"`
      method.requestTarget = linker.messageNamed(method.request, fullName, place)
      method.responseTarget = linker.messageNamed(method.response, fullName, place)
    }
  }
}

class Linker {
  readonly #seen: readonly SymbolTable[]
  readonly #own: SymbolTable
  readonly #files: ReadonlyMap<string, File>
  readonly #strictness: Strictness

  constructor(
    seen: readonly SymbolTable[],
    own: SymbolTable,
    files: ReadonlyMap<string, File>,
    strictness: Strictness,
  ) {
    this.#seen = seen
    this.#own = own
    this.#files = files
    this.#strictness = strictness
  }

  message(message: Message): void {
    for (const field of message.fields) {
      this.field(field, message.fullName, `The field "${field.name}" of "${message.fullName}"`)
    }
    for (const extend of message.extends) {
      const place = `The extend block of "${extend.extendee}" in "${message.fullName}"`
      extend.target = this.messageNamed(extend.extendee, message.fullName, place)
      for (const field of extend.fields) this.field(field, message.fullName, `${place}, field "${field.name}"`)
    }
  }

  field(field: Field, scope: string, place: string): void {
    if (field.target !== null || (field.form === 'plain' && isScalar(field.type))) return
    field.target = this.#type(field.type, scope, 'types', place)
  }

  messageNamed(name: string, scope: string, place: string): Message | null {
    const type = this.#type(name, scope, 'all', place)
    if (type === null || type.kind === 'message') return type
    if (this.#strictness === 'stored') return null
    throw new InvalidSchema(`${place} needs a message, and "${name}" is an enum`)
  }

  #type(name: string, scope: string, among: Among, place: string): Message | Enum | null {
    const found = typeNamed(name, scope, among, this.#seen)
    if (typeof found !== 'string') return found
    if (this.#strictness === 'stored') return this.#anywhere(name, scope, among)
    throw new InvalidSchema(`${place}: ${this.#unseen(name, scope, among) ?? found}`)
  }

  /** A stored schema may use what an import of an import declares. */
  #anywhere(name: string, scope: string, among: Among): Message | Enum | null {
    const found = typeNamed(name, scope, among, [this.#own, ...[...this.#files.values()].map(symbolsOf)])
    return typeof found === 'string' ? null : found
  }

  #unseen(name: string, scope: string, among: Among): string | null {
    const found = this.#anywhere(name, scope, among)
    return found === null
      ? null
      : `"${name}" is defined in "${found.file.path}": expected an import of that file, or a public import of it`
  }
}
