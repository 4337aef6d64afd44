// The tab Compare: the lines in which two versions differ, and whether each reads all that the other one writes.

import { ArrowLeftRight } from 'lucide-react'
import type { DescribedSchemaSubject, SchemaDiff, SchemaDirection } from '../../../src/api/schemas.ts'
import { useRead } from '../../api/queries.ts'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { CopyAsCommand } from '../../parts/copy-as-command.tsx'
import { Difference } from '../../parts/difference.tsx'
import { Section } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { useHere } from '../../shell/address.tsx'
import { Reasons } from '../schemas/reasons.tsx'
import { useAllVersions } from './use-subject.ts'
import { VersionChoice } from './version-choice.tsx'

export function CompareVersions({ subject }: { readonly subject: string }) {
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
  const before = versions.find(each => version !== undefined && each.version < version)?.version
  const against = search.against ?? before ?? version
  if (version === undefined || against === undefined || versions.length < 2)
    return <Empty title="There are no two versions to compare">The subject has fewer than two versions.</Empty>
  const choose = (values: { readonly version?: number; readonly against?: number }) =>
    set({ version, against, ...values }, { isStep: true })
  return (
    <>
      <div className="mb-2 flex flex-wrap items-end gap-3">
        <VersionChoice label="Before" versions={versions} value={against} onChange={to => choose({ against: to })} />
        <div className="my-3">
          <Button
            icon={ArrowLeftRight}
            aria-label="Swap the versions"
            title="Swap the versions"
            onClick={() => choose({ version: against, against: version })}
          />
        </div>
        <VersionChoice label="After" versions={versions} value={version} onChange={to => choose({ version: to })} />
      </div>
      <Compared subject={subject} version={version} against={against} />
      <CopyAsCommand task={{ do: 'compare-schemas', subject, from: against, to: version }} />
    </>
  )
}

interface ComparedProps {
  readonly subject: string
  readonly version: number
  readonly against: number
}

function Compared({ subject, version, against }: ComparedProps) {
  const read = useRead('compare schema versions', { params: { subject, version }, query: { against } })
  if (read.problem?.status === 404)
    return <Empty title="One of these versions is not there">It may have been removed.</Empty>
  return (
    <Loaded read={read} of="The difference" rows={10}>
      {diff => <Shown diff={diff} />}
    </Loaded>
  )
}

function Shown({ diff: { before, after, backward, forward } }: { readonly diff: SchemaDiff }) {
  const names = [`version ${before.version}`, `version ${after.version}`] as const
  return (
    <>
      <Difference before={before.pretty} after={after.pretty} names={names} same="Both versions have the same text." />
      <Section title="Compatibility">
        <Direction of={backward} reader={after.version} writer={before.version} word="Backward" />
        <Direction of={forward} reader={before.version} writer={after.version} word="Forward" />
      </Section>
    </>
  )
}

interface DirectionProps {
  readonly of: SchemaDirection
  readonly reader: number
  readonly writer: number
  readonly word: string
}

function Direction({ of: { compatible, reasons }, reader, writer, word }: DirectionProps) {
  return (
    <div className="my-3">
      <p className="mb-1 flex flex-wrap items-center gap-2">
        <Badge tone={compatible ? 'ok' : 'danger'}>{compatible ? 'compatible' : 'incompatible'}</Badge>
        <span>
          {word}: version {reader} {compatible ? 'reads' : 'does not read'} all that version {writer} writes.
        </span>
      </p>
      {!compatible && <Reasons of={reasons} name={`Reasons, ${word.toLowerCase()}`} />}
    </div>
  )
}
