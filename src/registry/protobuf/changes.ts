// The changes between two schemas, in the order in which they are found. A field whose message is imported needs the
// comparison of that message. Such pairs of messages are compared once each, and not in each other: chains of imports
// may be long, and messages may hold themselves.

import type { File, Message } from './model.ts'

/** Confluent's words; true for changes that every reader can bear. */
const COMPATIBLE = {
  PACKAGE_CHANGED: false,
  MESSAGE_ADDED: true,
  MESSAGE_MOVED: true,
  MESSAGE_REMOVED: false,
  ENUM_ADDED: true,
  ENUM_REMOVED: true,
  ENUM_CONST_ADDED: true,
  ENUM_CONST_CHANGED: true,
  ENUM_CONST_REMOVED: true,
  FIELD_ADDED: true,
  FIELD_REMOVED: true,
  FIELD_NAME_CHANGED: true,
  FIELD_KIND_CHANGED: false,
  FIELD_SCALAR_KIND_CHANGED: false,
  FIELD_NAMED_TYPE_CHANGED: false,
  FIELD_NUMERIC_LABEL_CHANGED: false,
  FIELD_STRING_OR_BYTES_LABEL_CHANGED: true,
  REQUIRED_FIELD_ADDED: false,
  REQUIRED_FIELD_REMOVED: false,
  ONEOF_ADDED: true,
  ONEOF_REMOVED: true,
  ONEOF_FIELD_ADDED: true,
  ONEOF_FIELD_REMOVED: false,
  ONEOF_FIELD_MOVED_TO_TOP_LEVEL: true,
  MULTIPLE_FIELDS_MOVED_TO_ONEOF: false,
  FIELD_MOVED_TO_EXISTING_ONEOF: false,
} as const
export type ChangeType = keyof typeof COMPATIBLE

export interface Change {
  readonly type: ChangeType
  readonly path: string
  readonly description: string
  readonly isCompatible: boolean
}

/** Two imported messages: what differs in them, and the fields whose types are further pairs. */
interface MessagePair {
  readonly writer: Message
  readonly reader: Message
  readonly found: Found[]
  readonly neededBy: MessagePair[]
  isIncompatible: boolean
  isListed: boolean
}

/** A change, or a field whose imported type decides. */
type Found = Change | { readonly pair: MessagePair; readonly path: string; readonly description: string }

type CompareMessages = (list: ChangeList, writer: Message, reader: Message, path: string) => void

export class ChangeList {
  readonly #writer: File
  readonly #reader: File
  readonly #compare: CompareMessages
  readonly #pairs = new Map<Message, Map<Message, MessagePair>>()
  readonly #open: MessagePair[] = []
  readonly #root: Found[] = []
  #current: Found[] = this.#root
  #currentPair: MessagePair | null = null

  constructor(writer: File, reader: File, compare: CompareMessages) {
    this.#writer = writer
    this.#reader = reader
    this.#compare = compare
  }

  add(type: ChangeType, path: string, description: string): void {
    this.#current.push({ type, path, description, isCompatible: COMPATIBLE[type] })
  }

  /** The field at `path` has these messages as its types. Those of the two files themselves are compared anyway. */
  addPair(writer: Message, reader: Message, path: string, description: string): void {
    if (writer === reader || (writer.file === this.#writer && reader.file === this.#reader)) return
    const byReader = this.#pairs.get(writer) ?? new Map<Message, MessagePair>()
    this.#pairs.set(writer, byReader)
    let pair = byReader.get(reader)
    if (pair === undefined) {
      pair = { writer, reader, found: [], neededBy: [], isIncompatible: false, isListed: false }
      byReader.set(reader, pair)
      this.#open.push(pair)
    }
    if (this.#currentPair !== null) pair.neededBy.push(this.#currentPair)
    this.#current.push({ pair, path, description })
  }

  finish(): Change[] {
    for (let pair = this.#open.pop(); pair !== undefined; pair = this.#open.pop()) {
      this.#current = pair.found
      this.#currentPair = pair
      this.#compare(this, pair.writer, pair.reader, `#/${localName(pair.writer).replaceAll('.', '/')}`)
    }
    this.#spread()
    return this.#listed()
  }

  /** A message is incompatible if one of its fields is, or the type of one of its fields. */
  #spread(): void {
    const rest: MessagePair[] = []
    for (const byReader of this.#pairs.values()) {
      for (const pair of byReader.values()) {
        if (pair.found.some(found => 'type' in found && !found.isCompatible)) rest.push(pair)
      }
    }
    for (let pair = rest.pop(); pair !== undefined; pair = rest.pop()) {
      if (pair.isIncompatible) continue
      pair.isIncompatible = true
      rest.push(...pair.neededBy)
    }
  }

  /** In order; the changes of a pair stand where a field first needs it. */
  #listed(): Change[] {
    const changes: Change[] = []
    const stack: { found: readonly Found[]; at: number }[] = [{ found: this.#root, at: 0 }]
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const next = top.found[top.at]
      if (next === undefined) stack.pop()
      else if ('type' in next) {
        changes.push(next)
        top.at++
      } else if (!next.pair.isListed) {
        next.pair.isListed = true
        stack.push({ found: next.pair.found, at: 0 })
      } else {
        const { path, description } = next
        if (next.pair.isIncompatible) {
          changes.push({ type: 'FIELD_NAMED_TYPE_CHANGED', path, description, isCompatible: false })
        }
        top.at++
      }
    }
    return changes
  }
}

/** The path of the message in its file: its full name without the package. */
export function localName({ fullName, file }: Pick<Message, 'fullName' | 'file'>): string {
  return file.package === '' ? fullName : fullName.slice(file.package.length + 1)
}
