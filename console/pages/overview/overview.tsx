// The page Overview: first whether anything is wrong, then the numbers of this moment, then their course. A broker
// without topics shows the first minute instead (first-minute.tsx).

import { Plus } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Allowed, buttonClass } from '../../parts/button.tsx'
import { lazyPart } from '../../parts/lazy-part.tsx'
import { PageHead, Section } from '../../parts/page.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Loaded, Skeleton } from '../../parts/states.tsx'
import { useZone } from '../../parts/time.tsx'
import { PageLink, useHere } from '../../shell/address.tsx'
import { useMay } from '../../shell/session.tsx'
import type { OverviewChart } from './attention.ts'
import { AttentionList } from './attention-list.tsx'
import { type History, RANGE_ROWS, type Range, shortHistory } from './course.ts'
import { OverviewCharts, type OverviewChartsProps } from './overview-charts.tsx'
import { OverviewStats } from './overview-stats.tsx'
import { type OverviewReads, useHealth, useOverview, useTopTopics } from './reads.ts'
import { remoteHealthOf } from './remote-health.ts'
import { RemoteLine } from './remote-line.tsx'
import { StatusLine } from './status-line.tsx'
import { Tops } from './tops.tsx'

type TopTopics = ReturnType<typeof useTopTopics>

/** The height of the first minute, and of the page before it is known whether the broker is empty. */
const FIRST_ROWS = 12

/** Few visits see an empty broker. */
const FirstMinute = lazyPart(
  async () => (await import('./first-minute.tsx')).FirstMinute,
  <Skeleton rows={FIRST_ROWS} />,
)

export function Overview() {
  // The first minute stays while it makes the first topic, until its user leaves it.
  const [isInFirstMinute, setFirstMinute] = useState(false)
  const [hasBegun, setBegun] = useState(false)
  const topics = useTopTopics(isInFirstMinute)
  const health = useHealth()
  const isEmptyNow = topics.isEmpty && !topics.read.isFetching
  useEffect(() => {
    if (isEmptyNow) setFirstMinute(true)
  }, [isEmptyNow])
  const mayCreate = useMay('create topic')
  // If several topics appear by themselves, the list was old: this is no empty broker.
  const isStill = isInFirstMinute && mayCreate && (hasBegun || (topics.read.data?.total ?? 0) <= 1)
  const isFirst = topics.isEmpty || isStill
  return (
    <>
      <PageHead
        title="Overview"
        actions={
          !isFirst && (
            <Allowed operation="create topic">
              <PageLink page="topics" search={{ create: true }} className={buttonClass('primary')}>
                <Plus size={16} aria-hidden />
                Create topic
              </PageLink>
            </Allowed>
          )
        }
      >
        <StatusLine health={health} />
      </PageHead>
      {isFirst ? (
        <FirstMinute
          topic={topics.own}
          onBegin={() => setBegun(true)}
          onLeave={() => {
            setFirstMinute(false)
            // The button that had the focus is gone.
            document.querySelector<HTMLElement>('main h1')?.focus()
          }}
        />
      ) : topics.read.isFirst ? (
        <Skeleton rows={FIRST_ROWS} />
      ) : (
        <Whole topics={topics} health={health} />
      )}
    </>
  )
}

function Whole({ topics, health }: { readonly topics: TopTopics; readonly health: ReturnType<typeof useHealth> }) {
  const { search, set } = useHere('overview')
  const { range } = search
  /** The chart that a line of the attention list leads to, until it has the focus. */
  const [wanted, setWanted] = useState<OverviewChart | null>(null)
  const reads = useOverview(range, health)
  const { history, course, groups, snapshot, jobs, found, checked } = reads
  const remote = remoteHealthOf(health.data)
  const { label } = RANGE_ROWS[range]
  // Everything appears at once: a part that came later would push the others down.
  if (Object.values(checked).some(({ isFirst }) => isFirst)) return <Skeleton rows={20} />
  return (
    <>
      <AttentionList
        found={found}
        checked={checked}
        onChart={chart => {
          setWanted(chart)
          set({ chart })
        }}
      />
      {remote !== null && <RemoteLine remote={remote} counts={jobs.data?.counts} />}
      <Loaded read={history} of="The history" rows={14}>
        {data => (
          <>
            <OverviewStats
              course={course!}
              snapshot={snapshot.data}
              topics={topics.read.data?.total}
              partitions={reads.brokers.data?.partitions}
              groups={groups.data?.total}
              over={`the last ${label}`}
            />
            <Section
              title={`The last ${label}`}
              actions={
                <Segments
                  label="Range"
                  options={Object.entries(RANGE_ROWS).map(([id, row]) => [id as Range, row.label] as const)}
                  value={range}
                  onChange={value => set({ range: value })}
                />
              }
            >
              <Charts
                history={data}
                course={course!}
                brokers={reads.brokers}
                wanted={wanted}
                onShown={() => setWanted(null)}
              />
            </Section>
          </>
        )}
      </Loaded>
      <Tops topics={topics.read} groups={groups} />
    </>
  )
}

interface ChartsProps extends OverviewChartsProps {
  readonly history: History
  readonly brokers: OverviewReads['brokers']
}

/** The charts, with a sentence wherever they show less than the range. */
function Charts({ history, brokers, ...charts }: ChartsProps) {
  const zone = useZone()
  const { course } = charts
  const uptimeMs = brokers.data?.brokers.find(({ isSelf }) => isSelf)?.uptimeMs
  const startedAtMs = uptimeMs === undefined || uptimeMs === null ? null : brokers.atMs - uptimeMs
  const short = shortHistory(course, history, startedAtMs, zone)
  if (!history.enabled)
    return (
      <p className="rounded-card border border-dashed border-line p-6 text-muted">
        This broker serves no history, because <code className="font-mono">svc.admin.metrics-history.enabled</code> is
        false. The numbers above are those of this moment.
      </p>
    )
  if (course.latest === null)
    return (
      <p className="rounded-card border border-dashed border-line p-6 text-muted">
        The broker writes down its numbers every {history.intervalMs / 1000} s. The first ones come in a moment.
      </p>
    )
  return (
    <>
      {short !== null && <p className="mb-2 text-muted">{short}</p>}
      <OverviewCharts {...charts} />
    </>
  )
}
