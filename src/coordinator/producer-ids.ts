// Producer ids for idempotent producers. They are taken from the store in blocks: the document says where the next
// block begins, and it moves before the first id of a block is handed out. An id is never handed out twice, not even
// across a crash; what was left of a block is lost then, which costs nothing. Epochs and transactions are not here.

import { COORDINATOR_LOAD_IN_PROGRESS, type Refusal } from '../protocol/errors.ts'
import { OutcomeUnknown, type Store } from '../store/store.ts'

const KIND = 'producer-ids'
const NAME = 'blocks'
const FIELD = 'next'
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
      const document = await store.load(KIND, NAME)
      const stored = document?.fields.get(FIELD)
      const from = stored === undefined ? 0 : parseNext(stored)
      try {
        const value = Buffer.from(String(from + BLOCK_SIZE))
        const expect = document?.version ?? 0
        const outcome = await store.commit({ kind: KIND, name: NAME, expect, changes: [{ key: FIELD, value }] })
        if (outcome.kind === 'conflict') continue
      } catch (cause) {
        // The block may be taken or not; the next look at the document says where an untouched one begins.
        if (cause instanceof OutcomeUnknown) continue
        throw cause
      }
      next = from
      end = from + BLOCK_SIZE
      return null
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

function parseNext(stored: Uint8Array): number {
  const text = Buffer.from(stored).toString()
  const value = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) {
    throw new Error(
      `the stored start of the next block of producer ids is ${JSON.stringify(text)}, a number was expected`,
    )
  }
  return value
}
