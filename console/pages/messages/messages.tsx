// The page Messages: the records of a topic, page by page or live, and the one that is open. The address is its state.

import { useEffect, useRef } from 'react'
import { Problem } from '../../api/problem.ts'
import { type Read, useRead } from '../../api/queries.ts'
import { lazyPart } from '../../parts/lazy-part.tsx'
import { ProblemNote } from '../../parts/problem-note.tsx'
import { NO_SCHEMAS } from '../../parts/schema-parts.ts'
import { Empty, Loaded, Skeleton } from '../../parts/states.tsx'
import { useSchemaParts } from '../../parts/use-schema-parts.ts'
import { useHere } from '../../shell/address.tsx'
import { useCapability } from '../../shell/capabilities.ts'
import { usePreference } from '../../shell/preferences.ts'
import { TopicHead } from '../topic/topic-head.tsx'
import { Bar } from './bar.tsx'
import { useBrowse } from './browse.ts'
import type { Browsed } from './browse-pages.ts'
import { useOpenRecord } from './open-record.ts'
import { PageLinks } from './page-links.tsx'
import { Rows, useRecordColumns } from './rows.tsx'
import {
  decodingOf,
  type MessageSearch,
  MISSING,
  orderOf,
  placeOf,
  placeText,
  requestOf,
  startOf,
} from './selection.ts'
import { StatusLine } from './status-line.tsx'

/** The width of the open record (record.tsx), without the margin of the page. */
const BESIDE_RECORD = 'calc(40vw - max(0px, (100vw - var(--container-page)) / 2))'

/** The filters that are chosen, not typed. */
const STEPS = ['partition', 'from', 'order', 'limit', 'decode', 'keyDecode', 'live'] as const

const Nothing = lazyPart(async () => (await import('./nothing.tsx')).Nothing, <Skeleton rows={6} />)
const Live = lazyPart(async () => (await import('./live.tsx')).Live, <Skeleton rows={12} />)
const DecodedBySchemas = lazyPart(async () => (await import('./decoded-by-schemas.tsx')).DecodedBySchemas)
const RecordPanel = lazyPart(async () => (await import('./record.tsx')).RecordPanel, <Skeleton rows={8} />)

