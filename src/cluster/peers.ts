// The interface for requests to other brokers of the cluster: only the leader of a partition or the coordinator of a
// group can answer them. Each is a request of the Kafka protocol, which kafka/peers.ts sends.

import type { Api, RequestInput, ResponseOf } from '../protocol/schema.ts'
import type { BrokerInfo, Endpoint } from './broker-record.ts'

export interface Peers {
  /**
   * Sends the request to the broker. Throws PeerUnavailable if the broker is not alive, cannot be reached, or does
   * not answer in time.
   */
  ask<A extends Api>(brokerId: number, api: A, version: number, body: RequestInput<A>): Promise<ResponseOf<A>>
}

/**
 * Another broker did not answer. If `isUnsent` is true, it certainly did not make the change; otherwise it may have
 * made it.
 */
export class PeerUnavailable extends Error {
  override readonly name = 'PeerUnavailable'
  readonly brokerId: number
  /** Continues a sentence after the name of the broker: `cannot be reached`. */
  readonly what: string
  readonly isUnsent: boolean

  constructor(brokerId: number, what: string, isUnsent: boolean, options?: ErrorOptions) {
    super(`broker ${brokerId} ${what}`, options)
    this.brokerId = brokerId
    this.what = what
    this.isUnsent = isUnsent
  }
}

/**
 * Returns the address at which other brokers reach this broker: its first listener (docs/decisions/0046). Null while
 * the broker does not serve clients.
 */
export function endpointForPeers({ endpoints }: Pick<BrokerInfo, 'endpoints'>): Endpoint | null {
  return endpoints[0] ?? null
}
