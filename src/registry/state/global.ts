// The level, the configuration and the mode of all subjects that have none of their own: one document, of the form of a
// subject without versions.
//
//   document schemas, global   the fields `head`, `config` and `mode` (subject.ts)

import { coalesce } from '../../base/coalesce.ts'
import { changeDocument } from '../../store/document-keeper.ts'
import type { DocumentKind } from '../../store/document-kinds.ts'
import { type Document, UnreadableDocument } from '../../store/store.ts'
import { UNNAMED } from '../../store/unreadable.ts'
import type { StateRooms } from './rooms.ts'
import { rowsBetween, type Subject, subjectOf } from './subject.ts'
import type { SubjectChange } from './subjects.ts'

const KIND: DocumentKind = 'schemas'
const NAME = 'global'
const WHAT = 'the global level and mode of schemas'

export class GlobalSettings {
  readonly #rooms: StateRooms
  #kept: Subject | UnreadableDocument | null = null
  #version = -1
  /** The number of changes that this broker has made. A load that began before the last one is not kept. */
  #changes = 0
  /** Resolves when the memory is as new as the store was at the call. Throws what the store throws. */
  readonly follow = coalesce(() => this.#follow())

  constructor(rooms: StateRooms) {
    this.#rooms = rooms
  }

  /** Returns the settings from memory; undefined if they must be loaded first. Throws UnreadableDocument. */
  now(): Subject | undefined {
    if (this.#kept instanceof UnreadableDocument) throw this.#kept
    return this.#kept ?? undefined
  }

  /** Resolves with the settings as the store has them now. Throws what the store throws, or UnreadableDocument. */
  async fresh(): Promise<Subject> {
    if (this.#rooms.isShared || this.#kept === null) await this.follow()
    return this.now()!
  }

  /** Calls `decide` for the change, and again if another broker was faster. */
  async change<Answer>(decide: (now: Subject) => SubjectChange<Answer>): Promise<Answer> {
    const place = { kind: KIND, name: NAME, what: WHAT }
    try {
      return await changeDocument<Answer>(this.#rooms, place, document => {
        const now = this.#read(document)
        if (now instanceof UnreadableDocument) throw now
        const { answer, after } = decide(now)
        if (after === undefined) return { answer }
        const rows = rowsBetween(now, after)
        const write = rows === null ? { remove: true } : { changes: rows }
        return { answer, write: { ...write, isAcknowledged: true, isSynced: true } }
      })
    } finally {
      this.#changes++
      this.#version = -1
      this.#kept = null
    }
  }

  async #follow(): Promise<void> {
    for (;;) {
      const changes = this.#changes
      const version = await this.#rooms.store.version(KIND, NAME)
      if (version === this.#version) return
      const document = version === 0 ? null : await this.#rooms.store.load(KIND, NAME)
      if (changes !== this.#changes) continue
      this.#kept = this.#read(document)
      this.#version = document?.version ?? 0
      return
    }
  }

  #read(document: Document | null): Subject | UnreadableDocument {
    try {
      return subjectOf(NAME, document, WHAT)
    } catch (why) {
      if (!(why instanceof UnreadableDocument)) throw why
      const result = 'no schema can be registered or checked until it is repaired or deleted'
      ;(this.#rooms.unreadable ?? UNNAMED)({ kind: KIND, what: WHAT, why: why.cause ?? why, result })
      return why
    }
  }
}
