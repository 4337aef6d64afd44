// Confirmations of changes: the second call of a change must bring the value of the first one. The pending
// confirmations are one document of the store, so that any broker can take one. The document has no value that a client
// could send: only its digest.
//
//   document agent-confirmations, pending   a field for each confirmation, by the SHA-256 of its value: JSON of
//                                           { format, tool, way, arguments, state, pins, expiresAtMs, takenBy }
//
// A confirmation is good once. It is taken before the change is made: the taker writes a name of its own into
// `takenBy` by compare-and-set, so that of two takers only one gets it, even if the store's answer is lost.

import { createHash } from 'node:crypto'
import { changeDocument, type DocumentPlace, type DocumentRooms } from '../store/document-keeper.ts'
import type { DocumentKind } from '../store/document-kinds.ts'
import type { Document } from '../store/store.ts'
import type { NameUnreadable } from '../store/unreadable.ts'
import { digestOf } from './digest.ts'
import type { JsonValue } from './tool.ts'

export interface ConfirmationRooms extends DocumentRooms {
  readonly unreadable: NameUnreadable
}

/** Who brings the value back: the model as an argument, or a client that has asked a person. */
export type Way = 'argument' | 'person'

export interface Change {
  /** The name of the tool. */
  readonly tool: string
  readonly way: Way
  /** The arguments, without `confirm`. */
  readonly args: JsonValue
}

export interface Pending {
  readonly state: string
  readonly pins: JsonValue
}

/** The time in ms for which a confirmation is good, by the system clock of the broker that takes it. */
export const CONFIRM_MS = 5 * 60_000
/** Beyond these the oldest confirmations go. */
const MOST_PENDING = 200
const MOST_BYTES = 1024 * 1024
/** The most bytes of one confirmation. */
const MOST_BYTES_OF_ONE = 128 * 1024
const FORMAT = 1
const KIND: DocumentKind = 'agent-confirmations'
const PLACE: DocumentPlace = { kind: KIND, name: 'pending', what: 'the list of pending confirmations' }
/** A random value has 16 bytes. */
const VALUE = /^[A-Za-z0-9_-]{22}$/

interface Entry extends Pending {
  readonly format: typeof FORMAT
  readonly tool: string
  readonly way: Way
  readonly arguments: string
  readonly expiresAtMs: number
  /** Null until it is taken. */
  readonly takenBy: string | null
}

export class Confirmations {
  readonly #rooms: ConfirmationRooms

  constructor(rooms: ConfirmationRooms) {
    this.#rooms = rooms
  }

  /**
   * Keeps a confirmation and resolves with its value; null if its pins are too large to keep. Throws what the store
   * throws.
   */
  async add(change: Change, { state, pins }: Pending): Promise<string | null> {
    const { clock, random } = this.#rooms
    const value = random.bytes(16).toString('base64url')
    const key = keyOf(value)
    const entry = this.#write({
      ...{ format: FORMAT, tool: change.tool, way: change.way, arguments: digestOf(change.args), state, pins },
      ...{ expiresAtMs: clock.now() + CONFIRM_MS, takenBy: null },
    })
    if (entry.length > MOST_BYTES_OF_ONE) return null
    await changeDocument(this.#rooms, PLACE, now => {
      const changes = [{ key, value: entry }, ...this.#surplus(now, entry.length)]
      return { answer: null, write: { changes, keepMs: 2 * CONFIRM_MS, mayOverfill: true } }
    })
    return value
  }

  /**
   * Takes the confirmation with this value for exactly this change. Resolves with null if the value is altered,
   * unknown, used, expired, or for another change. Throws what the store throws; then it may be taken.
   */
  async take(change: Change, value: string): Promise<Pending | null> {
    if (!VALUE.test(value)) return null
    const { clock, random } = this.#rooms
    const key = keyOf(value)
    const takenBy = random.bytes(16).toString('base64url')
    return await changeDocument<Pending | null>(this.#rooms, PLACE, now => {
      const entry = this.#read(now).get(key)
      const isGood =
        entry !== undefined &&
        entry.takenBy === null &&
        entry.tool === change.tool &&
        entry.way === change.way &&
        entry.arguments === digestOf(change.args) &&
        entry.expiresAtMs > clock.now()
      if (!isGood) return { answer: null }
      const { state, pins } = entry
      // The pins are no longer needed, and a full store must still take the change.
      const changes = [{ key, value: this.#write({ ...entry, pins: null, takenBy }) }]
      return { answer: { state, pins }, write: { changes, keepMs: 2 * CONFIRM_MS, mayOverfill: true } }
    })
  }

  /** Returns the rows that remove what is expired or unreadable, and the oldest beyond the limits. */
  #surplus(now: Document | null, bytesMore: number) {
    const nowMs = this.#rooms.clock.now()
    const entries = this.#read(now)
    const gone: string[] = []
    for (const key of now?.fields.keys() ?? []) {
      const entry = entries.get(key)
      // A taken one stays until it expires. Otherwise a writer with an unknown outcome could not recognise its mark.
      if (entry === undefined || entry.expiresAtMs <= nowMs) gone.push(key)
    }
    const kept = [...entries].filter(([key]) => !gone.includes(key))
    const oldest = kept.toSorted(([, one], [, other]) => one.expiresAtMs - other.expiresAtMs).map(([key]) => key)
    const sizeOf = (key: string) => now!.fields.get(key)!.length
    let bytes = bytesMore + oldest.reduce((sum, key) => sum + sizeOf(key), 0)
    let count = oldest.length + 1
    for (const key of oldest) {
      if (count <= MOST_PENDING && bytes <= MOST_BYTES) break
      gone.push(key)
      bytes -= sizeOf(key)
      count--
    }
    return gone.map(key => ({ key, value: null }))
  }

  #write(entry: Entry): Buffer {
    return Buffer.from(JSON.stringify(entry))
  }

  /** Returns the entries by their keys. One that cannot be read is named and left out. */
  #read(now: Document | null): ReadonlyMap<string, Entry> {
    const entries = new Map<string, Entry>()
    for (const [key, bytes] of now?.fields ?? []) {
      const entry = parse(bytes)
      if (entry !== null) entries.set(key, entry)
      else
        this.#rooms.unreadable({
          kind: KIND,
          what: 'a pending confirmation of a change by an agent',
          why: 'it has another form',
          result: 'it confirms nothing, and the next confirmation removes it',
        })
    }
    return entries
  }
}

function keyOf(value: string): string {
  return createHash('sha256').update(value).digest('base64url')
}

function parse(bytes: Uint8Array): Entry | null {
  try {
    const found = JSON.parse(Buffer.from(bytes).toString()) as Partial<Entry> | null
    const isEntry =
      found?.format === FORMAT &&
      [found.tool, found.way, found.arguments, found.state].every(each => typeof each === 'string') &&
      typeof found.expiresAtMs === 'number' &&
      (found.takenBy === null || typeof found.takenBy === 'string') &&
      found.pins !== undefined
    return isEntry ? (found as Entry) : null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
