// Stands in place of the records when the page has none: an empty log with the way to fill it, or a selection without
// a record with the way to the last one.

import { useState } from 'react'
import type { MessagePage } from '../../../src/api/messages.ts'
import { useRead } from '../../api/queries.ts'
import { Action, Button } from '../../parts/button.tsx'
import { Produce } from '../../parts/produce.tsx'
import { Recipes } from '../../parts/recipes.tsx'
import { Empty } from '../../parts/states.tsx'
import { Time, useZone } from '../../parts/time.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink } from '../../shell/address.tsx'
import { useMay } from '../../shell/session.tsx'
import { count, counted } from '../../text/format.ts'
import { instant } from '../../text/zone.ts'
import { type MessageQuery, type MessageSearch, placeText, startOf } from './selection.ts'

interface NothingProps {
  readonly topic: string
  readonly search: MessageSearch
  readonly query: MessageQuery
  readonly ends: MessagePage['ends']
  readonly onChange: (values: Partial<MessageSearch>) => void
}

export function Nothing(props: NothingProps) {
  const { ends, query } = props
  if (ends.length > 0 && ends.every(({ start, end }) => start === end)) return <EmptyLog {...props} />
  if (query.contains !== '' && query.contains !== undefined) return <NoMatch {...props} />
  return <NoneThere {...props} />
}

function EmptyLog({ topic, query: { partition }, ends }: NothingProps) {
  const deleted = ends.reduce((sum, { start }) => sum + start, 0)
  return (
    <Empty
      title={partition === null || partition === undefined ? 'This log is empty' : `Partition ${partition} is empty`}
      action={<ProduceFirst topic={topic} />}
    >
      {deleted > 0
        ? 'Retention or a deletion has removed its records. New records appear here.'
        : 'No record was produced to it yet. Records appear here as soon as one is.'}
    </Empty>
  )
}

/** The next step on an empty log, in the browser and in a terminal. */
export function ProduceFirst({ topic }: { readonly topic: string }) {
  const [isOpen, setOpen] = useState(false)
  // ketch asks the admin API, which lets a VIEWER produce nothing.
  const mayProduce = useMay('produce messages')
  return (
    <>
      <Action operation="produce messages" kind="primary" onClick={() => setOpen(true)}>
        Produce a record
      </Action>
      <Recipes task={{ do: 'produce', topic }} tools={mayProduce ? ['kcat', 'ketch'] : ['kcat']} />
      {isOpen && <Produce topic={topic} onClose={() => setOpen(false)} />}
    </>
  )
}

function NoMatch({ query, onChange }: NothingProps) {
  return (
    <Empty
      title={`No record ${query.partition == null ? '' : `of partition ${query.partition} `}contains this text`}
      action={<Button onClick={() => onChange({ contains: '' })}>Clear the search</Button>}
    >
      The broker searched the bytes of keys and values for “<VisibleText text={String(query.contains)} />
      ”. Upper and lower case differ.
    </Empty>
  )
}

/** The start position has no record on its side. */
function NoneThere({ topic, search, query }: NothingProps) {
  const zone = useZone()
  const { partition = null, order } = query
  const last = useRead('browse messages', {
    params: { topic },
    query: { partition, order: order === 'oldest' ? 'newest' : 'oldest', limit: 1, previewBytes: 0 },
  })
  const record = last.data?.messages[0]
  const where = partition === null ? '' : ` in partition ${partition}`
  const start = startOf(search)
  const from =
    start === 'timestamp'
      ? instant(search.timestamp, zone)
      : start === 'offset'
        ? `offset ${count(search.offset)}`
        : order === 'oldest'
          ? 'the end of the log'
          : 'the start of the log'
  const isOldest = order === 'oldest'
  return (
    <Empty title={`No record ${isOldest ? (start === 'offset' ? 'from' : 'after') : 'before'} ${from}${where}`}>
      {record !== undefined && (
        <p>
          The {isOldest ? 'last' : 'first'} record is{' '}
          <PageLink
            page="messages"
            className="text-accent underline underline-offset-2"
            params={{ topic }}
            search={{ ...search, at: placeText(record) }}
          >
            offset {count(record.offset)}
            {partition === null && ` of partition ${record.partition}`}
          </PageLink>{' '}
          at <Time ms={record.timestamp} />.
        </p>
      )}
      {last.data !== undefined && record === undefined && counted(0, 'record')}
    </Empty>
  )
}
