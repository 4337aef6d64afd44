// The table of all kinds of documents in a store. The store does not know the meaning of a kind; the table names the
// room that reads it. src/store/unreadable.longer.test.ts tests for each kind how a broker behaves if it cannot read
// a document.

/** Each kind, the content of its documents, and the room that reads them. */
const kinds = Object.freeze({
  acl: 'the rules of one principal (auth)',
  'agent-confirmations': 'the changes that agents have asked for and not yet confirmed (mcp)',
  broker: 'one broker that lives (cluster)',
  catalogue: 'the cluster id and every topic (log)',
  console: 'the users of the console (auth)',
  credential: 'the credential of one Kafka client (auth)',
  dictionaries: 'which dictionaries one topic has (log)',
  dictionary: 'one version of a dictionary (log)',
  'ended-session': 'a session that was ended before its time (auth)',
  group: 'one consumer group with its offsets (coordinator)',
  leads: 'the leader epochs that one broker leads with (cluster)',
  offload: 'the offload jobs of one topic (tier)',
  'producer-ids': 'nothing: its version numbers the blocks of producer ids (coordinator)',
  quotas: 'the quotas of all clients (coordinator)',
  'schema-content': 'one schema, by the digest of its content (registry)',
  'schema-id': 'which schema one id belongs to (registry)',
  'schema-subject': 'the versions, the level and the mode of one subject (registry)',
  schemas: 'the counter of schema ids, the global level, and which subjects have changed (registry)',
  segments: 'the sealed segments of one partition (log)',
  'sign-in-failures': 'counters of failed sign-ins (auth)',
  'signing-key': 'a random key that all brokers share (auth)',
  tier: 'what changed in the remote tier (tier)',
  worker: 'the lease of the storage worker (tier)',
})

export type DocumentKind = keyof typeof kinds

export const documentKinds: readonly DocumentKind[] = Object.freeze(Object.keys(kinds) as DocumentKind[])
