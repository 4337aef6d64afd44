// A sentence for people that an answer has beside its result.

import { z } from 'zod'

export const noticeShape = z.string().nullable().meta({
  description: 'Why the change has no effect on Kafka clients yet, as a sentence; null when it has one.',
})
