// Allocates producer ids for idempotent producers, in blocks from the store. The number of a block is the version of
// the document after the commit that took the block, because the store never gives a version twice, not even after it
// has lost acknowledged writes (H9 in docs/decisions/0025). A counter inside the document would go back with the
// store, and two producers would get the same id. When a broker ends, the rest of its block is lost, which does no
// harm. Epochs and transactions are not here.

import { assert } from '../base/assert.ts'
import { systemClock } from '../base/clock.ts'
import { systemRandom } from '../base/random.ts'
import { because, COORDINATOR_LOAD_IN_PROGRESS, type Refusal } from '../protocol/errors.ts'
import { type ContentionRooms, contend, LOST } from '../store/contention.ts'
import type { DocumentKind } from '../store/document-kinds.ts'
import { OutcomeUnknown, type Store, StoreContended } from '../store/store.ts'

const KIND: DocumentKind = 'producer-ids'
const NAME = 'blocks'
const BLOCK_SIZE = 1_000

export interface ProducerIds {
  /**
   * Resolves to an id that no other producer has or will have, or to COORDINATOR_LOAD_IN_PROGRESS (which producers
   * retry) if other brokers were faster for too long. Throws StoreUnavailable if the store is away and a new block is
   * needed.
   */
  allocate(): Promise<number | Refusal>
}

export function openProducerIds(
  store: Store,
  rooms: ContentionRooms = { clock: systemClock, random: systemRandom },
): ProducerIds {
  let next = 0
  let end = 0
  let reserving: Promise<Refusal | null> | null = null

  async function reserve(): Promise<Refusal | null> {
    try {
      return await contend(rooms, 'the list of producer ids', reserveOnce)
    } catch (error) {
      if (error instanceof StoreContended) return because(COORDINATOR_LOAD_IN_PROGRESS, `${error.message}.`)
      throw error
    }
  }

  async function reserveOnce(): Promise<null | typeof LOST> {
    const expect = await store.version(KIND, NAME)
    try {
      const outcome = await store.commit({ kind: KIND, name: NAME, expect, changes: [] })
      if (outcome.kind === 'conflict') return LOST
      next = outcome.version * BLOCK_SIZE
      end = next + BLOCK_SIZE
      assert(Number.isSafeInteger(end), `there are no producer ids after version ${outcome.version}`)
      return null
    } catch (cause) {
      // It is unknown whether the block is taken. No broker hands out its ids.
      if (cause instanceof OutcomeUnknown) return LOST
      throw cause
    }
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
