// CreatePartitions 0-3: gives topics more partitions, or with validateOnly says whether it could. The rules are in
// admin/partitions.ts.
//
// One row for each topic name; a name that is given twice is refused with INVALID_REQUEST in its one row, as in Kafka.
// The answer comes when the partitions are durable and take appends. After the client's timeout it is
// REQUEST_TIMED_OUT, although the partitions may still be created. Clients see them in their next Metadata.

import { createPartitions as create } from '../../admin/partitions.ts'
import { isRefusal, NONE } from '../../protocol/errors.ts'
import { createPartitions } from '../../protocol/messages/create-partitions.ts'
import { handler } from '../handler.ts'
import { onTopics } from '../needs.ts'

export const createPartitionsHandler = handler(createPartitions, rooms => ({
  needs: ({ body }) => onTopics('ALTER', 'name', body.topics),
  async answer({ body: { topics, validateOnly, timeoutMs } }) {
    const requests = topics.map(({ name, count, assignments }) => ({
      name,
      count,
      assignments: assignments?.map(each => each.brokerIds) ?? null,
    }))
    const outcomes = await create(rooms, requests, { validateOnly, timeoutMs })
    const results = outcomes.map(({ name, result }) =>
      isRefusal(result)
        ? { name, errorCode: result.code, errorMessage: result.message }
        : { name, errorCode: NONE, errorMessage: null },
    )
    return { results }
  },
  refused: ({ body }, { code, message }) => ({
    results: body.topics.map(({ name }) => ({ name, errorCode: code, errorMessage: message })),
  }),
}))
