// DescribeTopicMetrics 0: an API that Kafka does not have. Brokers use it to ask each other for the rates of topics
// (docs/decisions/0032). ApiVersions does not name it.

import { listTopicsForPeer, stepsOf } from '../../admin/metrics.ts'
import { NONE } from '../../protocol/errors.ts'
import { describeTopicMetrics } from '../../protocol/messages/describe-topic-metrics.ts'
import { handler } from '../handler.ts'
import { onCluster } from '../needs.ts'

export const describeTopicMetricsHandler = handler(describeTopicMetrics, rooms => ({
  needs: () => [onCluster('CLUSTER_ACTION')],
  answer: ({ body: { names, samples } }) => ({
    throttleTimeMs: 0,
    errorCode: NONE,
    ...stepsOf(rooms.history),
    topics: listTopicsForPeer(rooms, names, samples),
  }),
  refused: (_, { code }) => ({ throttleTimeMs: 0, errorCode: code }),
}))
