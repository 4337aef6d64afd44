// An error as the admin API answers it. http/problems.ts lists the problems and their statuses.

import { z } from 'zod'

/** The body of an answer that is no success. */
export const problemShape = z
  .object({
    type: z.string().meta({ description: 'Always about:blank: the code says which problem it is.' }),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string().meta({ description: 'Stable, in capitals; a refusal of Kafka keeps its name.' }),
    fields: z.record(z.string(), z.string()).optional().meta({
      description:
        'The objection to each field, by the name that the client sent: `limit`, or deeper `offsets.0.before`.',
    }),
    requestId: z.string(),
  })
  .meta({ id: 'Problem', description: 'An error (RFC 9457).' })

export type ProblemBody = z.infer<typeof problemShape>

/** Why one part of an answer failed, while the rest is good. */
export const troubleShape = z.object({ code: z.string(), detail: z.string() })

/** Another broker that did not answer. */
export const silentBrokerFields = { brokerId: z.int(), reason: z.string() }
