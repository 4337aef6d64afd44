// Reads two messages that consumers send each other through the broker: the topics of a subscription and the
// partitions of an assignment of the `consumer` protocol. It reads only the fields of version 0, because every
// version begins with them. The full schemas are in protocol/messages/consumer-protocol.ts. A client may send other
// bytes, which is not an error. Nothing here throws.

const strict = new TextDecoder('utf-8', { fatal: true })

/** Returns the topics, or null if the bytes are not a ConsumerProtocolSubscription. */
export function subscribedTopics(metadata: Uint8Array): ReadonlySet<string> | null {
  const read = reader(metadata)
  const topics = new Set<string>()
  const isRead = readTopics(read, topic => {
    topics.add(topic)
    return true
  })
  return isRead ? topics : null
}

/** Returns the partitions by topic, or null if the bytes are not a ConsumerProtocolAssignment. */
export function assignedPartitions(assignment: Uint8Array): ReadonlyMap<string, readonly number[]> | null {
  const read = reader(assignment)
  const topics = new Map<string, number[]>()
  const isRead = readTopics(read, topic => {
    const count = read.count(4)
    if (count === null) return false
    const partitions = topics.get(topic) ?? []
    topics.set(topic, partitions)
    for (let index = 0; index < count; index++) partitions.push(read.int32()!)
    return true
  })
  return isRead ? topics : null
}

/**
 * Reads the version (int16) and an array of topics. `rest` reads the fields that follow each topic name. Returns
 * false if the bytes have another form.
 */
function readTopics(read: ReturnType<typeof reader>, rest: (topic: string) => boolean): boolean {
  const version = read.int16()
  const count = read.count(2)
  if (version === null || version < 0 || count === null) return false
  for (let index = 0; index < count; index++) {
    const topic = read.string()
    if (topic === null || !rest(topic)) return false
  }
  return true
}

/** Returns a cursor over the bytes. Each read returns null if the bytes end too early. */
function reader(bytes: Uint8Array) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = 0
  const has = (length: number) => length >= 0 && at + length <= view.byteLength
  const int16 = () => {
    if (!has(2)) return null
    at += 2
    return view.getInt16(at - 2)
  }
  const int32 = () => {
    if (!has(4)) return null
    at += 4
    return view.getInt32(at - 4)
  }
  return {
    int16,
    int32,
    /**
     * Reads a count of elements with at least this many bytes each; null if the remaining bytes are too few for them.
     */
    count(bytesEach: number) {
      const count = int32()
      return count !== null && count >= 0 && has(count * bytesEach) ? count : null
    },
    string() {
      const length = int16()
      if (length === null || !has(length)) return null
      at += length
      try {
        return strict.decode(bytes.subarray(at - length, at))
      } catch {
        return null
      }
    },
  }
}
