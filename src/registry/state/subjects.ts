// The subjects as this broker knows them: loaded when they are needed, followed through notices, and changed by
// compare-and-set. Look-ups of clients compare the version in the store first, so that they see what any broker has
// answered. Only the judge of produced records trusts the memory (state.ts).

import { assert } from '../../base/assert.ts'
import { BoundedCache } from '../../base/bounded-cache.ts'
import { coalesce } from '../../base/coalesce.ts'
import { workInTurn } from '../../base/in-turn.ts'
import { aFewInSharedTurns } from '../../base/shared-turns.ts'
import { changeDocument } from '../../store/document-keeper.ts'
import type { DocumentKind } from '../../store/document-kinds.ts'
import { type Document, isStoreFailure, type Row, UnreadableDocument } from '../../store/store.ts'
import { UNNAMED } from '../../store/unreadable.ts'
import type { Notices } from './notices.ts'
import type { StateRooms } from './rooms.ts'
import { rowsBetween, type Subject, subjectBytes, subjectOf } from './subject.ts'

const KIND: DocumentKind = 'schema-subject'
/** Of the subjects that are all read. */
const LOADED_AT_ONCE = 64

/** A writer whose notice is older has given up, or has written a new one (GIVE_UP_MS of contention.ts). */
const SETTLED_MS = 30_000

/** The stored subject cannot be read. */
interface Unreadable {
  readonly name: string
  readonly documentVersion: number
  readonly why: UnreadableDocument
}
type Kept = Subject | Unreadable

/** A load that is outdated may have seen the subject before a change, and is not kept. */
interface Load {
  readonly startedAt: number
  isOutdated: boolean
}

export interface SubjectChange<Answer> {
  readonly answer: Answer
  /** Absent: nothing is written. */
  readonly after?: Subject
}

export interface SubjectFollower {
  /** Called with each subject that was loaded. */
  changed(subject: Subject): void
  /** Called when any subject may have changed. */
  forget(): void
  /** Returns the version of the subject's document as it is known, 0 for none; undefined if it is not known. */
  versionOf(name: string): number | undefined
  /** Returns the subject as it is held, of whatever version. */
  held(name: string): Subject | undefined
}

export class Subjects {
  readonly #rooms: StateRooms
  readonly #notices: Notices
  readonly #kept: BoundedCache<string, { readonly read: Kept; readonly startedAt: number }>
  /** The number of loads that were started. */
  #loads = 0
  readonly #loading = new Map<string, Set<Load>>()
  /** Changes of one subject are made one after the other, so that they do not compete with each other. */
  readonly #turns = new Map<string, { readonly inTurn: ReturnType<typeof workInTurn>; waiting: number }>()
  /** Announced subjects, and until when (monotonic) each may still change without another notice. */
  readonly #unsettled = new Map<string, number>()
  /** Follows the same subjects (subject-index.ts). */
  follower: SubjectFollower | null = null
  /**
   * Follows the notices of other brokers. Resolves when the memory is as new as the store was at the call. Throws what
   * the store throws.
   */
  readonly follow = coalesce(() => this.#follow())

  constructor(rooms: StateRooms, notices: Notices, mostBytes: number) {
    this.#rooms = rooms
    this.#notices = notices
    this.#kept = new BoundedCache(mostBytes, ({ read }) => ('why' in read ? 1_000 : subjectBytes(read)))
  }

  get bytes(): number {
    return this.#kept.bytes
  }

  /**
   * Returns the subject from memory, as of the last call of follow(); undefined if it is not there. Throws
   * UnreadableDocument.
   */
  now(name: string): Subject | undefined {
    const kept = this.#kept.get(name)
    return kept === undefined ? undefined : readable(kept.read)
  }

  /** Resolves with the subject as the store has it now. Throws what the store throws, or UnreadableDocument. */
  async fresh(name: string): Promise<Subject> {
    const kept = this.#kept.get(name)
    if (kept !== undefined) {
      if (!this.#rooms.isShared) return readable(kept.read)
      const version = await this.#rooms.store.version(KIND, name)
      const now = this.#kept.peek(name)
      if (now !== undefined && now.read.documentVersion === version) return readable(now.read)
    }
    return readable(await this.#load(name))
  }

  /**
   * Calls `decide` for the change of a subject, and again if another broker was faster. Other brokers are told first.
   * Resolves when the store has the change. Throws what the store and `decide` throw.
   */
  async change<Answer>(
    name: string,
    decide: (now: Subject) => Promise<SubjectChange<Answer>> | SubjectChange<Answer>,
  ): Promise<Answer> {
    return await this.#turnOf(name, async () => {
      let isWritten = false
      try {
        const place = { kind: KIND, name, what: 'a schema subject' }
        return await changeDocument<Answer>(this.#rooms, place, async document => {
          const now = readable(this.#read(name, document))
          const { answer, after } = await decide(now)
          if (after === undefined) return { answer }
          assert(after.name === name, 'a change keeps the name of the subject')
          await this.#notices.announce(name)
          isWritten = true
          const rows = rowsBetween(now, after)
          const write = rows === null ? { remove: true } : { changes: rows }
          return { answer, write: { ...write, isAcknowledged: true, isSynced: true } }
        })
      } finally {
        if (isWritten) await this.#readAgain(name)
      }
    })
  }

  /**
   * Changes the document of a subject, but nothing that other brokers or the judge must know. Calls `decide` again if
   * another writer was faster; it competes with `change` on this broker too, so a change may wait for it. `line` names
   * those that wait for each other.
   */
  async changeBeside<Answer>(
    name: string,
    line: string,
    decide: (now: Subject) => { readonly answer: Answer; readonly rows?: readonly Row[] },
  ): Promise<Answer> {
    // No subject has such a name, so that the turns of `change` are others.
    return await this.#turnOf(`\0${line}\0${name}`, async () => {
      let isWritten = false
      try {
        return await changeDocument<Answer>(this.#rooms, { kind: KIND, name, what: 'a schema subject' }, document => {
          const { answer, rows } = decide(readable(this.#read(name, document)))
          if (rows === undefined) return { answer }
          isWritten = true
          return { answer, write: { changes: rows, isAcknowledged: true } }
        })
      } finally {
        if (isWritten) await this.#readAgain(name)
      }
    })
  }

