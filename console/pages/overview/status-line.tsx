// One line that says whether the broker is well.

import type { Capabilities } from '../../../src/api/capabilities.ts'
import type { HealthInFull } from '../../../src/api/health.ts'
import { type Read, useRead } from '../../api/queries.ts'
import { Badge } from '../../parts/badge.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { counted } from '../../text/format.ts'
import { failedChecks } from './attention.ts'

const STORES: Readonly<Record<Capabilities['store']['engine'], string>> = {
  embedded: 'embedded store',
  redis: 'Redis',
  'redis-cluster': 'Redis Cluster',
}

export function StatusLine({ health }: { readonly health: Read<HealthInFull> }) {
  const capabilities = useCapabilities()
  const { data, problem } = health
  // The answer that the page asks for anyway; the capabilities are those of the time when the console was opened.
  const list = useRead('list brokers', {}, { isWanted: false }).data
  const brokers = list?.brokers.length ?? new Set(capabilities?.listeners.map(({ brokerId }) => brokerId)).size
  const failed = failedChecks(data)
  return (
    <p
      role="status"
      data-health={problem === null ? data?.status : 'unknown'}
      className="mt-1 flex min-h-5 flex-wrap items-center gap-x-2"
    >
      {problem !== null ? (
        <Badge tone="neutral" title={problem.detail}>
          Not known
        </Badge>
      ) : data === undefined ? null : data.status === 'UP' ? (
        <Badge tone="ok">Up</Badge>
      ) : (
        <>
          <Badge tone="danger">Degraded</Badge>
          <span className="text-danger">{failed.join(', ')}</span>
        </>
      )}
      {capabilities !== undefined && (
        <span title={capabilities.store.description}>
          {counted(brokers, 'broker')} · {STORES[capabilities.store.engine]} · Ketch {capabilities.version}
        </span>
      )}
    </p>
  )
}
