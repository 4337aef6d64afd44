// The brokers of the cluster as clients are told of them: by the endpoint of the listener that a client came by, as in
// Kafka. A client is not told of a broker without a listener of that name.

import type { Cluster } from '../cluster/cluster.ts'
import type { Listener } from './connection/session.ts'

export interface BrokerNode {
  readonly id: number
  readonly host: string
  readonly port: number
  readonly rack: string | null
}

/** Those that live, ascending by id. */
export function nodesOf(cluster: Cluster, listener: Listener): readonly BrokerNode[] {
  return cluster.brokers().flatMap(({ id, rack, endpoints }) => {
    // This broker is the one that the client is connected to.
    const endpoint = id === cluster.brokerId ? listener : endpoints.find(({ name }) => name === listener.name)
    return endpoint === undefined ? [] : [{ id, host: endpoint.host, port: endpoint.port, rack }]
  })
}

/**
 * Every broker can act as controller, because the store carries out what an administrator asks. All clients are told
 * the same broker.
 */
export function controllerOf(cluster: Cluster): number {
  return cluster.brokers()[0]?.id ?? cluster.brokerId
}
