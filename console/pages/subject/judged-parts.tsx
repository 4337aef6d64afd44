// The tab Judged topics: the topics whose keys or values a subject judges, and the records that were refused.

import type { JudgedPart } from '../../../src/api/judged-topics.ts'
import type { DescribedSchemaSubject } from '../../../src/api/schemas.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Empty } from '../../parts/states.tsx'
import { PageLink } from '../../shell/address.tsx'
import { ActionMark, Refused } from '../schemas/marks.tsx'

export function JudgedParts({ subject: { topics } }: { readonly subject: DescribedSchemaSubject }) {
  return (
    <>
      <DataTable
        name="Topics that the subject judges"
        rows={topics}
        keyOf={({ topic, part }) => `${part} ${topic}`}
        columns={COLUMNS}
        empty={
          <Empty title="It judges no topic">
            A subject judges the values of the topic T if it is named <code className="font-mono">T-value</code>, and
            the keys if it is named <code className="font-mono">T-key</code>. Topics with the strategy RecordName find
            their subject in each record, and are not listed here.
          </Empty>
        }
      />
      {topics.length > 0 && (
        <p className="mt-3 text-muted">
          Refused: records that were not valid, since this broker started, on this broker.
        </p>
      )}
    </>
  )
}

const COLUMNS: readonly Column<JudgedPart>[] = [
  {
    id: 'topic',
    head: 'Topic',
    isFixed: true,
    cell: ({ topic }) => (
      <PageLink
        page="topic"
        params={{ topic }}
        search={{ tab: 'schemas' }}
        title={topic}
        className="line-clamp-3 w-fit text-accent underline-offset-2 hover:underline"
      >
        {topic}
      </PageLink>
    ),
  },
  { id: 'part', head: 'Part', cell: ({ part }) => (part === 'key' ? 'keys' : 'values') },
  { id: 'action', head: 'If not valid', cell: ({ action }) => <ActionMark action={action} /> },
  { id: 'refused', head: 'Refused', unit: 'records', isNumber: true, cell: ({ refused }) => <Refused of={refused} /> },
]