export function Messages() {
  const { params, search: address, set } = useHere('messages')
  const { topic } = params
  const [orders, setOrders] = usePreference('orders')
  const order = orderOf(address, orders[topic])
  const judged = useSchemaParts(topic)
  const schemas = judged.parts
  // The parts that were not chosen are known once the schemas of the topic are.
  const isSettled = schemas !== undefined || (address.decode !== '' && address.keyDecode !== '')
  const search: MessageSearch = { ...address, order, ...decodingOf(address, schemas) }
  const description = useRead('describe topic', { params }, { everyMs: 0 })
  const partitions = description.data?.partitions
  const isCompacted = description.data?.cleanupPolicy.includes('compact') === true
  const registry = useCapability('schema-registry')
  const needsRegistry = search.decode === 'registry' || search.keyDecode === 'registry'
  const isDecodable = !needsRegistry || registry?.state === 'on'

  const request = requestOf(search, order, partitions)
  const missing = 'missing' in request ? request.missing : null
  const isAsked = isSettled && isDecodable && !search.live && 'query' in request
  const browsing = useBrowse(topic, isAsked ? request.query : null)
  const { data, isOld } = browsing.read
  const previous = usePreviousCursors(topic)

  // A copied address shows the same records to a user who last read the topic in the other order.
  useEffect(() => {
    if (address.order === '' && order !== 'oldest') set({ order })
  })

  const change = (values: Partial<MessageSearch>) => {
    if (values.order !== undefined) setOrders({ ...orders, [topic]: values.order as typeof order })
    const isOfRecord = Object.keys(values).every(name => name === 'at' || name === 'view' || name === 'pin')
    // A typed text follows each key; a choice is a step that Back takes back.
    const isStep = STEPS.some(name => values[name] !== undefined && values[name] !== search[name])
    set(isOfRecord ? values : { cursor: '', ...values }, { isStep })
  }
  const goToPage = (cursor: string) => {
    previous.note(search.cursor, cursor)
    set({ cursor, at: '' }, { isStep: true })
    scrollTo({ top: 0 })
  }

  const place = placeOf(search.at)
  const records = data?.messages ?? []
  const open = useOpenRecord({
    search,
    records: search.live || isOld ? [] : records,
    before: search.cursor === '' ? null : previous.of(search.cursor),
    after: data?.nextCursor ?? null,
    onPage: goToPage,
    onOpen: (at, isStep) => set({ at, ...(at === '' || isStep ? { view: 'value' } : {}) }, { isStep }),
  })
  const columns = useRecordColumns(topic, search, isCompacted, place !== null, open.show)

  return (
    <>
      {/* Where the record is the page, it has the room of the head too. */}
      <div
        className={place === null ? '' : 'max-lg:hidden'}
        style={place === null ? undefined : { marginRight: BESIDE_RECORD }}
      >
        <TopicHead topic={topic} current="messages" />
        <Bar
          topic={topic}
          search={search}
          chosen={address}
          schemas={schemas ?? NO_SCHEMAS}
          order={order}
          partitions={partitions}
          missing={search.live ? null : missing}
          registry={registry}
          isCompact={place !== null}
          onChange={change}
        />
        {/* Records that do not come either have a note of their own, with the same way to try again. */}
        {judged.problem !== null && (data !== undefined || search.live) && (
          <ProblemNote problem={judged.problem} of="The schemas of the topic" onRetry={judged.retry} />
        )}
        {(schemas?.value ?? schemas?.key ?? null) !== null && <DecodedBySchemas chosen={address} schemas={schemas!} />}
        {!isDecodable ? (
          registry !== undefined && <Empty title="Schema registry">{registry.because}</Empty>
        ) : !isSettled ? (
          <Skeleton rows={12} />
        ) : search.live ? (
          <Live topic={topic} search={search} columns={columns} onOpen={open.show} />
        ) : missing !== null ? (
          <Empty title="Where to start?">{MISSING[missing]}</Empty>
        ) : (
          isAsked && (
            <>
              <StatusLine
                topic={topic}
                search={search}
                query={request.query}
                browsing={browsing}
                columns={columns}
                onContinue={goToPage}
              />
              <Loaded read={withOwnSentence(browsing.read)} of="The records" rows={12}>
                {page =>
                  page.messages.length === 0 &&
                  page.state === 'full' &&
                  page.unavailable.length === 0 &&
                  search.cursor === '' ? (
                    !isOld && (
                      <Nothing topic={topic} search={search} query={request.query} ends={page.ends} onChange={change} />
                    )
                  ) : (
                    <>
                      {page.messages.length === 0 ? (
                        page.state === 'full' && <Empty title="No further records" />
                      ) : (
                        <Rows
                          columns={columns}
                          records={page.messages}
                          at={search.at}
                          isOld={isOld}
                          onOpen={open.show}
                        />
                      )}
                      {page.state !== 'running' && (
                        <PageLinks
                          order={order}
                          cursor={search.cursor}
                          nextCursor={page.nextCursor}
                          previousCursor={previous.of(search.cursor)}
                          beginsAtEdge={startOf(search) === ''}
                          onPage={goToPage}
                          onTurn={() => change({ order: order === 'oldest' ? 'newest' : 'oldest' })}
                        />
                      )}
                    </>
                  )
                }
              </Loaded>
            </>
          )
        )}
      </div>
      {place !== null && (
        <RecordPanel
          topic={topic}
          search={search}
          place={place}
          isSettled={isSettled}
          undecodable={isDecodable ? null : (registry?.because ?? '')}
          listed={records.find(record => placeText(record) === search.at)}
          isCompacted={isCompacted}
          isListed={open.isListed}
          onUp={open.up}
          onDown={open.down}
          onClose={open.close}
          onChange={change}
        />
      )}
    </>
  )
}

/** The full queue of the broker has a sentence of its own: nothing is wrong with the request or the topic. */
function withOwnSentence(read: Read<Browsed>): Read<Browsed> {
  if (read.problem?.code !== 'BUSY') return read
  const { status, detail, requestId, code } = read.problem
  const body = { code, status, title: 'Too many pages of records are read at this moment.', detail }
  return { ...read, problem: new Problem(requestId === null ? body : { ...body, requestId }) }
}

interface Previous {
  /** Returns the cursor of the page before; null if this visit has not seen it. */
  of(cursor: string): string | null
  note(from: string, to: string): void
}

/** Remembers by which page each page was reached, so that there is a way back. */
function usePreviousCursors(topic: string): Previous {
  const known = useRef(new Map<string, string>())
  // biome-ignore lint/correctness/useExhaustiveDependencies: cursors of another topic are of no use
  useEffect(() => () => known.current.clear(), [topic])
  return {
    of: cursor => known.current.get(cursor) ?? null,
    note(from, to) {
      // A step back leads to a page that has its own way back.
      if (to !== '' && known.current.get(from) !== to) known.current.set(to, from)
    },
  }
}
