// The tab Remote storage: the place of the tables, how this broker copes with it, the speed of the offload, and the
// table of each topic.

import type { RemoteStorage } from '../../../src/api/storage.ts'
import { useRead } from '../../api/queries.ts'
import { Command } from '../../parts/copy.tsx'
import { CopyAsCommand } from '../../parts/copy-as-command.tsx'
import { Pager } from '../../parts/data-table.tsx'
import { FilterField } from '../../parts/filter-field.tsx'
import { Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink, useHere } from '../../shell/address.tsx'
import { counted } from '../../text/format.ts'
import { RemoteFacts } from './remote-facts.tsx'
import { RemoteTables } from './remote-tables.tsx'
import { Warning } from './warning.tsx'

/** The broker asks the object store for each table of a page. */
const LIMIT = 20

export function RemoteTab() {
  const { search, set } = useHere('storage')
  const offset = search.offset ?? 0
  const order = search.sort === 'topic' ? search.order : 'asc'
  const query = { q: search.q, sort: 'topic', order, offset, limit: LIMIT }
  const read = useRead('show remote storage', { query })
  return (
    <Loaded read={read} of="The remote tier" rows={12}>
      {remote => (
        <>
          <Warnings remote={remote} />
          <Command text={remote.place} label="Where the tables are" />
          <RemoteFacts remote={remote} />
          <Section
            title={counted(remote.total, 'table')}
            actions={<FilterField label="Filter by topic" value={search.q} onChange={q => set({ q, offset: null })} />}
          >
            <RemoteTables
              tables={remote.tables}
              q={search.q}
              isOld={read.isOld}
              order={order}
              onOrder={to => set({ sort: 'topic', order: to, offset: null })}
            />
            <Pager
              total={remote.total}
              offset={offset}
              limit={LIMIT}
              of="tables"
              onPage={to => set({ offset: to }, { isStep: true })}
            />
          </Section>
          <Section title="Read with SQL">
            <p className="max-w-wide text-muted">
              Each topic is a table of the namespace <code className="font-mono">{remote.namespace}</code> in the
              catalog of this broker. The guide <code className="font-mono">docs/guides/iceberg.md</code> has the lines
              for ClickHouse, DuckDB, pyiceberg, Spark and Trino. ClickHouse needs{' '}
              <code className="font-mono">/v1</code> at the end of the address.
            </p>
            <Command text={`${location.origin}/iceberg`} label="Address of the catalog" />
          </Section>
          <CopyAsCommand task={{ do: 'show-remote-storage' }} />
        </>
      )}
    </Loaded>
  )
}

/** The things that keep segments from their tables. */
function Warnings({ remote: { breaker, trouble, createOnly, suspended, passed } }: { readonly remote: RemoteStorage }) {
  return (
    <div role="status">
      {breaker === 'open' && (
        <p className="mb-3 rounded-card bg-danger-soft p-3 text-danger">
          The place does not answer{trouble === null ? '.' : ': '}
          {trouble !== null && <VisibleText text={trouble.endsWith('.') ? trouble : `${trouble}.`} />} Segments stay in
          the local tier, and no attempt is spent.
        </p>
      )}
      {createOnly === 'broken' && (
        <p className="mb-3 rounded-card bg-danger-soft p-3 text-danger">
          The place let two requests create the same object. Two workers could overwrite each other there, so that
          nothing is offloaded.
        </p>
      )}
      {suspended > 0 && (
        <Warning>
          {counted(suspended, 'job')} without attempts left: the worker skips {suspended === 1 ? 'it' : 'them'}.{' '}
          <PageLink page="storage" search={{ tab: 'jobs', status: 'failed' }} className="underline">
            Failed jobs
          </PageLink>
        </Warning>
      )}
      {passed > 0 && (
        <Warning>
          Retention removed {counted(passed, 'segment')} in the last day before the offload.{' '}
          <PageLink page="storage" search={{ tab: 'jobs', status: 'cancelled' }} className="underline">
            Cancelled jobs
          </PageLink>
        </Warning>
      )}
    </div>
  )
}
