// The API schema of an error. http/problems.ts lists the errors and their statuses.

import { z } from 'zod'

/** The body of every error response. */
export const problemShape = z
  .object({
    type: z.string().meta({ description: 'Always about:blank. The code names the problem.' }),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string().meta({ description: 'A stable name in capitals. An error of the Kafka protocol keeps its name.' }),
    fields: z.record(z.string(), z.string()).optional().meta({
      description:
        'The error of each field, by the name that the client sent: `limit`, or `offsets.0.before` for a nested field.',
    }),
    requestId: z.string(),
  })
  .meta({ id: 'Problem', description: 'An error (RFC 9457).' })

export type ProblemBody = z.infer<typeof problemShape>

/** The reason why one part of a response failed while the rest succeeded. */
export const troubleShape = z.object({ code: z.string(), detail: z.string() })

/** Another broker that did not answer, and the reason. */
export const silentBrokerFields = { brokerId: z.int(), reason: z.string() }
