// The tab Versions: the list of the versions, and the one that is open.

import type { DescribedSchemaSubject, SchemaVersionRow } from '../../../src/api/schemas.ts'
import { type Column, DataTable, Pager } from '../../parts/data-table.tsx'
import { Empty } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { PageLink, useHere } from '../../shell/address.tsx'
import { DeletedMark } from '../schemas/marks.tsx'
import { OpenVersion } from './open-version.tsx'
import { VERSIONS_AT_ONCE } from './use-subject.ts'

interface VersionsProps {
  readonly subject: DescribedSchemaSubject
  readonly isOld: boolean
}

export function Versions({ subject: { subject, versions, total, latestVersion }, isOld }: VersionsProps) {
  const { search, set } = useHere('subject')
  const offset = search.offset ?? 0
  const open = search.version ?? latestVersion ?? versions[0]?.version
  if (total === 0)
    return (
      <Empty title="The subject has no versions">
        It has a level or a mode of its own, which hold for its first version.
      </Empty>
    )
  return (
    <div className="grid items-start gap-6 xl:grid-cols-5">
      <div className="min-w-0 xl:col-span-2">
        {/* Where the open version stands below the list, many versions must not push it out of sight. */}
        <div className="max-xl:max-h-96 max-xl:overflow-y-auto">
          <DataTable
            name="Versions"
            rows={versions}
            keyOf={({ version }) => String(version)}
            columns={columnsOf(subject)}
            {...(open === undefined ? {} : { openKey: String(open) })}
            onOpen={({ version }) => set({ version }, { isStep: true })}
            isOld={isOld}
            empty={<Empty title="This page has no versions any more" />}
          />
        </div>
        <Pager
          total={total}
          offset={offset}
          limit={VERSIONS_AT_ONCE}
          of="versions"
          onPage={to => set({ offset: to === 0 ? null : to }, { isStep: true })}
        />
      </div>
      <div className="min-w-0 xl:col-span-3">
        {open !== undefined && <OpenVersion key={open} subject={subject} version={open} />}
      </div>
    </div>
  )
}

const columnsOf = (subject: string): readonly Column<SchemaVersionRow>[] => [
  {
    id: 'version',
    head: 'Version',
    isFixed: true,
    cell: ({ version, deleted }) => (
      <span className="inline-flex flex-wrap items-center gap-2">
        <PageLink page="subject" params={{ subject }} search={{ version }}>
          {version}
        </PageLink>
        {deleted && <DeletedMark />}
      </span>
    ),
  },
  { id: 'id', head: 'Id', isNumber: true, cell: ({ id }) => id },
  {
    id: 'references',
    head: 'References',
    isNumber: true,
    isOnPhone: false,
    cell: ({ references, referrerCount }) => (
      <span title={`It refers to ${references.length}, and ${referrerCount} refer to it.`}>
        {references.length} <span className="text-muted">out</span> · {referrerCount}{' '}
        <span className="text-muted">in</span>
      </span>
    ),
  },
  {
    id: 'registered',
    head: 'Registered',
    isNumber: true,
    cell: ({ registeredAt }) => <Time ms={Date.parse(registeredAt)} />,
  },
]
