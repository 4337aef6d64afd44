// InitProducerId 0-5 (KIP-98): gives an idempotent producer an id that no other producer has, with epoch 0.
//
//   3    a producer may name its former id and epoch (KIP-360). Without a transactional id it gets a fresh id, as in
//        Kafka. If it names only one of the two, the answer is INVALID_REQUEST
//   4    PRODUCER_FENCED (KIP-890), an error about transactions that this broker never returns
//   5    TRANSACTION_ABORTABLE (KIP-890), the same
//
// Differences from Apache Kafka: there are no transactions yet. A transactional id is refused with
// TRANSACTIONAL_ID_AUTHORIZATION_FAILED, which every client reports instead of retrying. Other errors come first: an
// empty id is INVALID_REQUEST, a timeout out of range is INVALID_TRANSACTION_TIMEOUT.

import {
  because,
  COORDINATOR_LOAD_IN_PROGRESS,
  INVALID_REQUEST,
  INVALID_TRANSACTION_TIMEOUT,
  isRefusal,
  NONE,
  type Refusal,
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
} from '../../protocol/errors.ts'
import { initProducerId } from '../../protocol/messages/init-producer-id.ts'
import type { RequestOf } from '../../protocol/schema.ts'
import { handler } from '../handler.ts'
import { CLUSTER, type Need, onTransactionalId } from '../needs.ts'

/** Kafka's transaction.max.timeout.ms. */
const MAX_TRANSACTION_TIMEOUT_MS = 900_000
/** Kafka's limit for a string in bytes. The format of flexible versions has no such limit. */
const MAX_TRANSACTIONAL_ID_BYTES = 32_767

const NO_ID = -1
const NO_EPOCH = -1

export const initProducerIdHandler = handler(initProducerId, rooms => {
  const logger = rooms.logger.named('kafka.init-producer-id')
  return {
    needs: ({ body }) => needsOf(body),
    storeAway: COORDINATOR_LOAD_IN_PROGRESS,
    async answer({ body }) {
      const unfit = check(body)
      if (unfit !== null) {
        logger.limited('init-producer-id', 10_000).warn(unfit.message, { transactionalId: body.transactionalId })
        return refuse(unfit)
      }
      const producerId = await rooms.producerIds.allocate()
      if (isRefusal(producerId)) return refuse(producerId)
      return { errorCode: NONE, producerId, producerEpoch: 0 }
    },
    refused: (_request, refusal) => refuse(refusal),
  }
})

/**
 * Returns the needs of a request. Without a transactional id, the permission to write to any topic is enough
 * (KIP-679).
 */
function needsOf({ transactionalId }: RequestOf<typeof initProducerId>): readonly Need[] {
  if (transactionalId !== null) return [onTransactionalId('WRITE', transactionalId)]
  const or = { operation: 'WRITE', resource: { type: 'TOPIC', name: null } } as const
  return [{ operation: 'IDEMPOTENT_WRITE', resource: CLUSTER, scope: 'request', or }]
}

function check(body: RequestOf<typeof initProducerId>): Refusal | null {
  const { transactionalId, transactionTimeoutMs, producerId, producerEpoch } = body
  if ((producerId === NO_ID) !== (producerEpoch === NO_EPOCH)) {
    return because(INVALID_REQUEST, 'A producer id and its epoch are named together or not at all.')
  }
  if (transactionalId === null) return null
  if (transactionalId === '') return because(INVALID_REQUEST, 'The transactional id is empty.')
  if (Buffer.byteLength(transactionalId) > MAX_TRANSACTIONAL_ID_BYTES) {
    return because(INVALID_REQUEST, `A transactional id has at most ${MAX_TRANSACTIONAL_ID_BYTES} bytes.`)
  }
  if (transactionTimeoutMs <= 0 || transactionTimeoutMs > MAX_TRANSACTION_TIMEOUT_MS) {
    return because(
      INVALID_TRANSACTION_TIMEOUT,
      `The transaction timeout is ${transactionTimeoutMs} ms, it must be between 1 and ${MAX_TRANSACTION_TIMEOUT_MS} ms.`,
    )
  }
  return because(TRANSACTIONAL_ID_AUTHORIZATION_FAILED, 'This broker has no transactions yet.')
}

function refuse(refusal: Refusal) {
  return { errorCode: refusal.code, producerId: NO_ID, producerEpoch: NO_EPOCH }
}
