// The document with which the holder of the worker's lease tells all brokers what it changed: for each topic the
// version of its table, and how much waits for its offload. Each broker reads it once in a round. It is a copy that
// the holder makes again, but for the tables of deleted topics: only it names them.
//
//   document tier, notices   the field `notices`: JSON of { format }
//                            the field `worker`: JSON of a WorkerNotice
//                            a field for each topic with a table, named by its id: JSON of a TableNotice
//
// A document that cannot be read is named and left as it is: no broker hears of new versions until it is repaired or
// deleted.

import { LATEST_DATE_MS } from '../../base/clock.ts'
import { changeDocument, type DocumentRooms } from '../../store/document-keeper.ts'
import type { DocumentKind } from '../../store/document-kinds.ts'
import { type Document, type Row, UnreadableDocument } from '../../store/store.ts'
import { type NameUnreadable, UNNAMED } from '../../store/unreadable.ts'

export interface TableNotice {
  readonly topicName: string
  /** Of the table; 0 if it is not known to exist. */
  readonly version: number
  /** Of the holder that wrote the notice. */
  readonly fence: number
  /** The last sweep of orphans, by the clock of its holder. */
  readonly sweptAtMs: number
  /** When a holder found the topic deleted; null while the topic exists. */
  readonly droppedAtMs: number | null
  /** A data file that is missing although the table has it: another program rewrote or deleted it. */
  readonly foreign: { readonly path: string; readonly why: string } | null
}

/** As of the holder's last round. */
export interface WorkerNotice {
  readonly atMs: number
  readonly segments: number
  readonly bytes: number
  readonly oldestSealedAtMs: number | null
  readonly suspended: number
  readonly passed: number
  readonly segmentsPerMin: number
  readonly bytesPerMin: number
}

export interface NoticesState {
  readonly version: number
  readonly tables: ReadonlyMap<string, TableNotice>
  readonly worker: WorkerNotice | null
}

export interface NoticesChange {
  /** By topic id; null removes a notice. */
  readonly tables?: ReadonlyMap<string, TableNotice | null>
  readonly worker?: WorkerNotice
}

export interface NoticesRooms extends DocumentRooms {
  readonly unreadable?: NameUnreadable | undefined
  /** Called with the topics whose tables have another version. */
  changed(topicIds: readonly string[]): void
}

const KIND: DocumentKind = 'tier'
const NAME = 'notices'
const HEAD = 'notices'
const WORKER = 'worker'
const FORMAT = 1
const WHAT = 'the notices of the remote tier'

const NONE: NoticesState = Object.freeze({ version: 0, tables: new Map(), worker: null })

export class Notices {
  readonly #rooms: NoticesRooms
  #state: NoticesState = NONE
  /** When this broker saw the worker's notice change, on Clock.monotonic(). */
  #workerSeenAtMs = Number.NEGATIVE_INFINITY

  constructor(rooms: NoticesRooms) {
    this.#rooms = rooms
  }

  get state(): NoticesState {
    return this.#state
  }

  get workerSeenAtMs(): number {
    return this.#workerSeenAtMs
  }

  /** Reads the document if it has changed. Throws what the store throws. */
  async follow(): Promise<void> {
    const { store } = this.#rooms
    const version = await store.version(KIND, NAME)
    if (version === this.#state.version) return
    try {
      this.#adopt(decode(version === 0 ? null : await store.load(KIND, NAME)))
    } catch (error) {
      this.#named(error)
      // It is read again when it has changed.
      this.#state = { ...this.#state, version }
    }
  }

  /**
   * Changes the notices. `decide` gets what is stored, and again if another writer was faster; null changes nothing.
   * Resolves with false if the document cannot be read. Throws what the store throws.
   */
  async change(decide: (now: NoticesState) => NoticesChange | null): Promise<boolean> {
    try {
      const next = await changeDocument<NoticesState>(this.#rooms, { kind: KIND, name: NAME, what: WHAT }, stored => {
        const now = decode(stored)
        const change = decide(now)
        if (change === null) return { answer: now }
        const after = withChange(now, change)
        // A full store must not stop the offload that would empty it.
        return { answer: after, write: { changes: rowsOf(change), mayOverfill: true } }
      })
      this.#adopt(next)
      return true
    } catch (error) {
      this.#named(error)
      return false
    }
  }

