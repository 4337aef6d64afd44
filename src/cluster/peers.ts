// The port to the other brokers of the cluster, for the questions that only one of them can answer: about partitions
// that it leads, or groups that it coordinates. A question is a request of the Kafka protocol; kafka/peers.ts sends it.

import type { Api, RequestInput, ResponseOf } from '../protocol/schema.ts'
import type { BrokerInfo, Endpoint } from './broker-record.ts'

export interface Peers {
  /** Throws PeerUnavailable when the broker does not live, cannot be reached, or does not answer in time. */
  ask<A extends Api>(brokerId: number, api: A, version: number, body: RequestInput<A>): Promise<ResponseOf<A>>
}

/** Another broker did not answer. `isUnsent`: it certainly did not make the change; otherwise it may have made it. */
export class PeerUnavailable extends Error {
  override readonly name = 'PeerUnavailable'
  readonly brokerId: number
  readonly isUnsent: boolean

  /** `what` continues a sentence after the name of the broker: `cannot be reached`. */
  constructor(brokerId: number, what: string, isUnsent: boolean, options?: ErrorOptions) {
    super(`broker ${brokerId} ${what}`, options)
    this.brokerId = brokerId
    this.isUnsent = isUnsent
  }
}

/** The address for other brokers: the first listener (docs/decisions/0046). Null while the broker does not serve. */
export function endpointForPeers({ endpoints }: Pick<BrokerInfo, 'endpoints'>): Endpoint | null {
  return endpoints[0] ?? null
}
