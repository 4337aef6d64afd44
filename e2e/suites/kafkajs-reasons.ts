// The reasons why tests of kafkajs's suite do not pass, and whose limit it is. The first row that matches a test's
// name or its failure applies. "As on Apache Kafka 4.2.0" means that the same suite was run there too.

import type { Outcome, Reason } from './outcomes.ts'

interface Row extends Reason {
  readonly test?: RegExp
  readonly detail?: RegExp
}

const rows: readonly Row[] = [
  {
    detail: /does not support the requested SASL mechanism/,
    fault: 'chosen',
    why: 'It logs in with SCRAM-SHA-512, which the specification does not have.',
  },
  {
    test: /reauthenticate\.spec/,
    fault: 'chosen',
    why: 'It skips itself without OAUTHBEARER, for which it has tokens without a signature. The specification refuses those.',
  },
  {
    test: /Acls\.spec/,
    fault: 'chosen',
    why: 'It changes rules over the Kafka port. The suite runs with ACLs off, and then only the admin API does that.',
  },
  { detail: /Transactional Id authorization failed/, fault: 'needs transactions', why: 'It begins a transaction.' },
  {
    test: /Txn\.spec|txnOffsetCommit|initProducerId\.spec/,
    fault: 'needs transactions',
    why: 'It begins a transaction.',
  },
  {
    test: /PartitionReassignments/,
    fault: 'needs several brokers',
    why: 'It moves partitions between brokers. With one there is nothing to move.',
  },
  {
    test: /manual replica assignment|deleteTopicRecords|metadata for all brokers|describe broker configs|idempotentProduceMessages|brokerPool|findGroupCoordinator|alter broker configs|broker is not the partition leader/,
    fault: 'needs several brokers',
    why: 'It names the brokers 0, 1 and 2, expects partitions with different leaders, or needs a broker that is neither leader nor coordinator.',
  },
  // KafkaJS does not show the message of FindCoordinator's error.
  { detail: /Failed to find group coordinator/, fault: 'needs transactions', why: 'It begins a transaction.' },
  {
    test: /ListOffsets v0/,
    detail: /Closed connection/,
    fault: 'the suite',
    why: 'It sends ListOffsets 0 without a look at ApiVersions, and Kafka 4 no longer serves that version. As on Apache Kafka 4.2.0.',
  },
  {
    detail: /not aware of this member/,
    test: /heartbeat\.spec|offsetCommit\.spec|offsetFetch\.spec|errorRecovery\.spec/,
    fault: 'the suite',
    why: 'It joins with a rebalance timeout of 0, and from Kafka 3.0 on that is also the time in which a member has to sync. As on Apache Kafka 4.2.0.',
  },
  {
    test: /broker.*describeConfigs\.spec/,
    fault: 'the suite',
    why: 'It expects the list of topic configs of Kafka 2.4. As on Apache Kafka 4.2.0.',
  },
  {
    test: /max timestamp difference/,
    fault: 'the suite',
    why: 'It sets `message.timestamp.difference.max.ms`, which Kafka 4 no longer has. As on Apache Kafka 4.2.0.',
  },
  {
    test: /request timeout event/,
    fault: 'the suite',
    why: 'It expects that a broker takes longer than one millisecond to answer.',
  },
  {
    test: /default replication factor and num partitions/,
    fault: 'chosen',
    why: 'It reads the broker configs `default.replication.factor` and `num.partitions`. Broker configs are the settings of Ketch, where topic patterns say how many partitions a topic has.',
  },
  {
    test: /fetch\.spec|request queue size/,
    fault: 'the suite',
    why: 'It skips itself: written for Kafka 0.10, or switched off by its authors.',
  },
]

/** Returns the reason for a test that does not pass; null if there is no explanation. */
export function reasonFor({ name, detail, result }: Outcome): Reason | null {
  if (result === 'passed') return null
  return rows.find(row => (row.test?.test(name) ?? true) && (row.detail?.test(detail) ?? true)) ?? null
}
