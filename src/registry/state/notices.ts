// The notices with which brokers tell each other which subjects change. One document has the last few. A broker writes
// its notice before it changes the subject, so that no change stays unnoticed if the broker ends between the two. A
// broker that reads a notice therefore looks at the subject for a while (subjects.ts).
//
//   document schemas, notices   the field `head`: JSON of { format }
//                               a field for each of the last notices, named by its number modulo their most: JSON of
//                               { sequence, subject, after }, where `after` is the version of the document before

import { workInTurn } from '../../base/in-turn.ts'
import { changeDocument } from '../../store/document-keeper.ts'
import type { DocumentKind } from '../../store/document-kinds.ts'
import { type Document, type Row, UnreadableDocument } from '../../store/store.ts'
import { UNNAMED } from '../../store/unreadable.ts'
import type { StateRooms } from './rooms.ts'
import { bytesOfJson, readJson, textOf } from './stored-json.ts'

const KIND: DocumentKind = 'schemas'
const NAME = 'notices'
const HEAD = 'head'
const WHAT = 'the notices of changed subjects'
/** A broker looks every second, so this many subjects may change in a second before it drops all that it knows. */
const MOST = 512

interface Notice {
  readonly sequence: number
  readonly subject: string
  /** No two notices of one number have the same. */
  readonly after: number
}

const NONE: Notice = Object.freeze({ sequence: 0, subject: '', after: -1 })

export class Notices {
  readonly #rooms: StateRooms
  readonly #inTurn = workInTurn()
  /** Subjects whose notice waits for the one that is being written. */
  #waiting: Set<string> | null = null
  #writing: Promise<void> | null = null
  #version = -1
  /** The last notice that this broker has read. */
  #last: Notice = NONE

  constructor(rooms: StateRooms) {
    this.#rooms = rooms
  }

  /** Resolves when all brokers can read that the subject changes. Throws what the store throws. */
  async announce(subject: string): Promise<void> {
    if (!this.#rooms.isShared) return
    if (this.#waiting === null) {
      const subjects = new Set<string>()
      this.#waiting = subjects
      this.#writing = this.#inTurn(() => {
        this.#waiting = null
        return this.#write([...subjects])
      })
    }
    this.#waiting.add(subject)
    await this.#writing
  }

  /**
   * Resolves with the subjects that were announced since the last call. `isWhole` is false if some may be missing, and
   * at the first call. Throws what the store throws.
   */
  async next(): Promise<{ readonly subjects: readonly string[]; readonly isWhole: boolean }> {
    const version = await this.#rooms.store.version(KIND, NAME)
    if (version === this.#version) return { subjects: [], isWhole: true }
    const document = version === 0 ? null : await this.#rooms.store.load(KIND, NAME)
    const notices = document === null ? [] : this.#read(document)
    const { sequence, after } = this.#last
    const isFollowing = this.#version !== -1
    const last = notices.find(each => each.sequence === sequence) ?? NONE
    const newest = notices.reduce((one, other) => (other.sequence > one.sequence ? other : one), NONE)
    this.#version = document?.version ?? 0
    this.#last = newest
    const news = notices.filter(each => each.sequence > sequence)
    // If not, the document went back in time or was lost, or the oldest notices were overwritten.
    const isWhole = isFollowing && last.after === after && newest.sequence - sequence === news.length
    return { subjects: (isWhole ? news : notices).map(({ subject }) => subject), isWhole }
  }

  async #write(subjects: readonly string[]): Promise<void> {
    for (let at = 0; at < subjects.length; at += MOST / 2) {
      const some = subjects.slice(at, at + MOST / 2)
      await changeDocument(this.#rooms, { kind: KIND, name: NAME, what: WHAT }, now => {
        let sequence = now === null ? 0 : Math.max(0, ...this.#read(now).map(each => each.sequence))
        const after = now?.version ?? 0
        const notices = some.map((subject): Row => {
          sequence++
          return { key: String(sequence % MOST), value: bytesOfJson({ sequence, subject, after }) }
        })
        const changes = [...notices, { key: HEAD, value: bytesOfJson({}) }]
        return { answer: null, write: { changes, isAcknowledged: true } }
      })
    }
  }

  #read(document: Document): readonly Notice[] {
    try {
      readJson(document, HEAD, WHAT, () => null)
      const notices: Notice[] = []
      for (const key of document.fields.keys()) {
        if (key === HEAD) continue
        const notice = readJson(document, key, WHAT, value => ({
          sequence: sequenceOf(value.sequence),
          subject: textOf(value.subject, 'subject'),
          after: sequenceOf(value.after),
        }))
        notices.push(notice)
      }
      return notices
    } catch (error) {
      if (!(error instanceof UnreadableDocument)) throw error
      const result = 'no subject can be changed until it is repaired or deleted'
      ;(this.#rooms.unreadable ?? UNNAMED)({ kind: KIND, what: WHAT, why: error.cause ?? error, result })
      throw error
    }
  }
}

function sequenceOf(value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number
  throw new Error(`its sequence is ${JSON.stringify(value)}`)
}
