// The six numbers of the overview, each with its course.

import type { ReactNode } from 'react'
import type { MetricsSnapshotBody } from '../../../src/api/metrics.ts'
import { Stat, Stats } from '../../parts/stat.tsx'
import { PageLink } from '../../shell/address.tsx'
import { byteRate, count, counted, duration, rate, UNKNOWN } from '../../text/format.ts'
import type { Course, Sample } from './course.ts'

interface OverviewStatsProps {
  readonly course: Course
  /** The counters since the start, while the broker serves no history. */
  readonly snapshot: MetricsSnapshotBody | undefined
  readonly topics: number | undefined
  readonly partitions: number | undefined
  readonly groups: number | undefined
  /** The time of the course: `the last 15 min`. */
  readonly over: string
}

export function OverviewStats({ course, snapshot, topics, partitions, groups, over }: OverviewStatsProps) {
  const { latest } = course
  const why = snapshot === undefined ? 'No step of the history is complete yet.' : 'The broker serves no history.'
  const all = (of: (sample: Sample) => number | null) =>
    course.samples.length === 0 ? undefined : course.samples.map(sample => (sample === null ? null : of(sample)))
  const common = { over }
  const latency = latest?.requestLatencyMs ?? snapshot?.requestLatencyMs
  const connections = latest?.activeConnections ?? snapshot?.activeConnections
  const heldBack = latest?.backpressureConnections ?? snapshot?.backpressureConnections
  return (
    <Stats>
      <Stat
        {...common}
        label="Records in"
        {...measure(latest && `${rate(latest.messagesInPerSecond)} /s`, latest?.messagesInPerSecond, why)}
        note={`${rate(latest?.messagesOutPerSecond)} out`}
        samples={all(sample => sample.messagesInPerSecond)}
      />
      <Stat
        {...common}
        label="Bytes in"
        {...measure(latest && byteRate(latest.bytesInPerSecond), latest?.bytesInPerSecond, why)}
        note={`${byteRate(latest?.bytesOutPerSecond)} out`}
        samples={all(sample => sample.bytesInPerSecond)}
      />
      <Stat
        {...common}
        label="Fetches"
        {...measure(latest && `${rate(latest.fetchRequestsPerSecond)} /s`, latest?.fetchRequestsPerSecond, why)}
        note={`${rate(latest?.produceRequestsPerSecond)} produces/s`}
        samples={all(sample => sample.fetchRequestsPerSecond)}
      />
      <Stat
        {...common}
        label="Latency p99"
        {...measure(latency && duration(latency.p99), latency?.p99, 'The broker answered no request in this time.')}
        note={`p50 ${duration(latency?.p50)}`}
        samples={all(sample => sample.requestLatencyMs.p99)}
      />
      <Stat
        {...common}
        label="Connections"
        {...measure(connections === undefined ? undefined : count(connections), connections, why)}
        note={
          heldBack === undefined ? (
            UNKNOWN
          ) : heldBack === 0 ? (
            'none backpressured'
          ) : (
            <span className="text-warn">{count(heldBack)} backpressured</span>
          )
        }
        samples={all(sample => sample.activeConnections)}
      />
      <Stat
        label="Topics"
        value={
          <PageLink page="topics" className="hover:text-accent">
            {count(topics)}
          </PageLink>
        }
        note={
          <>
            {counted(partitions, 'partition')}
            <br />
            <PageLink page="groups">{counted(groups, 'consumer group')}</PageLink>
          </>
        }
      />
    </Stats>
  )
}

/** Splits `4.1 MiB/s` into the number and its unit. The exact value is the title. */
function measure(
  text: string | null | undefined,
  exact: number | null | undefined,
  why: string,
): { value: ReactNode; unit?: string } {
  if (text === null || text === undefined || exact === null || exact === undefined)
    return { value: <span title={why}>{UNKNOWN}</span> }
  const [value, ...unit] = text.split(' ')
  const shown = <span title={String(exact)}>{value}</span>
  return unit.length === 0 ? { value: shown } : { value: shown, unit: unit.join(' ') }
}
