// DescribeBrokerMetrics 0: an API that Kafka does not have. Brokers use it to ask each other for their metrics
// (docs/decisions/0032). ApiVersions does not name it.

import { measureBroker, stepsOf } from '../../admin/metrics.ts'
import { NONE } from '../../protocol/errors.ts'
import { describeBrokerMetrics } from '../../protocol/messages/describe-broker-metrics.ts'
import { handler } from '../handler.ts'
import { onCluster } from '../needs.ts'

export const describeBrokerMetricsHandler = handler(describeBrokerMetrics, rooms => ({
  needs: () => [onCluster('CLUSTER_ACTION')],
  answer: ({ body }) => ({
    throttleTimeMs: 0,
    errorCode: NONE,
    metrics: measureBroker(rooms),
    ...stepsOf(rooms.history),
    history: body.withHistory ? rooms.history.samples() : [],
  }),
  refused: (_, { code }) => ({ throttleTimeMs: 0, errorCode: code }),
}))
