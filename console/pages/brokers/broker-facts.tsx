// The numbers of one broker, as the table of brokers, the cards of a single broker and the page of a broker show them.

import type { ReactNode } from 'react'
import { Bytes, Count, Rate } from '../../parts/amount.tsx'
import { Time } from '../../parts/time.tsx'
import { count, duration, percent, UNKNOWN } from '../../text/format.ts'
import { type SeenBroker, silence } from './seen-brokers.ts'

export interface Fact {
  readonly id: string
  readonly label: string
  readonly unit?: string
  readonly value: (seen: SeenBroker) => ReactNode
}

function why(seen: SeenBroker): string {
  const reason = silence(seen)
  return reason === null ? 'The broker does not tell.' : `The broker does not answer: ${reason}`
}

export const FACTS: readonly Fact[] = [
  {
    id: 'leads',
    label: 'Leads',
    unit: 'partitions',
    value: ({ broker }) => <Count of={broker.leads} />,
  },
  {
    id: 'connections',
    label: 'Connections',
    value: seen => <Count of={seen.broker.activeConnections} why={why(seen)} />,
  },
  {
    id: 'backpressured',
    label: 'Backpressured',
    value: seen => {
      const { backpressureConnections } = seen.broker
      if (backpressureConnections === null || backpressureConnections === 0)
        return <Count of={backpressureConnections} why={why(seen)} />
      return (
        <span
          className="font-medium text-warn"
          title="The broker reads nothing from them, because answers are pending."
        >
          ! {count(backpressureConnections)}
        </span>
      )
    },
  },
  {
    id: 'pending',
    label: 'Pending',
    value: seen => <Bytes of={seen.broker.pendingBytes} why={why(seen)} />,
  },
  {
    id: 'requests',
    label: 'Requests',
    unit: '/s',
    value: seen => <Rate of={seen.broker.requestsPerSecond} why={why(seen)} />,
  },
  {
    id: 'p99',
    label: 'Request p99',
    value: seen => {
      const latency = seen.broker.requestLatencyMs
      const reason = latency === null ? why(seen) : 'The broker answered no request in the last step.'
      return <span title={latency?.p99 == null ? reason : `${latency.p99} ms`}>{duration(latency?.p99)}</span>
    },
  },
  {
    id: 'cpu',
    label: 'CPU',
    value: seen => (
      <span title={seen.broker.cpuUsage === null ? why(seen) : 'Of all cores of its machine, in the last 5 s'}>
        {percent(seen.broker.cpuUsage)}
      </span>
    ),
  },
  {
    id: 'memory',
    label: 'Memory',
    value: seen => <Bytes of={seen.broker.memoryBytes} why={why(seen)} />,
  },
]

export function FactValue({ id, seen }: { readonly id: string; readonly seen: SeenBroker }) {
  return FACTS.find(fact => fact.id === id)?.value(seen)
}

export function UpSince({ seen }: { readonly seen: SeenBroker }) {
  if (seen.upSinceMs === null) return <span title={why(seen)}>{UNKNOWN}</span>
  return (
    <span title={`Up for ${duration(seen.broker.uptimeMs)}`}>
      <Time ms={seen.upSinceMs} />
    </span>
  )
}
