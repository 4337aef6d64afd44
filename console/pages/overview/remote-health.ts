// The remote tier as the health of the broker tells it: the backlog and a warning. The overview reads the health in any
// case.

import type { HealthInFull } from '../../../src/api/health.ts'

export interface RemoteHealth {
  readonly isOpen: boolean
  /** Sentences about everything that keeps segments from their tables; null if nothing does. */
  readonly warning: string | null
  /** The sealed segments that wait; null until the storage worker reports them. */
  readonly segments: number | null
  readonly bytes: number | null
  readonly ageSeconds: number | null
}

const numberOf = (value: unknown) => (typeof value === 'number' ? value : null)

/** Returns null on a broker without a remote tier, and without a topic that needs one. */
export function remoteHealthOf(health: HealthInFull | undefined): RemoteHealth | null {
  const details = health?.details.components.remoteStorage?.details
  if (details === undefined) return null
  const { breaker, warning, backlogSegments, backlogBytes, backlogAgeSeconds } = details
  return {
    isOpen: breaker === 'open',
    warning: typeof warning === 'string' ? warning : null,
    segments: numberOf(backlogSegments),
    bytes: numberOf(backlogBytes),
    ageSeconds: numberOf(backlogAgeSeconds),
  }
}
