// The rooms of the holder's work that all topics of a term of the lease share. Only shapes.

import type { EncoderThreads } from '../columns/encoder-thread.ts'
import type { SummarizeGroup } from '../columns/verify.ts'
import type { EncoderMemory } from '../offload/encoder-memory.ts'
import type { SizeRatios } from '../offload/file-plan.ts'
import type { OffloadSettings } from '../offload/pipeline.ts'
import type { OffloadMeters } from './offload-meters.ts'
import type { HolderLogs } from './remote-rounds.ts'
import type { TierParts } from './tier-parts.ts'
import type { Term } from './topic-table.ts'

export interface WorkRooms {
  readonly parts: TierParts
  readonly term: Term
  readonly logs: HolderLogs
  readonly encoders: EncoderThreads
  readonly memory: EncoderMemory
  readonly ratios: SizeRatios
  readonly meters: OffloadMeters
  readonly summarize: SummarizeGroup
  readonly settings: OffloadSettings & { readonly maxFileWaitMs: number; readonly maxAttempts: number }
}
