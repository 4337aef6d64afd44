// The page Storage: where the records rest. The first tab is the local tier, another one has segments and the storage
// worker. The others say what this version lacks until the remote tier is here.

import { STORAGE_TABS } from '../../../src/api/pages.ts'
import { useRead } from '../../api/queries.ts'
import { PageHead } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { useHere } from '../../shell/address.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { LocalTier } from './local-tier.tsx'
import { SegmentsTab } from './segments-tab.tsx'

type Tab = (typeof STORAGE_TABS)[number]

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
      {(search.tab === 'remote' || search.tab === 'jobs') && <Waiting tab={search.tab} />}
    </>
  )
}

/** The tabs that the remote tier fills. */
type Tiered = Exclude<Tab, 'local' | 'segments'>

/** The purpose of each tab. */
const PURPOSES: Readonly<Record<Tiered, string>> = {
  remote: 'Cold records move from the local tier to Iceberg tables, which SQL engines read too.',
  jobs: 'A job moves one sealed segment to the remote tier.',
}

function Waiting({ tab }: { readonly tab: Tiered }) {
  const read = useRead('show capabilities', {})
  return (
    <Loaded read={read} of="The capabilities" rows={4}>
      {({ capabilities }) => {
        const { label, state, setting, because } = capabilities.find(({ id }) => id === 'remote-tier')!
        return (
          <Empty title={because ?? `${label} is on, and has nothing to show yet.`}>
            {PURPOSES[tab]}
            {state === 'off' && setting !== null && (
              <>
                {' '}
                The setting <code className="font-mono">{setting}</code> switches it on.
              </>
            )}
          </Empty>
        )
      }}
    </Loaded>
  )
}