  async #readAgain(name: string): Promise<void> {
    this.#kept.delete(name)
    outdate(this.#loading.get(name))
    await this.#load(name).catch(leaveToNextLook)
  }

  /**
   * Calls `visit` with every subject, in turns, so that ten thousand of them do not hold the event loop and are not in
   * memory twice. Those that cannot be read are left out.
   */
  async all(visit: (subject: Subject) => void): Promise<void> {
    const { store, clock } = this.#rooms
    const names = await store.names(KIND)
    await aFewInSharedTurns(clock, LOADED_AT_ONCE)(names, async name => {
      const read = this.#readKnown(name, await store.load(KIND, name).catch(unreadable))
      if (!('why' in read) && read.documentVersion > 0) visit(read)
    })
  }

  async #follow(): Promise<void> {
    const { clock, isShared } = this.#rooms
    if (!isShared) return
    const beganAtMs = clock.monotonic()
    const { subjects, isWhole } = await this.#notices.next()
    if (!isWhole) this.forget()
    for (const name of subjects) this.#unsettled.set(name, beganAtMs + SETTLED_MS)
    for (const [name, untilMs] of this.#unsettled) if (untilMs <= beganAtMs) this.#unsettled.delete(name)
    await Promise.all([...this.#unsettled.keys()].map(name => this.#verify(name)))
  }

  /** Forgets every subject, because the memory may differ from the store. */
  forget(): void {
    this.#kept.clear()
    for (const loads of this.#loading.values()) outdate(loads)
    this.follower?.forget()
  }

  /** Compares what is known of an announced subject with the store. */
  async #verify(name: string): Promise<void> {
    const known = () => [this.#kept.peek(name)?.read.documentVersion, this.follower?.versionOf(name)]
    if (known().every(each => each === undefined)) return
    const version = await this.#rooms.store.version(KIND, name)
    if (known().some(each => each !== undefined && each !== version)) await this.#load(name)
  }

  async #load(name: string): Promise<Kept> {
    const load: Load = { startedAt: ++this.#loads, isOutdated: false }
    const read = this.#readKnown(name, await this.#during(name, load, this.#rooms.store.load(KIND, name)))
    const kept = this.#kept.peek(name)
    if (!load.isOutdated && (kept === undefined || kept.startedAt < load.startedAt)) {
      this.#kept.set(name, { read, startedAt: load.startedAt })
      if (!('why' in read)) this.follower?.changed(read)
    }
    return read
  }

  /** Like #read, with the object that is in memory already if nothing has changed. */
  #readKnown(name: string, document: Document | null | UnreadableDocument): Kept {
    if (document instanceof UnreadableDocument) return this.#unreadable(name, 0, document)
    for (const known of [this.follower?.held(name), this.#kept.peek(name)?.read])
      if (known !== undefined && document !== null && known.documentVersion === document.version) return known
    return this.#read(name, document)
  }

  async #during<T>(name: string, load: Load, work: Promise<T>): Promise<T> {
    const loads = this.#loading.get(name) ?? new Set()
    this.#loading.set(name, loads.add(load))
    try {
      return await work
    } finally {
      loads.delete(load)
      if (loads.size === 0) this.#loading.delete(name)
    }
  }

  #read(name: string, document: Document | null): Kept {
    try {
      return subjectOf(name, document, whatOf(name))
    } catch (why) {
      if (!(why instanceof UnreadableDocument)) throw why
      return this.#unreadable(name, document?.version ?? 0, why)
    }
  }

  #unreadable(name: string, documentVersion: number, why: UnreadableDocument): Unreadable {
    const result = 'requests that name it fail until it is repaired or deleted'
    ;(this.#rooms.unreadable ?? UNNAMED)({ kind: KIND, what: whatOf(name), why: why.cause ?? why, result })
    return { name, documentVersion, why }
  }

  async #turnOf<T>(name: string, work: () => Promise<T>): Promise<T> {
    const turn = this.#turns.get(name) ?? { inTurn: workInTurn(), waiting: 0 }
    this.#turns.set(name, turn)
    turn.waiting++
    try {
      return await turn.inTurn(work)
    } finally {
      if (--turn.waiting === 0) this.#turns.delete(name)
    }
  }
}

const whatOf = (name: string) => `the schema subject ${JSON.stringify(name)}`

function unreadable(error: unknown): UnreadableDocument {
  if (error instanceof UnreadableDocument) return error
  throw error
}

function outdate(loads: ReadonlySet<Load> = new Set()): void {
  for (const load of loads) load.isOutdated = true
}

function readable(kept: Kept): Subject {
  if ('why' in kept) throw kept.why
  return kept
}

/** Ignores a failure of the store: the subject is loaded when it is needed next. */
function leaveToNextLook(error: unknown): void {
  if (!isStoreFailure(error)) throw error
}
