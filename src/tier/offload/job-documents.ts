// The documents that keep offload jobs, one for each topic. Every broker reads them; the holder of the storage worker's
// lease and operators' requests change them by compare-and-set. A document that cannot be read is named and left as it
// is; the topics of other documents go on.
//
//   document offload, <topic id>   the field `offload`: JSON of { format, topicName }
//                                  a field for each job, <partition>:<base>: JSON of the other members of OffloadJob

import { aFewAtATime } from '../../base/a-few.ts'
import { changeDocument, type DocumentRooms } from '../../store/document-keeper.ts'
import type { DocumentKind } from '../../store/document-kinds.ts'
import { type Document, UnreadableDocument } from '../../store/store.ts'
import { type NameUnreadable, UNNAMED } from '../../store/unreadable.ts'
import { decodeJobs, encodeJobs } from './job-form.ts'
import { jobId, type OffloadJob } from './jobs.ts'
import type { TopicOfJobs } from './plan-jobs.ts'

export interface JobDocumentRooms extends DocumentRooms {
  readonly unreadable?: NameUnreadable | undefined
}

/** By their ids. */
export type Jobs = ReadonlyMap<string, OffloadJob>

export interface JobsChange<Answer> {
  readonly answer: Answer
  /** Jobs that are new or have changed. */
  readonly put?: readonly OffloadJob[]
  readonly remove?: readonly OffloadJob[]
}

export interface Unreadable {
  readonly kind: 'unreadable'
  /** A sentence that names the document. */
  readonly why: string
}

const KIND: DocumentKind = 'offload'
const NONE: Jobs = new Map()

interface Kept {
  readonly version: number
  readonly jobs: Jobs | Unreadable
}

export class JobDocuments {
  readonly #rooms: JobDocumentRooms
  /** The documents as they were read last, by topic id. */
  readonly #kept = new Map<string, Kept>()

  constructor(rooms: JobDocumentRooms) {
    this.#rooms = rooms
  }

  /**
   * Changes the jobs of a topic. Calls `decide` with the stored jobs, and again if another writer was faster. Resolves
   * with its answer when the store has the change. Rejects with what the store throws.
   */
  async change<Answer>(
    { topicId, topicName }: TopicOfJobs,
    decide: (jobs: Jobs) => JobsChange<Answer>,
  ): Promise<Answer | Unreadable> {
    const place = { kind: KIND, name: topicId, what: `the offload jobs of topic ${topicName}` }
    try {
      return await changeDocument<Answer>(this.#rooms, place, now => {
        const jobs = this.#decode(topicId, now)
        const { answer, put = [], remove = [] } = decide(jobs)
        if (put.length + remove.length === 0) return { answer }
        const left = new Map(jobs)
        for (const job of put) left.set(jobId(job), job)
        for (const job of remove) left.delete(jobId(job))
        if (left.size === 0) return { answer, ...(now !== null && { write: { remove: true } }) }
        const changes = encodeJobs(topicName, put, remove)
        // A full store must not stop the jobs that would empty it.
        return { answer, write: { changes, mayOverfill: true } }
      })
    } catch (error) {
      return this.#named(topicId, error)
    }
  }

  /** Resolves with the jobs of a topic. One read of a version if nothing has changed since the last call. */
  async of(topicId: string): Promise<Jobs | Unreadable> {
    const { store } = this.#rooms
    const version = await store.version(KIND, topicId)
    const kept = this.#kept.get(topicId)
    if (kept?.version === version) return kept.jobs
    this.#kept.delete(topicId)
    if (version === 0) return NONE
    try {
      const document = await store.load(KIND, topicId)
      if (document === null) return NONE
      const jobs = this.#decode(topicId, document)
      this.#kept.set(topicId, { version: document.version, jobs })
      return jobs
    } catch (error) {
      const jobs = this.#named(topicId, error)
      this.#kept.set(topicId, { version, jobs })
      return jobs
    }
  }

  /** Resolves with the jobs of these topics, by topic id. Topics that are not among them are forgotten. */
  async ofAll(topicIds: readonly string[]): Promise<ReadonlyMap<string, Jobs | Unreadable>> {
    const wanted = new Set(topicIds)
    for (const topicId of this.#kept.keys()) if (!wanted.has(topicId)) this.#kept.delete(topicId)
    const { clock } = this.#rooms
    const found = await aFewAtATime(clock, topicIds, async topicId => [topicId, await this.of(topicId)] as const)
    return new Map(found)
  }

  /** Removes the document of a topic that is gone, also an unreadable one. */
  async remove(topicId: string): Promise<void> {
    this.#kept.delete(topicId)
    if ((await this.#rooms.store.version(KIND, topicId)) === 0) return
    const place = { kind: KIND, name: topicId, what: `the offload jobs of topic ${topicId}` }
    await changeDocument(this.#rooms, place, now => ({
      answer: null,
      ...(now !== null && { write: { remove: true } }),
    }))
  }

  /** Removes the documents of topics that were removed while their broker was stopping. */
  async sweep(mayExist: (topicId: string) => boolean): Promise<void> {
    const listed = await this.#rooms.store.list(KIND)
    for (const { name } of listed) if (!mayExist(name)) await this.remove(name)
  }

  #decode(topicId: string, document: Document | null): Jobs {
    if (document === null) return NONE
    try {
      return decodeJobs(topicId, document.fields)
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      throw new UnreadableDocument(`The document of the offload jobs of topic ${topicId} cannot be read: ${why}.`, {
        cause: error,
      })
    }
  }

  /** Names an unreadable document, and throws every other error. */
  #named(topicId: string, error: unknown): Unreadable {
    if (!(error instanceof UnreadableDocument)) throw error
    const what = `the document of the offload jobs of topic ${topicId}`
    const result = 'no segment of the topic is offloaded until the document is repaired or deleted'
    ;(this.#rooms.unreadable ?? UNNAMED)({ kind: KIND, what, why: error.cause ?? error, result })
    return { kind: 'unreadable', why: error.message }
  }
}
