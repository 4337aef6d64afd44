// FindCoordinator 0-6: returns the broker that coordinates a group (key type 0), with its endpoint on the client's
// listener. The answer is COORDINATOR_NOT_AVAILABLE while no coordinator can be reached through that listener.
//
//   0-3  one key; its error is the answer's error
//   4    many keys with an error each; the single key is ignored (KIP-699)
//   6    share partitions, key type 2 (KIP-932): the answer is INVALID_REQUEST, as from a Kafka without share groups
//
// Differences from Apache Kafka: there are no transactions yet. So the answer to a transactional id (key type 1, from
// version 1 on) is INVALID_REQUEST with a message that says so. The Java client sends this request before
// InitProducerId, which has no field for a message. The client prints the message and stops. librdkafka retries until
// its timeout, so the broker logs the message too.

import { cut } from '../../base/cut.ts'
import { because, COORDINATOR_NOT_AVAILABLE, INVALID_REQUEST, NONE, type Refusal } from '../../protocol/errors.ts'
import { findCoordinator } from '../../protocol/messages/find-coordinator.ts'
import type { RequestOf } from '../../protocol/schema.ts'
import { handler, type Request } from '../handler.ts'
import { type Need, NO_NEEDS, onEach, orElse } from '../needs.ts'
import { nodesOf } from '../nodes.ts'

const GROUP = 0
const TRANSACTION = 1

const UNKNOWN_KEY_TYPE = because(INVALID_REQUEST, 'The key type must be 0 (group); there are no share groups here.')
const NO_TRANSACTIONS = because(
  INVALID_REQUEST,
  'This broker has no transactions yet. Leave out transactional.id; an idempotent producer works without it.',
)

/** The shortest time between two log lines with this message. */
const LOG_EVERY_MS = 10_000

export const findCoordinatorHandler = handler(findCoordinator, rooms => {
  const logger = rooms.logger.named('kafka.find-coordinator')
  return {
    needs: ({ apiVersion, body }) => needsOf(body.keyType, apiVersion < 4 ? [body.key] : body.coordinatorKeys),
    storeAway: COORDINATOR_NOT_AVAILABLE,
    answer(request) {
      const { keyType, key, coordinatorKeys } = request.body
      const denied = (id: string) =>
        keyType === TRANSACTION ? request.permissions.transactionalId(id) : request.permissions.group(id)
      if (keyType === TRANSACTION) {
        const transactionalId = cut(coordinatorKeys[0] ?? key)
        logger.limited('transactional-id', LOG_EVERY_MS).warn(NO_TRANSACTIONS.message, { transactionalId })
        return answer(request, id => notFound(denied(id) ?? NO_TRANSACTIONS))
      }
      if (keyType !== GROUP) return refuse(request, UNKNOWN_KEY_TYPE)
      const nodes = nodesOf(rooms.cluster, request.connection.listener)
      return answer(request, key => {
        const refusal = denied(key)
        if (refusal !== null) return notFound(refusal)
        const coordinator = rooms.cluster.coordinatorOf(key)
        const node = nodes.find(({ id }) => id === coordinator)
        if (node === undefined) return notFound(COORDINATOR_NOT_AVAILABLE)
        return { nodeId: node.id, host: node.host, port: node.port, errorCode: NONE, errorMessage: null }
      })
    },
    refused: refuse,
  }
})

function needsOf(keyType: number, keys: readonly string[]): readonly Need[] {
  if (keyType !== GROUP && keyType !== TRANSACTION) return NO_NEEDS
  if (keyType === TRANSACTION) return onEach('DESCRIBE', 'TRANSACTIONAL_ID', keys)
  // A client that may only delete the group must find its coordinator too.
  return orElse(onEach('DESCRIBE', 'GROUP', keys), resource => ({ operation: 'DELETE', resource }))
}

interface Found {
  readonly nodeId: number
  readonly host: string
  readonly port: number
  readonly errorCode: number
  readonly errorMessage: string | null
}

function refuse(request: Request<RequestOf<typeof findCoordinator>>, refusal: Refusal) {
  return answer(request, () => notFound(refusal))
}

function notFound({ code, message }: Refusal): Found {
  return { nodeId: -1, host: '', port: -1, errorCode: code, errorMessage: message }
}

function answer({ apiVersion, body }: Request<RequestOf<typeof findCoordinator>>, find: (key: string) => Found) {
  if (apiVersion < 4) return { ...find(body.key), coordinators: [] }
  return { coordinators: body.coordinatorKeys.map(key => ({ key, ...find(key) })) }
}
