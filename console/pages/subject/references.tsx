// The tab References: the versions to which a version refers, and those that refer to it.

import type {
  DescribedSchemaSubject,
  SchemaReference,
  SchemaReferrer,
  SchemaVersion,
} from '../../../src/api/schemas.ts'
import { useRead } from '../../api/queries.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Section } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { useHere } from '../../shell/address.tsx'
import { DeletedMark, SubjectLink } from '../schemas/marks.tsx'
import { useAllVersions } from './use-subject.ts'
import { VersionChoice } from './version-choice.tsx'

export function References({ subject }: { readonly subject: string }) {
  const read = useAllVersions(subject)
  return (
    <Loaded read={read} of="The versions" rows={8}>
      {found => <Chosen subject={found} />}
    </Loaded>
  )
}

function Chosen({ subject: { subject, versions, latestVersion } }: { readonly subject: DescribedSchemaSubject }) {
  const { search, set } = useHere('subject')
  const version = search.version ?? latestVersion ?? versions[0]?.version
  if (version === undefined) return <Empty title="The subject has no versions" />
  return (
    <>
      <div className="w-64 max-w-full">
        <VersionChoice
          label="Version"
          versions={versions}
          value={version}
          onChange={to => set({ version: to }, { isStep: true })}
        />
      </div>
      <OfVersion subject={subject} version={version} />
    </>
  )
}

function OfVersion({ subject, version }: { readonly subject: string; readonly version: number }) {
  const read = useRead('show schema version', { params: { subject, version } })
  if (read.problem?.status === 404)
    return <Empty title={`There is no version ${version}`}>It may have been removed.</Empty>
  return (
    <Loaded read={read} of="The references" rows={6}>
      {found => <Both of={found} />}
    </Loaded>
  )
}

function Both({ of: { version, references, referrers } }: { readonly of: SchemaVersion }) {
  return (
    <>
      <Section title={`Version ${version} refers to`}>
        <DataTable
          name={`References of version ${version}`}
          rows={references}
          keyOf={({ name }) => name}
          columns={REFERENCES}
          empty={<p className="text-muted">No other schema. Its text defines all that it uses.</p>}
        />
      </Section>
      <Section title={`Versions that refer to version ${version}`}>
        <DataTable
          name={`Referrers of version ${version}`}
          rows={referrers}
          keyOf={each => `${each.version} ${each.subject}`}
          columns={REFERRERS}
          empty={<p className="text-muted">None. References do not keep it from being deleted.</p>}
        />
        {referrers.length > 0 && <p className="mt-2 text-muted">It cannot be deleted while one of these is there.</p>}
      </Section>
    </>
  )
}

const REFERENCES: readonly Column<SchemaReference>[] = [
  {
    id: 'name',
    head: 'Name in the text',
    isFixed: true,
    cell: ({ name }) => (
      <code className="font-mono text-dense wrap-anywhere">
        <VisibleText text={name} />
      </code>
    ),
  },
  {
    id: 'subject',
    head: 'Schema',
    cell: ({ subject, version }) => <SubjectLink subject={subject} version={version} />,
  },
]

const REFERRERS: readonly Column<SchemaReferrer>[] = [
  {
    id: 'subject',
    head: 'Schema',
    isFixed: true,
    cell: ({ subject, version, deleted }) => (
      <span className="flex flex-wrap items-center gap-2">
        <SubjectLink subject={subject} version={version} />
        {deleted && <DeletedMark />}
      </span>
    ),
  },
  { id: 'id', head: 'Id', isNumber: true, cell: ({ id }) => id },
]
