// How a verb asks another broker of the cluster what only that one knows: the partitions that it leads, the groups that it
// coordinates. The question is a request of the Kafka protocol; kafka/peers.ts sends it.

import type { Api, RequestInput, ResponseOf } from '../protocol/schema.ts'

export interface Peers {
  /** Throws PeerUnavailable when the broker does not live, cannot be reached, or does not answer in time. */
  ask<A extends Api>(brokerId: number, api: A, version: number, body: RequestInput<A>): Promise<ResponseOf<A>>
}

/** Another broker did not answer. `isUnsent` tells that it certainly did not do what was asked; else it may have. */
export class PeerUnavailable extends Error {
  override readonly name = 'PeerUnavailable'
  readonly brokerId: number
  readonly isUnsent: boolean

  /** `what` follows the name of the broker: `cannot be reached`. */
  constructor(brokerId: number, what: string, isUnsent: boolean, options?: ErrorOptions) {
    super(`broker ${brokerId} ${what}`, options)
    this.brokerId = brokerId
    this.isUnsent = isUnsent
  }
}
