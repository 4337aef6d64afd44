// Says what the failure of a file or a commit means for its jobs: an attempt is spent only if the segment, or something
// that another attempt can change, is the reason, and not while a store is away or the broker stops.

import { ThreadEnded } from '../../base/threads.ts'
import { OutcomeUnknown, StoreUnavailable } from '../../store/store.ts'
import { BadBatch } from '../columns/bad-batch.ts'
import { ObjectStoreError } from '../objects/objects.ts'
import { SegmentFailed, Stopped } from './make-file.ts'

type Failure =
  | { readonly kind: 'failed'; readonly why: string; readonly offset: number | null }
  | { readonly kind: 'notSpent'; readonly why: string }

interface FailureDeps {
  readonly encoders: { readonly isClosed: boolean }
  probe?(): Promise<boolean>
}

/** Remembers for one round whether the place of the objects works. */
export class StoreFailures {
  readonly #deps: FailureDeps
  #isWorking: Promise<boolean> | null = null

  constructor(deps: FailureDeps) {
    this.#deps = deps
  }

  get isStopping(): boolean {
    return this.#deps.encoders.isClosed
  }

  /** Asks once in a round. */
  isWorking(): Promise<boolean> {
    this.#isWorking ??= this.#probe()
    return this.#isWorking
  }

  async #probe(): Promise<boolean> {
    try {
      return (await this.#deps.probe?.()) ?? true
    } catch (error) {
      if (error instanceof ObjectStoreError) return false
      throw error
    }
  }
}

/** A place that is full takes the few bytes of a probe, and no segment can change that. */
const NOT_SPENT: readonly string[] = ['away', 'full']

/** Resolves with what the error means for the jobs that it ended. */
export async function outcomeOf(error: unknown, failures: StoreFailures): Promise<Failure> {
  const why = error instanceof Error ? error.message : String(error)
  const cause = error instanceof SegmentFailed ? error.cause : error
  const isNotSpent =
    cause instanceof Stopped ||
    cause instanceof StoreUnavailable ||
    cause instanceof OutcomeUnknown ||
    (cause instanceof ThreadEnded && failures.isStopping) ||
    (cause instanceof ObjectStoreError && (NOT_SPENT.includes(cause.kind) || !(await failures.isWorking())))
  if (isNotSpent) return { kind: 'notSpent', why }
  return { kind: 'failed', why, offset: cause instanceof BadBatch ? cause.offset : null }
}
