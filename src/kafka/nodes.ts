// The brokers of the cluster as clients are told of them: by the endpoint of the listener that a client came by, as in Kafka. A
// broker without a listener of that name is none for this client.

import type { Cluster } from '../cluster/cluster.ts'
import type { Listener } from './handlers/handler.ts'

export interface BrokerNode {
  readonly id: number
  readonly host: string
  readonly port: number
  readonly rack: string | null
}

/** Those that live, ascending by id. */
export function nodesOf(cluster: Cluster, listener: Listener): readonly BrokerNode[] {
  return cluster.brokers().flatMap(({ id, rack, endpoints }) => {
    // This broker is where the client already is.
    const endpoint = id === cluster.brokerId ? listener : endpoints.find(({ name }) => name === listener.name)
    return endpoint === undefined ? [] : [{ id, host: endpoint.host, port: endpoint.port, rack }]
  })
}

/**
 * Every broker is a controller: what an administrator asks of any is done by the store. Clients are told one of them, and all
 * clients the same.
 */
export function controllerOf(cluster: Cluster): number {
  return cluster.brokers()[0]?.id ?? cluster.brokerId
}
