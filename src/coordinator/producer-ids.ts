// Producer ids for idempotent producers. They are taken from the store in blocks. A block is named by the version that its commit
// gave the document, because that is what the store never gives twice, not even when it has lost what it acknowledged (H9
// in docs/decisions/0025): a number kept in the document goes back with the store, and two producers get one id. What was left of
// a block when its broker ends is lost, which costs nothing. Epochs and transactions are not here.

import { assert } from '../base/assert.ts'
import { COORDINATOR_LOAD_IN_PROGRESS, type Refusal } from '../protocol/errors.ts'
import type { DocumentKind } from '../store/document-kinds.ts'
import { OutcomeUnknown, type Store } from '../store/store.ts'

const KIND: DocumentKind = 'producer-ids'
const NAME = 'blocks'
const BLOCK_SIZE = 1_000
const ATTEMPTS = 5

export interface ProducerIds {
  /**
   * An id that nobody else has or will have. COORDINATOR_LOAD_IN_PROGRESS (which producers retry) when other brokers
   * were faster every time; throws StoreUnavailable when the store is away and a new block is needed.
   */
  allocate(): Promise<number | Refusal>
}

export function openProducerIds(store: Store): ProducerIds {
  let next = 0
  let end = 0
  let reserving: Promise<Refusal | null> | null = null

  async function reserve(): Promise<Refusal | null> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const expect = await store.version(KIND, NAME)
      try {
        const outcome = await store.commit({ kind: KIND, name: NAME, expect, changes: [] })
        if (outcome.kind === 'conflict') continue
        next = outcome.version * BLOCK_SIZE
        end = next + BLOCK_SIZE
        assert(Number.isSafeInteger(end), `there are no producer ids after version ${outcome.version}`)
        return null
      } catch (cause) {
        // The block may be taken or not; either way nobody hands out its ids.
        if (cause instanceof OutcomeUnknown) continue
        throw cause
      }
    }
    return COORDINATOR_LOAD_IN_PROGRESS
  }

  return {
    async allocate() {
      while (next === end) {
        reserving ??= reserve().finally(() => {
          reserving = null
        })
        const refusal = await reserving
        if (refusal !== null) return refusal
      }
      return next++
    },
  }
}
