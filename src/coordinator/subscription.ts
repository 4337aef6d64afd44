// The one thing the broker reads of what consumers tell each other: the topics in a subscription of the `consumer`
// protocol. Not the schema of that message (protocol/messages/consumer-protocol.ts is): version 0 is the prefix of
// every version, and metadata that does not fit it belongs to a client with its own ideas, which is no error.

const strict = new TextDecoder('utf-8', { fatal: true })

/** The topics, or null when the bytes are not a ConsumerProtocolSubscription. Never throws. */
export function subscribedTopics(metadata: Uint8Array): ReadonlySet<string> | null {
  const view = new DataView(metadata.buffer, metadata.byteOffset, metadata.byteLength)
  if (view.byteLength < 6 || view.getInt16(0) < 0) return null
  const count = view.getInt32(2)
  if (count < 0 || count * 2 > view.byteLength - 6) return null
  const topics = new Set<string>()
  let at = 6
  for (let index = 0; index < count; index++) {
    if (at + 2 > view.byteLength) return null
    const end = at + 2 + view.getInt16(at)
    if (end < at + 2 || end > view.byteLength) return null
    try {
      topics.add(strict.decode(metadata.subarray(at + 2, end)))
    } catch {
      return null
    }
    at = end
  }
  return topics
}
