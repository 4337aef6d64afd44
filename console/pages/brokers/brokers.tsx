// The page Brokers: the brokers of the cluster, a single one as cards.

import { buttonClass } from '../../parts/button.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Stat } from '../../parts/stat.tsx'
import { Loaded } from '../../parts/states.tsx'
import { PageLink, useGo } from '../../shell/address.tsx'
import { counted } from '../../text/format.ts'
import { FACTS, FactValue, UpSince } from './broker-facts.tsx'
import { Addresses, BrokerBadges, Silence } from './broker-state.tsx'
import type { SeenBroker } from './seen-brokers.ts'
import { useBrokers } from './use-brokers.ts'

export function Brokers() {
  const { read, seen } = useBrokers()
  const go = useGo()
  return (
    <>
      <PageHead title="Brokers">
        {read.data === undefined
          ? '\u00a0'
          : `${counted(read.data.brokers.length, 'broker')} on this store, ${counted(read.data.partitions, 'partition')}`}
      </PageHead>
      <Loaded read={read} of="The brokers" rows={6}>
        {({ leaderless }) => (
          <>
            {leaderless > 0 && <Leaderless partitions={leaderless} />}
            {seen.length === 1 ? (
              <SingleBroker seen={seen[0]!} />
            ) : (
              <DataTable
                name="Brokers"
                rows={seen}
                keyOf={({ broker }) => String(broker.id)}
                columns={COLUMNS}
                onOpen={({ broker }) => go({ page: 'broker', params: { broker: String(broker.id) } })}
              />
            )}
          </>
        )}
      </Loaded>
    </>
  )
}

function Leaderless({ partitions }: { readonly partitions: number }) {
  const they = partitions === 1 ? 'it' : 'them'
  return (
    <p role="alert" className="mb-3 rounded-card border border-danger bg-danger-soft p-3">
      <span className="font-medium text-danger">
        {counted(partitions, 'partition has', 'partitions have')} no leader.
      </span>{' '}
      No broker leads {they}, so clients can neither write to {they} nor read from {they}. This ends when a broker that
      serves takes over.
    </p>
  )
}

function SingleBroker({ seen }: { readonly seen: SeenBroker }) {
  const { broker } = seen
  return (
    <section aria-label={`Broker ${broker.id}`}>
      <div className="flex flex-wrap items-center gap-x-12 gap-y-3 rounded-card border border-line bg-surface p-4">
        <div className="min-w-40">
          <h2 className="flex flex-wrap items-center gap-2 text-section font-semibold">
            <PageLink page="broker" params={{ broker: String(broker.id) }}>
              Broker {broker.id}
            </PageLink>
            <BrokerBadges seen={seen} />
          </h2>
          <Silence seen={seen} />
        </div>
        <Detail label="Address">
          <Addresses broker={broker} />
        </Detail>
        <Detail label="Up since">
          <UpSince seen={seen} />
        </Detail>
        <Detail label="Version">{broker.version ?? '—'}</Detail>
        {broker.rack !== null && <Detail label="Rack">{broker.rack}</Detail>}
        <PageLink page="broker" params={{ broker: String(broker.id) }} className={`${buttonClass()} md:ml-auto`}>
          Checks, settings, loggers
        </PageLink>
      </div>
      <dl className="my-3 grid grid-cols-2 gap-3 lg:grid-cols-4">
        {FACTS.map(({ id, label, unit, value }) => (
          <Stat key={id} label={label} value={value(seen)} {...(unit === undefined ? {} : { unit })} />
        ))}
      </dl>
    </section>
  )
}

function Detail({ label, children }: { readonly label: string; readonly children: React.ReactNode }) {
  return (
    <div>
      <div className="text-muted">{label}</div>
      <div>{children}</div>
    </div>
  )
}

/** The facts that share a cell of the table with another one. */
const SHARED: ReadonlySet<string> = new Set(['backpressured'])
const ON_PHONE: ReadonlySet<string> = new Set(['leads', 'p99'])

const COLUMNS: readonly Column<SeenBroker>[] = [
  {
    id: 'broker',
    head: 'Broker',
    isFixed: true,
    cell: seen => (
      <div className="min-w-32 py-1 sm:min-w-40">
        <span className="inline-flex flex-wrap items-center gap-2">
          <PageLink page="broker" params={{ broker: String(seen.broker.id) }}>
            Broker {seen.broker.id}
          </PageLink>
          <BrokerBadges seen={seen} />
        </span>
        <Addresses broker={seen.broker} />
        {seen.broker.version !== null && <div className="text-badge text-muted">version {seen.broker.version}</div>}
        <Silence seen={seen} />
      </div>
    ),
  },
  { id: 'up', head: 'Up since', isOnPhone: false, cell: seen => <UpSince seen={seen} /> },
  ...FACTS.filter(({ id }) => !SHARED.has(id)).map(({ id, label, unit, value }) => ({
    id,
    head: label,
    ...(unit === undefined || id === 'leads' ? {} : { unit }),
    isNumber: true,
    isOnPhone: ON_PHONE.has(id),
    cell: id === 'connections' ? Connections : value,
  })),
]

function Connections(seen: SeenBroker) {
  return (
    <>
      <FactValue id="connections" seen={seen} />
      {seen.broker.backpressureConnections !== null && (
        <div className="text-badge text-muted">
          <FactValue id="backpressured" seen={seen} /> backpressured
        </div>
      )}
    </>
  )
}
