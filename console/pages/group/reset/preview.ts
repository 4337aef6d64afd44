// A preview of a reset: the request, the answer of the dry run, and how the answer differs from the one before.

import type { Reset } from '../../../../src/api/groups.ts'
import type { Changes } from './reset-effects.ts'
import type { Asked } from './reset-request.ts'

/** The preview that the user sees, with the request that it answers. */
export interface Preview {
  readonly asked: Asked
  readonly answer: Reset
  /** The differences from the preview before; null for a first preview. */
  readonly changes: Changes | null
  /** True if the broker refused the preview before. */
  readonly isRefused: boolean
}