  #adopt(next: NoticesState): void {
    const { tables, worker } = this.#state
    this.#state = next
    if (next.worker !== null && JSON.stringify(next.worker) !== JSON.stringify(worker))
      this.#workerSeenAtMs = this.#rooms.clock.monotonic()
    const ids = new Set([...tables.keys(), ...next.tables.keys()])
    const changed = [...ids].filter(id => tables.get(id)?.version !== next.tables.get(id)?.version)
    if (changed.length > 0) this.#rooms.changed(changed)
  }

  #named(error: unknown): void {
    if (!(error instanceof UnreadableDocument)) throw error
    const result = 'no broker hears of newly offloaded segments, so none is dropped, until it is repaired or deleted'
    ;(this.#rooms.unreadable ?? UNNAMED)({ kind: KIND, what: WHAT, why: error.cause ?? error, result })
  }
}

function withChange(now: NoticesState, { tables = new Map(), worker }: NoticesChange): NoticesState {
  const after = new Map(now.tables)
  for (const [id, notice] of tables) {
    if (notice === null) after.delete(id)
    else after.set(id, notice)
  }
  // The version of the document is that of the next read.
  return { version: now.version, tables: after, worker: worker ?? now.worker }
}

const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value))

function rowsOf({ tables = new Map(), worker }: NoticesChange): Row[] {
  return [
    { key: HEAD, value: bytesOf({ format: FORMAT }) },
    ...(worker === undefined ? [] : [{ key: WORKER, value: bytesOf(worker) }]),
    ...Array.from(tables, ([key, notice]) => ({ key, value: notice === null ? null : bytesOf(notice) })),
  ]
}

function decode(document: Document | null): NoticesState {
  if (document === null) return NONE
  try {
    const { fields, version } = document
    const { format } = objectOf(fields.get(HEAD))
    if (format !== FORMAT) throw new Error(`its format is ${JSON.stringify(format)}, and this version reads ${FORMAT}`)
    const tables = new Map<string, TableNotice>()
    for (const [key, value] of fields) if (key !== HEAD && key !== WORKER) tables.set(key, tableOf(key, value))
    return { version, tables, worker: workerOf(fields.get(WORKER)) }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new UnreadableDocument(`The document of ${WHAT} cannot be read: ${why}.`, { cause: error })
  }
}

function tableOf(topicId: string, value: Uint8Array): TableNotice {
  const notice = objectOf(value) as unknown as TableNotice
  const { topicName, version, fence, sweptAtMs, droppedAtMs, foreign } = notice
  const isKnown =
    typeof topicName === 'string' &&
    [version, fence].every(isCount) &&
    isTime(sweptAtMs) &&
    (droppedAtMs === null || isTime(droppedAtMs)) &&
    (foreign === null || (typeof foreign?.path === 'string' && typeof foreign.why === 'string'))
  if (!isKnown) throw new Error(`its field ${JSON.stringify(topicId.slice(0, 40))} describes no table`)
  return notice
}

function workerOf(value: Uint8Array | undefined): WorkerNotice | null {
  if (value === undefined) return null
  const notice = objectOf(value) as unknown as WorkerNotice
  const { atMs, oldestSealedAtMs, segments, bytes, suspended, passed, segmentsPerMin, bytesPerMin } = notice
  const isKnown =
    [segments, bytes, suspended, passed, segmentsPerMin, bytesPerMin].every(isCount) &&
    isTime(atMs) &&
    (oldestSealedAtMs === null || isTime(oldestSealedAtMs))
  if (!isKnown) throw new Error(`its field '${WORKER}' does not say what waits`)
  return notice
}

function objectOf(value: Uint8Array | undefined): Readonly<Record<string, unknown>> {
  const found: unknown = JSON.parse(Buffer.from(value ?? []).toString())
  if (typeof found !== 'object' || found === null || Array.isArray(found)) throw new Error('it is no object')
  return found as Readonly<Record<string, unknown>>
}

const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0
const isTime = (value: unknown) => Number.isInteger(value) && Math.abs(value as number) <= LATEST_DATE_MS
