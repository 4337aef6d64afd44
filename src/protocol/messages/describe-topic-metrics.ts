// DescribeTopicMetrics: our own API, with which brokers ask each other for the rates of topics
// (docs/decisions/0032). ApiVersions does not name it. A percentile without a measurement is NaN. For `steps`,
// `nextStepMs`, `commonStep` and `intervalMs`, see describe-broker-metrics.ts.

import { api, array, bool, float64, int16, int32, int64, nullable, string, struct } from '../schema.ts'

const traffic = () =>
  struct({
    recordsPerSecond: float64(),
    bytesPerSecond: float64(),
    requestsPerSecond: float64(),
    latencyMs: struct({ p50: float64(), p95: float64(), p99: float64() }),
  })

export const describeTopicMetrics = api({
  key: 30_002,
  name: 'DescribeTopicMetrics',
  versions: '0',
  flexible: '0+',
  request: {
    /** Null: the topics that had traffic in the last step, without samples. */
    names: nullable(array(string())),
    /** The number of newest samples of each named topic. */
    samples: int32(),
  },
  response: {
    throttleTimeMs: int32(),
    errorCode: int16(),
    steps: int64('0+'),
    nextStepMs: float64('0+'),
    commonStep: int64('0+'),
    intervalMs: float64('0+'),
    isHistoryServed: bool('0+'),
    topics: array(
      {
        name: string(),
        produce: traffic(),
        fetch: traffic(),
        /** Oldest first. The last one is of the newest step. */
        samples: array({ recordsPerSecond: float64(), bytesPerSecond: float64() }),
      },
      '0+',
    ),
  },
})
