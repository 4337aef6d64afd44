// The reasons why tests of librdkafka's suite do not pass, and whose limit it is. A test that passes has no line
// here.

import type { Reason } from './outcomes.ts'

const transactions: Reason = { fault: 'needs transactions', why: 'A part of it begins a transaction.' }
const withoutSecurity: Reason = {
  fault: 'needs TLS, SASL or ACLs',
  why: 'It skips itself if the brokers have no TLS or SASL.',
}
const acls: Reason = {
  fault: 'chosen',
  why: 'It denies operations with `kafka-acls.sh`. Rules of the specification only allow.',
}
const replicas: Reason = { fault: 'needs several brokers', why: 'It creates topics with three replicas.' }
const share: Reason = { fault: 'needs share groups', why: 'It consumes as a member of a share group (KIP-932).' }
const knownIssue: Reason = { fault: 'the suite', why: 'The suite leaves it out: a known issue of librdkafka.' }

export const reasons: Readonly<Record<string, Reason>> = {
  '0028_long_topicnames': knownIssue,
  '0047_partial_buf_tmout': knownIssue,
  '0055_producer_latency': transactions,
  '0061_consumer_lag': transactions,
  '0081_admin': {
    fault: 'chosen',
    why: '`compression.type` other than `producer` is refused, because batches are kept as they were sent. Other parts need ACLs and SCRAM. The parts about partitions, records, groups, offsets, topics and the cluster pass when they are run alone (`SUBTESTS`).',
  },
  '0092_mixed_msgver': {
    fault: 'the suite',
    why: 'It skips itself from Kafka 4.0 on, without message formats 0 and 1.',
  },
  '0097_ssl_verify': withoutSecurity,
  '0098_consumer_txn': transactions,
  '0101_fetch_from_follower': replicas,
  '0103_transactions': transactions,
  '0107_topic_recreate': replicas,
  '0109_auto_create_topics': acls,
  '0111_delay_create_topics': replicas,
  '0115_producer_auth': acls,
  '0119_consumer_auth': acls,
  '0126_oauthbearer_oidc': withoutSecurity,
  '0129_fetch_aborted_msgs': transactions,
  '0135_sasl_credentials': withoutSecurity,
  '0137_barrier_batch_consume': transactions,
  '0142_reauthentication': withoutSecurity,
  '0170_share_consumer_subscription': share,
  '0171_share_consumer_consume': share,
  '0172_share_consumer_acknowledge': share,
  '0173_share_consumer_commit_async': share,
  '0174_share_consumer_concurrency': share,
  '0175_share_consumer_groups': share,
  '0176_share_consumer_commit_sync': share,
  '0177_share_consumer_transactions': share,
  '0178_share_consumer_close': share,
  '0179_share_consumer_destroy': share,
  '0180_share_consumer_config': share,
  '0181_share_consumer_topic_delete': share,
  '0184_share_consumer_topic_recreate': share,
  '0185_share_consumer_max_poll_interval': share,
}

/** With a login this test leaves out its part that denies operations, and passes. */
const { '0109_auto_create_topics': _, ...withoutAcls } = reasons

const withSecurity: Reason = { fault: 'the suite', why: 'It skips itself if the brokers have TLS or SASL.' }

/** The reasons of tests that log in by SCRAM over TLS. */
export const reasonsWithSasl: Readonly<Record<string, Reason>> = {
  ...withoutAcls,
  '0016_client_swname': withSecurity,
  '0018_cgrp_term': withSecurity,
  '0049_consume_conn_close': withSecurity,
  '0052_msg_timestamps': withSecurity,
  '0068_produce_timeout': withSecurity,
  '0075_retry': withSecurity,
  '0077_compaction': withSecurity,
  '0139_offset_validation_mock': withSecurity,
  '0150_telemetry_mock': withSecurity,
  '0097_ssl_verify': { fault: 'the suite', why: 'It skips itself without the certificates of `trivup`.' },
  '0126_oauthbearer_oidc': { fault: 'the suite', why: 'It skips itself with another mechanism than OAUTHBEARER.' },
  '0135_sasl_credentials': { ...replicas, why: 'A part of it creates a topic with three replicas.' },
  '0142_reauthentication': {
    fault: 'chosen',
    why: 'It skips itself if no broker has `connections.max.reauth.ms`, which ends the session of a password too.',
  },
}
