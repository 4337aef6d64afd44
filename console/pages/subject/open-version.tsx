// One version of a subject: its facts, its verbs, its text.

import { GitCompareArrows, Trash2 } from 'lucide-react'
import { useState } from 'react'
import type { SchemaVersion } from '../../../src/api/schemas.ts'
import { useRead } from '../../api/queries.ts'
import { Action, buttonClass } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy.tsx'
import { CopyAsCommand } from '../../parts/copy-as-command.tsx'
import { lazyPart } from '../../parts/lazy-part.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { PageLink } from '../../shell/address.tsx'
import { counted } from '../../text/format.ts'
import { TYPE_NAMES } from '../../text/schema-formats.ts'
import { DeletedMark, SubjectLink } from '../schemas/marks.tsx'
import { SchemaText } from '../schemas/schema-text.tsx'

const DeleteSchema = lazyPart(async () => (await import('./delete-schema.tsx')).DeleteSchema)

interface OpenVersionProps {
  readonly subject: string
  readonly version: number
}

export function OpenVersion({ subject, version }: OpenVersionProps) {
  const read = useRead('show schema version', { params: { subject, version } })
  if (read.problem?.status === 404)
    return (
      <Empty title={`There is no version ${version}`}>
        It may have been removed, or it never was. The number of a version is not used again.
      </Empty>
    )
  return (
    <Loaded read={read} of={`Version ${version}`} rows={12}>
      {found => <Shown version={found} />}
    </Loaded>
  )
}

function Shown({ version: found }: { readonly version: SchemaVersion }) {
  const [isDeleting, setDeleting] = useState(false)
  const { subject, version, id, guid, type, deleted, registeredAt, references, referrers } = found
  return (
    <section aria-label={`Version ${version}`}>
      <div className="mb-2 flex flex-wrap items-center justify-between gap-2">
        <h2 className="flex items-center gap-2 text-section font-semibold">
          Version {version} {deleted && <DeletedMark />}
        </h2>
        <span className="flex flex-wrap gap-2">
          {version > 1 && (
            <PageLink
              page="subject"
              params={{ subject }}
              search={{ tab: 'compare', version }}
              className={buttonClass()}
            >
              <GitCompareArrows size={16} aria-hidden /> Compare
            </PageLink>
          )}
          <Action operation="delete schema version" icon={Trash2} onClick={() => setDeleting(true)}>
            {deleted ? 'Remove version' : 'Delete version'}
          </Action>
        </span>
      </div>
      <dl className="mb-3 flex flex-wrap gap-x-8 gap-y-2">
        <Fact label="Id">
          <span className="inline-flex items-center gap-1">
            {id} <CopyButton value={String(id)} of="schema id" />
          </span>
        </Fact>
        <Fact label="Type">{TYPE_NAMES[type]}</Fact>
        <Fact label="Registered">
          <Time ms={Date.parse(registeredAt)} />
        </Fact>
        <Fact label="GUID">
          <span className="font-mono text-dense wrap-anywhere" title="Records with the id in a header name it.">
            {guid}
          </span>
        </Fact>
      </dl>
      {references.length > 0 && (
        <p className="mb-2">
          Refers to{' '}
          {references.map((each, at) => (
            <span key={each.name}>
              {at > 0 && ', '}
              <SubjectLink subject={each.subject} version={each.version} />
            </span>
          ))}
          .
        </p>
      )}
      {referrers.length > 0 && (
        <p className="mb-2">
          {counted(referrers.length, 'version refers', 'versions refer')} to it:{' '}
          <PageLink
            page="subject"
            params={{ subject }}
            search={{ tab: 'references', version }}
            className="text-accent underline underline-offset-2"
          >
            show them
          </PageLink>
          .
        </p>
      )}
      <SchemaText of={found} label={`Schema of version ${version}`} />
      <CopyAsCommand task={{ do: 'show-schema', subject, version }} />
      {isDeleting && (
        <DeleteSchema subject={subject} version={version} isPermanent={deleted} onClose={() => setDeleting(false)} />
      )}
    </section>
  )
}

function Fact({ label, children }: { readonly label: string; readonly children: React.ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-muted">{label}</dt>
      <dd className="m-0 flex min-h-7 items-center tabular-nums">{children}</dd>
    </div>
  )
}
