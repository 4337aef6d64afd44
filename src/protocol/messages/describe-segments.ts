// DescribeSegments: our own API, with which brokers ask the leader of a partition for a page of its segments.
// ApiVersions does not name it. A number of a segment that the leader does not know is NaN.

import {
  api,
  array,
  bool,
  float64,
  int8,
  int16,
  int32,
  int64,
  nullable,
  string,
  struct,
  tagged,
  uuid,
} from '../schema.ts'

export const describeSegments = api({
  key: 30_005,
  name: 'DescribeSegments',
  versions: '0',
  flexible: '0+',
  request: {
    topicId: uuid(),
    partition: int32(),
    /** The number of segments to leave out, the oldest first. */
    skip: int32(),
    /** The most segments in the answer. */
    limit: int32(),
  },
  response: {
    throttleTimeMs: int32(),
    errorCode: int16(),
    errorMessage: nullable(string('0+', null)),
    startOffset: int64('0+'),
    endOffset: int64('0+'),
    /** The first offset that no pass of the cleaner has reached. */
    cleanedTo: int64('0+'),
    /** Why the partition cannot be cleaned, and the offset of the batch that prevents it; null if it can. */
    uncleanable: nullable(struct({ offset: int64(), why: string() }, '0+', null)),
    /** False if the leader cannot read the document of the sealed segments. */
    areReadable: bool('0+'),
    /** The number of all segments. */
    total: int32('0+'),
    segments: array(
      {
        base: int64(),
        next: int64(),
        isActive: bool(),
        sealedAtMs: float64(),
        bytes: float64(),
        plainBytes: float64(),
        batches: float64(),
        records: float64(),
        minTimestamp: float64(),
        maxTimestamp: float64(),
        firstAppendMs: float64(),
        lastAppendMs: float64(),
        epochs: array({ epoch: int32(), startOffset: int64() }),
        cleanedAtMs: float64(),
        /** The index in SEGMENT_TIERS of api/words.ts. */
        tier: tagged(0, int8('0+', 0)),
      },
      '0+',
    ),
    /** The lowest offset in the local tier; -1 from a leader that knows no remote tier. */
    localStartOffset: tagged(0, int64('0+', -1)),
    /** The version of the table that the ranges are of; -1 if the topic does not use the remote tier. */
    remoteVersion: tagged(1, int64('0+', -1)),
    /** The offsets that the remote tier has, ascending. */
    ranges: tagged(2, array({ base: int64(), next: int64() }, '0+')),
  },
})
