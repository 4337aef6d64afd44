// The page Topics: all topics of the cluster with their traffic, filtered and sorted by the broker.

import { Plus } from 'lucide-react'
import { useMemo, useState } from 'react'
import { TOPICS_AT_ONCE } from '../../../src/api/first-reads.ts'
import { Action, Button } from '../../parts/button.tsx'
import { ColumnChoice, DataTable, Pager } from '../../parts/data-table.tsx'
import { SwitchField } from '../../parts/field.tsx'
import { FilterField } from '../../parts/filter-field.tsx'
import { lazyPart } from '../../parts/lazy-part.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Recipes } from '../../parts/recipes.tsx'
import { SilentBrokers } from '../../parts/silent-brokers.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { useGo, useHere } from '../../shell/address.tsx'
import { useCapability } from '../../shell/capabilities.ts'
import { useMay } from '../../shell/session.tsx'
import { counted } from '../../text/format.ts'
import { topicColumns } from './topic-columns.tsx'
import { useTopicRows } from './topic-rows.ts'

const CreateTopic = lazyPart(async () => (await import('./create-topic.tsx')).CreateTopic)

const NAME = 'Topics'

export function Topics() {
  const { search: address, set } = useHere('topics')
  const go = useGo()
  // The rows follow each letter of the filter; the address follows a little later.
  const [typed, setTyped] = useState(address.q)
  const search = typed === address.q ? address : { ...address, q: typed, offset: null }
  const mayCreate = useMay('create topic')
  const tier = useCapability('remote-tier')
  const { read, secondProblem, retrySecond, silent, newestMs } = useTopicRows(search)
  const { q, sort, order, internal } = search
  const why = secondProblem?.detail
  // The rows are drawn again when the columns change.
  const columns = useMemo(() => topicColumns({ newestMs, why, tier }), [newestMs, why, tier])
  const total = read.data?.total
  return (
    <>
      <PageHead title="Topics" actions={<CreateTopicButton />}>
        <span role="status">
          <VisibleText
            text={
              total === undefined ? '\u00a0' : `${counted(total, 'topic')}${q === '' ? '' : ` with “${q}” in the name`}`
            }
          />
        </span>
      </PageHead>
      <div className="mb-3 flex flex-wrap items-center gap-x-6 gap-y-1">
        <FilterField
          label="Filter topics by name"
          value={address.q}
          onChange={text => set({ q: text, offset: null })}
          onTyped={setTyped}
        />
        <SwitchField
          label="Internal topics"
          isOn={internal}
          onChange={isOn => set({ internal: isOn, offset: null }, { isStep: true })}
        />
        <div className="ml-auto">
          <ColumnChoice name={NAME} columns={columns} />
        </div>
      </div>
      <SilentBrokers brokers={silent} of="traffic" />
      <div role="status">
        {secondProblem !== null && (
          <div className="mb-3 flex flex-wrap items-center gap-3 rounded-card bg-warn-soft p-3 text-warn">
            <span>Some numbers could not be loaded. {secondProblem.detail}</span>
            <Button isSmall onClick={retrySecond}>
              Try again
            </Button>
          </div>
        )}
      </div>
      <Loaded read={read} of="The topics" rows={20}>
        {({ rows, total: all }) => (
          <>
            <DataTable
              name={NAME}
              rows={rows}
              keyOf={({ name }) => name}
              columns={columns}
              sorting={{
                sort,
                order,
                onSort: (by, direction) =>
                  set({ sort: by as typeof sort, order: direction, offset: null }, { isStep: true }),
              }}
              onOpen={({ name }) => go({ page: 'topic', params: { topic: name } })}
              isOld={read.isOld}
              empty={<NoTopics q={q} />}
            />
            <Pager
              total={all}
              offset={search.offset ?? 0}
              limit={TOPICS_AT_ONCE}
              of="topics"
              onPage={offset => set({ offset: offset === 0 ? null : offset }, { isStep: true })}
            />
          </>
        )}
      </Loaded>
      {mayCreate && search.create && (
        <CreateTopic
          key={search.like}
          like={search.like}
          onClose={() => {
            if (search.like === '') set({ create: false })
            // The dialog was opened on the page of the model.
            else go({ page: 'topic', params: { topic: search.like } }, { replace: true })
          }}
        />
      )}
    </>
  )
}

function NoTopics({ q }: { readonly q: string }) {
  const { search, set } = useHere('topics')
  const { internal, offset } = search
  if (offset !== null && offset > 0)
    return (
      <Empty
        title="This page has no topics any more"
        action={<Button onClick={() => set({ offset: null })}>Go to the first page</Button>}
      />
    )
  if (q !== '')
    return (
      <Empty
        title={`No topic contains “${q}”`}
        action={<Button onClick={() => set({ q: '', offset: null })}>Clear the filter</Button>}
      >
        {!internal && 'Topics whose names begin with __ are hidden.'}
      </Empty>
    )
  return (
    <Empty
      title="No topics yet"
      action={
        <>
          <CreateTopicButton />
          <Recipes task={{ do: 'create-topic', topic: 'my-topic', partitions: 3 }} tools={['ketch', "Kafka's tools"]} />
        </>
      }
    >
      A topic is a named log of records, in one or more partitions. Create one here or with a command; a producer may
      also create one by writing to it, if a topic pattern allows that.
    </Empty>
  )
}

function CreateTopicButton() {
  const { set } = useHere('topics')
  return (
    <Action operation="create topic" kind="primary" icon={Plus} onClick={() => set({ create: true }, { isStep: true })}>
      Create topic
    </Action>
  )
}
