// The tab Schemas of a topic: the subjects of its keys and values, the answer to records that are not valid, and how
// many there were.

import type { JudgedTopic, SchemaPartRule } from '../../../src/api/judged-topics.ts'
import { useRead } from '../../api/queries.ts'
import { Action } from '../../parts/button.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Loaded } from '../../parts/states.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink, useGo } from '../../shell/address.tsx'
import { Refused, RuleMark, SubjectLink } from '../schemas/marks.tsx'
import { RegistryGate } from '../schemas/registry-gate.tsx'
import { STRATEGIES } from '../schemas/words.ts'

export function TopicSchemas({ topic }: { readonly topic: string }) {
  return (
    <RegistryGate>
      <Judged topic={topic} />
    </RegistryGate>
  )
}

interface Row extends SchemaPartRule {
  readonly part: 'keys' | 'values'
}

function Judged({ topic }: { readonly topic: string }) {
  const read = useRead('show judged topic', { params: { topic } })
  return (
    <Loaded read={read} of="The schemas" rows={3}>
      {judged => (
        <>
          <DataTable name={`Schemas of ${topic}`} rows={rowsOf(judged)} keyOf={({ part }) => part} columns={COLUMNS} />
          <p className="mt-3 text-muted">
            Refused: records that were not valid, since this broker started, on this broker. The configs{' '}
            <code className="font-mono">confluent.value.schema.validation</code>,{' '}
            <code className="font-mono">confluent.key.schema.validation</code> and{' '}
            <code className="font-mono">schema.validation.action</code> of the topic change the check:{' '}
            <PageLink
              page="topic"
              params={{ topic }}
              search={{ tab: 'configuration', q: 'schema.validation' }}
              className="text-accent underline underline-offset-2"
            >
              show them
            </PageLink>
            .
          </p>
        </>
      )}
    </Loaded>
  )
}

const rowsOf = ({ key, value }: JudgedTopic): readonly Row[] => [
  { ...value, part: 'values' },
  { ...key, part: 'keys' },
]

const COLUMNS: readonly Column<Row>[] = [
  { id: 'part', head: 'Part', isFixed: true, cell: ({ part }) => <span className="whitespace-nowrap">{part}</span> },
  {
    id: 'subject',
    head: 'Subject',
    cell: ({ subject, strategy, judged }) =>
      subject === null ? (
        <span className="text-muted" title={STRATEGIES[strategy]}>
          named by each record
        </span>
      ) : judged ? (
        <SubjectLink subject={subject} />
      ) : (
        <NotYet subject={subject} />
      ),
  },
  {
    id: 'strategy',
    head: 'Strategy',
    isOnPhone: false,
    cell: ({ strategy }) => <span title={STRATEGIES[strategy]}>{strategy}</span>,
  },
  {
    id: 'action',
    head: 'If not valid',
    cell: ({ judged, action, required }) => (
      <span className="inline-flex flex-wrap items-center gap-x-2">
        <RuleMark judged={judged} action={action} />
        {required && (
          <span className="text-muted" title="Records without a schema are not valid either.">
            required
          </span>
        )}
      </span>
    ),
  },
  { id: 'refused', head: 'Refused', unit: 'records', isNumber: true, cell: ({ refused }) => <Refused of={refused} /> },
]

/** A subject that judges nothing: it has no version, or the check is off. */
function NotYet({ subject }: { readonly subject: string }) {
  const go = useGo()
  return (
    <span className="inline-flex flex-wrap items-center gap-x-3">
      <VisibleText text={subject} />
      <Action
        operation="register schema"
        isSmall
        aria-label={`Register schema ${subject}`}
        onClick={() => go({ page: 'subject', params: { subject }, search: { register: true } })}
      >
        Register schema
      </Action>
    </span>
  )
}
