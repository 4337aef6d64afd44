// The page Storage: where the records rest. The first tab is the local tier; the others are loaded when they are shown.
// The tabs of the remote tier say so if the broker has none.

import { STORAGE_TABS } from '../../../src/api/pages.ts'
import { useRead } from '../../api/queries.ts'
import { lazyPart } from '../../parts/lazy-part.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Empty, Loaded, Skeleton } from '../../parts/states.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { useHere } from '../../shell/address.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { LocalTier } from './local-tier.tsx'

type Tab = (typeof STORAGE_TABS)[number]

const WHILE_LOADING = <Skeleton rows={8} />
const SegmentsTab = lazyPart(async () => (await import('./segments-tab.tsx')).SegmentsTab, WHILE_LOADING)
const RemoteTab = lazyPart(async () => (await import('./remote-tab.tsx')).RemoteTab, WHILE_LOADING)
const JobsTab = lazyPart(async () => (await import('./jobs-tab.tsx')).JobsTab, WHILE_LOADING)

const LABELS: Readonly<Record<Exclude<Tab, 'local'>, string>> = {
  remote: 'Remote storage',
  segments: 'Segments & retention',
  jobs: 'Offload jobs',
}

const LOCAL_LABELS: Readonly<Record<string, string>> = {
  embedded: 'Embedded local tier',
  redis: 'Redis Streams local tier',
  'redis-cluster': 'Redis Streams local tier',
}

export function Storage() {
  const { search } = useHere('storage')
  const store = useCapabilities()?.store
  const labelOf = (tab: Tab) => (tab === 'local' ? (LOCAL_LABELS[store?.engine ?? ''] ?? 'Local tier') : LABELS[tab])
  return (
    <>
      <PageHead title="Storage" documentTitle={`Storage · ${labelOf(search.tab)}`}>
        {store?.description}
      </PageHead>
      <Tabs
        of="Storage"
        tabs={STORAGE_TABS.map(tab => ({
          label: labelOf(tab),
          isCurrent: tab === search.tab,
          page: 'storage' as const,
          search: { tab },
        }))}
      />
      {search.tab === 'local' && <LocalTier />}
      {search.tab === 'segments' && <SegmentsTab />}
      {(search.tab === 'remote' || search.tab === 'jobs') && <Tiered tab={search.tab} />}
    </>
  )
}

/** The tabs that the remote tier fills, with the purpose of each. */
const PURPOSES = {
  remote: 'Cold records move from the local tier to Iceberg tables, which SQL engines read too.',
  jobs: 'A job moves one sealed segment to the remote tier.',
} as const satisfies Partial<Record<Tab, string>>

function Tiered({ tab }: { readonly tab: keyof typeof PURPOSES }) {
  const read = useRead('show capabilities', {})
  return (
    <Loaded read={read} of="The capabilities" rows={4}>
      {({ capabilities }) => {
        const { state, setting, because } = capabilities.find(({ id }) => id === 'remote-tier')!
        if (state === 'on') return tab === 'remote' ? <RemoteTab /> : <JobsTab />
        return (
          <Empty title={because ?? 'The remote tier is off.'}>
            {PURPOSES[tab]}
            {state === 'off' && setting !== null && (
              <>
                {' '}
                The setting <code className="font-mono">{setting}</code> switches it on: it takes{' '}
                <code className="font-mono">s3://bucket/prefix</code> or the path of a folder. Then{' '}
                <code className="font-mono">remote.storage.enable=true</code> chooses a topic.
              </>
            )}
          </Empty>
        )
      }}
    </Loaded>
  )
}
