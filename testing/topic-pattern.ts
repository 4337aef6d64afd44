// Makes an entry of `svc.topics` for tests.

import type { TopicPattern } from '../src/settings/settings.ts'

/** Returns a pattern that sets only the given fields. */
export function topicPattern(name: string, fields: Partial<TopicPattern> = {}): TopicPattern {
  return {
    name,
    autoCreate: null,
    partitions: null,
    offsetSequenceBits: null,
    compression: null,
    remoteStorageEnabled: null,
    cleanupPolicy: null,
    retention: null,
    retentionBytes: null,
    localRetention: null,
    localRetentionBytes: null,
    segmentMs: null,
    segmentBytes: null,
    maxMessageBytes: null,
    messageTimestampType: null,
    ...fields,
  }
}
