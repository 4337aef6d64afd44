// DescribeCluster 0-2: returns the cluster's id, its brokers, and the operations that the client may do on it.
//
// Versions: from 1 on, a request names an endpoint type (KIP-919): 1 for brokers, or 2 for controllers, which gets
// MISMATCHED_ENDPOINT_TYPE. From 2 on, a request may ask for fenced brokers (KIP-1073); this cluster has no fenced
// brokers.

import {
  because,
  MISMATCHED_ENDPOINT_TYPE,
  NONE,
  type Refusal,
  UNSUPPORTED_ENDPOINT_TYPE,
} from '../../protocol/errors.ts'
import { describeCluster } from '../../protocol/messages/describe-cluster.ts'
import type { ResponseInput } from '../../protocol/schema.ts'
import { handler } from '../handler.ts'
import { NO_NEEDS, onCluster } from '../needs.ts'
import { controllerOf, nodesOf } from '../nodes.ts'
import { NOT_ASKED } from '../operations.ts'
import { clusterOperationsOf } from '../permissions.ts'

type Answer = ResponseInput<typeof describeCluster>

const BROKERS = 1
const CONTROLLERS = 2

export const describeClusterHandler = handler(describeCluster, rooms => ({
  needs: ({ body }) => (body.includeClusterAuthorizedOperations ? [onCluster('DESCRIBE', 'hidden')] : NO_NEEDS),
  answer({ body: { endpointType, includeClusterAuthorizedOperations }, connection, permissions }) {
    const refusal = refusalOf(endpointType)
    if (refusal !== null) return refuse(refusal)
    return {
      errorCode: NONE,
      errorMessage: null,
      endpointType: BROKERS,
      clusterId: rooms.catalogue.current().clusterId,
      controllerId: controllerOf(rooms.cluster),
      brokers: nodesOf(rooms.cluster, connection.listener).map(({ id, ...node }) => ({ brokerId: id, ...node })),
      clusterAuthorizedOperations: includeClusterAuthorizedOperations ? clusterOperationsOf(permissions) : NOT_ASKED,
    }
  },
  refused: (_request, refusal) => refuse(refusal),
}))

function refusalOf(endpointType: number): Refusal | null {
  if (endpointType === BROKERS) return null
  if (endpointType !== CONTROLLERS) {
    return because(UNSUPPORTED_ENDPOINT_TYPE, `Unsupported endpoint type ${endpointType}`)
  }
  const message = 'The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER'
  return because(MISMATCHED_ENDPOINT_TYPE, message)
}

function refuse({ code, message }: Refusal): Answer {
  return { errorCode: code, errorMessage: message, clusterId: '', brokers: [] }
}
