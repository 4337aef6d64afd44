// CreatePartitions 0-3: adds partitions to topics. With validateOnly it only says whether it could. The rules are in
// admin/partitions.ts.
//
// The answer has one row for each topic name. A name that is given twice has one row with INVALID_REQUEST, as in
// Kafka. The answer is sent when the partitions are durable and accept appends. After the client's timeout the answer
// is REQUEST_TIMED_OUT, although the partitions may still be created. Clients see them in their next Metadata.

import { createPartitions as create } from '../../admin/partitions.ts'
import { isRefusal, NONE } from '../../protocol/errors.ts'
import { createPartitions } from '../../protocol/messages/create-partitions.ts'
import { handler } from '../handler.ts'
import { onTopics } from '../needs.ts'

export const createPartitionsHandler = handler(createPartitions, rooms => ({
  needs: ({ body }) => onTopics('ALTER', 'name', body.topics),
  audit: ({ body }) => ({ verb: 'create partitions', what: body.topics.map(({ name }) => name) }),
  async answer({ body: { topics, validateOnly, timeoutMs }, permissions }) {
    const denied = (name: string) => permissions.topic('name', name)
    const allowed = topics.filter(({ name }) => denied(name) === null)
    const requests = allowed.map(({ name, count, assignments }) => ({
      name,
      count,
      assignments: assignments?.map(each => each.brokerIds) ?? null,
    }))
    const outcomes = await create(rooms, requests, { validateOnly, timeoutMs })
    const outcomeOf = new Map<string, unknown>(outcomes.map(({ name, result }) => [name, result]))
    const results = Array.from(new Set(topics.map(({ name }) => name)), name => {
      const result = denied(name) ?? outcomeOf.get(name)
      return isRefusal(result)
        ? { name, errorCode: result.code, errorMessage: result.message }
        : { name, errorCode: NONE, errorMessage: null }
    })
    return { results }
  },
  refused: ({ body }, { code, message }) => ({
    results: body.topics.map(({ name }) => ({ name, errorCode: code, errorMessage: message })),
  }),
}))
