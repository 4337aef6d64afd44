// FindCoordinator 0-6: which broker coordinates a group (key type 0) or a transactional id (1, from version 1
// on), named as the listener that the client came by is advertised. COORDINATOR_NOT_AVAILABLE while there is none that
// the listener reaches.
//
//   0-3  one key; its error is the answer's error
//   4    many keys with an error each; the single key is ignored (KIP-699)
//   6    share partitions, key type 2 (KIP-932): answered INVALID_REQUEST, as by a Kafka without share groups
//
// Differences from Apache Kafka: a transactional id finds a coordinator although there are no transactions yet, so that
// its client goes on to InitProducerId and is told so there, instead of looking for a coordinator for ever.

import { because, COORDINATOR_NOT_AVAILABLE, INVALID_REQUEST, NONE, type Refusal } from '../../protocol/errors.ts'
import { findCoordinator } from '../../protocol/messages/find-coordinator.ts'
import type { RequestOf } from '../../protocol/schema.ts'
import { nodesOf } from '../nodes.ts'
import { handler, type Request } from './handler.ts'

const GROUP = 0
const TRANSACTION = 1

const UNKNOWN_KEY_TYPE = because(
  INVALID_REQUEST,
  'The key type must be 0 (group) or 1 (transactional id); there are no share groups here.',
)

export const findCoordinatorHandler = handler(findCoordinator, rooms => ({
  answer(request) {
    const { keyType } = request.body
    if (keyType !== GROUP && keyType !== TRANSACTION) return refuse(request, UNKNOWN_KEY_TYPE)
    const nodes = nodesOf(rooms.cluster, request.connection.listener)
    return answer(request, key => {
      const coordinator = rooms.cluster.coordinatorOf(key)
      const node = nodes.find(({ id }) => id === coordinator)
      if (node === undefined) return notFound(COORDINATOR_NOT_AVAILABLE)
      return { nodeId: node.id, host: node.host, port: node.port, errorCode: NONE, errorMessage: null }
    })
  },
  refused: refuse,
}))

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
