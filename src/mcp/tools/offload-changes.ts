// Tools that move offload jobs: retry one, and cancel one. Which moves a job allows is decided in tier/.

import { z } from 'zod'
import { cancelJob, previewJob, retryJob } from '../../admin/shown-jobs.ts'
import { offloadJobParams, offloadJobShape, type ShownJob } from '../../api/offload-jobs.ts'
import { digestOf } from '../digest.ts'
import { changing, type JsonValue, type McpRooms, type Preview, type Refused } from '../tool.ts'

const { id: jobArgument } = offloadJobParams.shape

export const offloadChangeTools = [
  changing({
    name: 'retry_offload_job',
    title: 'Retry offload job',
    description:
      'Gives a failed or cancelled offload job all of its attempts again. The storage worker then moves its segment to the remote tier.',
    input: z.strictObject({ id: jobArgument }),
    audited: ['id'],
    isDestructive: false,
    changes: {
      preview: ({ id }, rooms) => preview(rooms, id, 'retry'),
      async apply({ id }, pins, rooms) {
        return moved(await retryJob(rooms, id, pinsShape.parse(pins)))
      },
    },
  }),

  changing({
    name: 'cancel_offload_job',
    title: 'Cancel offload job',
    description:
      'Cancels a pending or failed offload job. Its segment stays in the local tier until the job is retried, or until total retention drops it.',
    input: z.strictObject({ id: jobArgument }),
    audited: ['id'],
    isDestructive: false,
    changes: {
      preview: ({ id }, rooms) => preview(rooms, id, 'cancel'),
      async apply({ id }, pins, rooms) {
        return moved(await cancelJob(rooms, id, pinsShape.parse(pins)))
      },
    },
  }),
]

const pinsShape = z.strictObject(offloadJobShape.pick({ status: true, suspended: true, attempts: true }).shape)

async function preview(rooms: McpRooms, id: string, by: 'retry' | 'cancel'): Promise<Preview | Refused> {
  const found = await previewJob(rooms, id, by)
  if ('kind' in found) return found
  const { before, after } = found
  const { topic, topicId, partition, base, next, bytes, failure } = before
  const pins: JsonValue = stateOf(before)
  return {
    shown: {
      change: `${by} offload job`,
      job: { id, topic, topicId, partition, base, next, bytes, failure },
      before: stateOf(before),
      after: stateOf(after),
    },
    state: digestOf(pins),
    pins,
  }
}

function stateOf({ status, suspended, attempts }: ShownJob) {
  return { status, suspended, attempts }
}

function moved(job: ShownJob | Refused) {
  return 'kind' in job ? job : { body: { job: { id: job.id, ...stateOf(job) } } }
}
