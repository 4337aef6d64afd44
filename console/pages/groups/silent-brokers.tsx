// The brokers whose groups are missing in a list, each with its reason.

import type { SilentBroker } from '../../../src/api/groups.ts'

export function SilentBrokers({ brokers }: { readonly brokers: readonly SilentBroker[] }) {
  if (brokers.length === 0) return null
  return (
    <div role="status" className="mb-3 rounded-card border border-warn bg-warn-soft p-3 text-warn">
      {brokers.map(({ brokerId, reason }) => (
        <p key={brokerId}>
          The groups of broker {brokerId} are missing: {reason}.
        </p>
      ))}
    </div>
  )
}
