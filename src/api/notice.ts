// The notice: a sentence for people that a response carries beside its result.

import { z } from 'zod'

export const noticeShape = z.string().nullable().meta({
  description: 'A sentence that says why the change has no effect on Kafka clients yet; null if it has an effect.',
})
