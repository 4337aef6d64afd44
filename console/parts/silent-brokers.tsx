// The brokers whose part of an answer is missing, each with its reason.

import type { SilentBroker } from '../../src/api/groups.ts'

interface SilentBrokersProps {
  readonly brokers: readonly SilentBroker[]
  /** The missing part: `groups`, `traffic`. */
  readonly of: string
}

export function SilentBrokers({ brokers, of }: SilentBrokersProps) {
  return (
    <div role="status">
      {brokers.length > 0 && (
        <div className="mb-3 rounded-card border border-warn bg-warn-soft p-3 text-warn">
          {brokers.map(({ brokerId, reason }) => (
            <p key={brokerId}>
              Without the {of} of broker {brokerId}: {reason}
            </p>
          ))}
        </div>
      )}
    </div>
  )
}
