// DescribeBrokerMetrics: our own API, with which brokers ask each other for their metrics (docs/decisions/0032).
// ApiVersions does not name it. A percentile without a measurement is NaN. Times are durations, because brokers have
// no common clock; only `commonStep` follows the wall clock of the broker.

import { api, array, bool, float64, int16, int32, int64, struct } from '../schema.ts'

const percentiles = () => struct({ p50: float64(), p95: float64(), p99: float64() })

export const describeBrokerMetrics = api({
  key: 30_001,
  name: 'DescribeBrokerMetrics',
  versions: '0',
  flexible: '0+',
  request: {
    /** Whether the answer has the steps of the history. */
    withHistory: bool(),
  },
  response: {
    throttleTimeMs: int32(),
    errorCode: int16(),
    metrics: struct(
      {
        uptimeMs: float64(),
        activeConnections: float64(),
        backpressureConnections: float64(),
        pendingBytes: float64(),
        /** From here on, the counters since the start of the broker. */
        messages: float64(),
        bytes: float64(),
        messagesOut: float64(),
        bytesOut: float64(),
        requests: float64(),
        rebalances: float64(),
        brokerFailures: float64(),
        lossyRecords: float64(),
        /** In the last step. */
        requestsPerSecond: float64(),
        requestLatencyMs: percentiles(),
        /** A share of all cores of the machine. */
        cpuUsage: float64(),
        memoryBytes: float64(),
      },
      '0+',
    ),
    /** The number of completed steps. */
    steps: int64('0+'),
    nextStepMs: float64('0+'),
    /** The number of the newest step on the common grid. */
    commonStep: int64('0+'),
    intervalMs: float64('0+'),
    isHistoryServed: bool('0+'),
    /** Oldest first. Neighbours are one step apart. */
    history: array(
      {
        messagesInPerSecond: float64(),
        bytesInPerSecond: float64(),
        messagesOutPerSecond: float64(),
        bytesOutPerSecond: float64(),
        requestsPerSecond: float64(),
        produceRequestsPerSecond: float64(),
        fetchRequestsPerSecond: float64(),
        brokerFailuresPerSecond: float64(),
        lossyRecordsPerSecond: float64(),
        activeConnections: float64(),
        backpressureConnections: float64(),
        requestLatencyMs: percentiles(),
        produceLatencyMs: percentiles(),
      },
      '0+',
    ),
  },
})
