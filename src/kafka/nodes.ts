// Lists the brokers of the cluster for a client. As in Kafka, each broker has the endpoint of the listener through
// which the client is connected. A broker without a listener of that name is not listed.

import type { Cluster } from '../cluster/cluster.ts'
import type { Listener } from './connection/session.ts'

export interface BrokerNode {
  readonly id: number
  readonly host: string
  readonly port: number
  readonly rack: string | null
}

/** Returns the living brokers, ascending by id. */
export function nodesOf(cluster: Cluster, listener: Listener): readonly BrokerNode[] {
  return cluster.brokers().flatMap(({ id, rack, endpoints }) => {
    // This broker is the one that the client is connected to.
    const endpoint = id === cluster.brokerId ? listener : endpoints.find(({ name }) => name === listener.name)
    return endpoint === undefined ? [] : [{ id, host: endpoint.host, port: endpoint.port, rack }]
  })
}

/**
 * Returns the id of the broker that clients get as the controller; it is the same for all clients. Every broker can
 * act as controller, because the store carries out the changes of an administrator.
 */
export function controllerOf(cluster: Cluster): number {
  return cluster.brokers()[0]?.id ?? cluster.brokerId
}
