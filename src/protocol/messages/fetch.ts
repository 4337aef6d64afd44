// Fetch: reads record batches from partitions, waiting for minBytes up to maxWaitMs.
// Names: 4-12, topic ids: 13+ (KIP-516). 7: sessions (KIP-227). 9: leader epochs (KIP-320). 16: nodeEndpoints
// (KIP-951). The replica fields are a follower's; an ordinary consumer leaves them at their fallback.

import {
  api,
  array,
  INT64_MAX,
  int8,
  int16,
  int32,
  int64,
  nullable,
  records,
  string,
  struct,
  tagged,
  uuid,
} from '../schema.ts'

export const fetch = api({
  key: 1,
  name: 'Fetch',
  versions: '4-18',
  flexible: '12+',
  request: {
    clusterId: tagged(0, nullable(string('12+', null))),
    replicaId: int32('4-14', -1),
    replicaState: tagged(
      1,
      struct(
        {
          replicaId: int32('15+', -1),
          replicaEpoch: int64('15+', -1),
        },
        '15+',
      ),
    ),
    maxWaitMs: int32(),
    minBytes: int32(),
    maxBytes: int32('4+', 0x7fffffff),
    isolationLevel: int8('4+', 0),
    sessionId: int32('7+', 0),
    sessionEpoch: int32('7+', -1),
    topics: array({
      topic: string('4-12'),
      topicId: uuid('13+'),
      partitions: array({
        partition: int32(),
        currentLeaderEpoch: int32('9+', -1),
        fetchOffset: int64(),
        lastFetchedEpoch: int32('12+', -1),
        logStartOffset: int64('5+', -1),
        partitionMaxBytes: int32(),
        replicaDirectoryId: tagged(0, uuid('17+')),
        highWatermark: tagged(1, int64('18+', INT64_MAX)),
      }),
    }),
    forgottenTopicsData: array(
      {
        topic: string('7-12'),
        topicId: uuid('13+'),
        partitions: array(int32()),
      },
      '7+',
    ),
    rackId: string('11+', ''),
  },
  response: {
    throttleTimeMs: int32('0+'),
    errorCode: int16('7+'),
    sessionId: int32('7+', 0),
    responses: array({
      topic: string('4-12'),
      topicId: uuid('13+'),
      partitions: array({
        partitionIndex: int32(),
        errorCode: int16(),
        highWatermark: int64(),
        lastStableOffset: int64('4+', -1),
        logStartOffset: int64('5+', -1),
        divergingEpoch: tagged(
          0,
          struct(
            {
              epoch: int32('12+', -1),
              endOffset: int64('12+', -1),
            },
            '12+',
          ),
        ),
        currentLeader: tagged(
          1,
          struct(
            {
              leaderId: int32('12+', -1),
              leaderEpoch: int32('12+', -1),
            },
            '12+',
          ),
        ),
        snapshotId: tagged(
          2,
          struct(
            {
              endOffset: int64('12+', -1),
              epoch: int32('12+', -1),
            },
            '12+',
          ),
        ),
        abortedTransactions: nullable(
          array({
            producerId: int64(),
            firstOffset: int64(),
          }),
        ),
        preferredReadReplica: int32('11+', -1),
        records: nullable(records()),
      }),
    }),
    nodeEndpoints: tagged(
      0,
      array(
        {
          nodeId: int32(),
          host: string(),
          port: int32(),
          rack: nullable(string('16+', null)),
        },
        '16+',
      ),
    ),
  },
})
