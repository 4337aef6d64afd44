// The features that ApiVersions reports (KIP-584). Clients rely on a finalized feature, so a row is reported only when
// all of its APIs are served. There is no other switch.

export interface Feature {
  readonly name: string
  /** The versions that this broker supports. */
  readonly min: number
  readonly max: number
  /** The finalized version. */
  readonly level: number
  /** Keys of the APIs that the broker must serve before it reports the feature. */
  readonly needs: readonly number[]
}

export const features: readonly Feature[] = Object.freeze([
  // ConsumerGroupHeartbeat, ConsumerGroupDescribe (KIP-848).
  { name: 'group.version', min: 0, max: 1, level: 1, needs: [68, 69] },
  // InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, TxnOffsetCommit (KIP-890).
  { name: 'transaction.version', min: 0, max: 2, level: 2, needs: [22, 24, 25, 26, 28] },
  // ShareGroupHeartbeat, ShareGroupDescribe, ShareFetch, ShareAcknowledge (KIP-932).
  { name: 'share.version', min: 0, max: 1, level: 1, needs: [76, 77, 78, 79] },
  // StreamsGroupHeartbeat, StreamsGroupDescribe (KIP-1071).
  { name: 'streams.version', min: 0, max: 1, level: 1, needs: [88, 89] },
])
