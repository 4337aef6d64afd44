// The API schemas of idempotent producers.

import { z } from 'zod'
import { pagingQuery } from './paging.ts'
import { timeShape } from './time.ts'

export const producerShape = z
  .object({
    topic: z.string(),
    partition: z.int(),
    producerId: z.int(),
    epoch: z.int(),
    lastSequence: z.int(),
    lastOffset: z.int(),
    lastAppendAt: timeShape,
  })
  .meta({ id: 'Producer' })

export const producerListQuery = pagingQuery(['topic', 'producerId', 'lastAppendAt'])
export const producerListShape = z.object({ brokerId: z.int(), producers: z.array(producerShape), total: z.int() })
