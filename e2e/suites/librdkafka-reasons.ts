// For each test of librdkafka's suite that does not pass: who answers for it, and why. A test that passes has no line here.

import type { Reason } from './outcomes.ts'

const transactions: Reason = { fault: 'needs transactions', why: 'A part of it begins a transaction.' }
const compaction: Reason = { fault: 'needs compaction', why: '`cleanup.policy=compact` is refused.' }
const knownIssue: Reason = { fault: 'the suite', why: 'The suite leaves it out: a known issue of librdkafka.' }

export const reasons: Readonly<Record<string, Reason>> = {
  '0011_produce_batch': compaction,
  '0028_long_topicnames': knownIssue,
  '0047_partial_buf_tmout': knownIssue,
  '0055_producer_latency': transactions,
  '0061_consumer_lag': transactions,
  '0077_compaction': compaction,
  '0092_mixed_msgver': {
    fault: 'the suite',
    why: 'It skips itself from Kafka 4.0 on, without message formats 0 and 1.',
  },
}
