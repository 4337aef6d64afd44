// The tab Segments & retention: the storage worker, and the segments of one partition, which the user chooses.

import { useEffect, useEffectEvent, useId, useRef, useState } from 'react'
import { useRead } from '../../api/queries.ts'
import { SelectField, TextField } from '../../parts/field.tsx'
import { Section } from '../../parts/page.tsx'
import { useSettled } from '../../parts/settled.ts'
import { Empty, Loaded } from '../../parts/states.tsx'
import { useHere } from '../../shell/address.tsx'
import { PartitionSegments } from './partition-segments.tsx'
import { RetentionConfigs } from './retention-configs.tsx'
import { Worker } from './worker.tsx'

const LOOK_UP_REST_MS = 150
const MOST_NAMES = 20
const MISSING = 404

export function SegmentsTab() {
  const { topic } = useHere('storage').search
  return (
    <>
      <Worker />
      <Section title="Segments of a partition">
        <div className="flex flex-wrap items-start gap-x-4">
          <TopicField />
          {topic !== '' && <PartitionField topic={topic} />}
        </div>
        {topic === '' ? (
          <Empty title="No partition is chosen">
            A log is divided into segments. Records are appended to the last one; the others are sealed, and retention
            and cleaning work on them.
          </Empty>
        ) : (
          <TopicSegments topic={topic} />
        )}
      </Section>
    </>
  )
}

/** The name of the topic. A name that exists is taken at once, another one with Enter. */
function TopicField() {
  const { search, set } = useHere('storage')
  const id = useId()
  const [typed, setTyped] = useState(search.topic)
  const [shown, setShown] = useState(search.topic)
  const chosen = useRef(search.topic)
  if (shown !== search.topic) {
    setShown(search.topic)
    // Back and links change the address too. A letter that follows a choice must stay.
    if (search.topic !== chosen.current) setTyped(search.topic)
  }
  const q = useSettled(typed.trim(), LOOK_UP_REST_MS)
  const found = useRead('list topics', { query: { q, fields: 'name', limit: MOST_NAMES } }, { everyMs: 0 })
  const names = found.data?.topics.map(({ name }) => name) ?? []
  const choose = (topic: string) => {
    chosen.current = topic
    if (topic !== search.topic) set({ topic, partition: null, offset: null })
  }
  const look = useEffectEvent(() => {
    if (names.includes(typed)) choose(typed)
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new text or new names may make a choice
  useEffect(() => look(), [typed, found.data])
  return (
    <form
      className="w-96 max-w-full"
      onSubmit={event => {
        event.preventDefault()
        choose(typed.trim())
      }}
    >
      <TextField
        label="Topic"
        list={id}
        value={typed}
        onChange={setTyped}
        placeholder="Type a part of its name"
        hint={found.problem?.detail}
        autoComplete="off"
        spellCheck={false}
      />
      <datalist id={id}>
        {names.map(name => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </form>
  )
}

/** Chooses the partition, once the number of partitions is known. */
function PartitionField({ topic }: { readonly topic: string }) {
  const { search, set } = useHere('storage')
  const { data } = useRead('describe topic', { params: { topic } })
  if (data === undefined) return null
  return (
    <div className="w-28">
      <SelectField
        label="Partition"
        value={String(partitionOf(search.partition, data.partitions))}
        options={Array.from({ length: data.partitions }, (_, each) => [String(each), String(each)] as const)}
        onChange={text => set({ partition: Number(text), offset: null }, { isStep: true })}
      />
    </div>
  )
}

/** Returns the chosen partition, or the nearest one that the topic has. */
function partitionOf(chosen: number | null, partitions: number): number {
  return Math.min(chosen ?? 0, partitions - 1)
}

function TopicSegments({ topic }: { readonly topic: string }) {
  const { search } = useHere('storage')
  const read = useRead('describe topic', { params: { topic } })
  if (read.data === undefined && read.problem?.status === MISSING)
    return <Empty title={`No topic has the name “${topic}”.`}>Choose another one above.</Empty>
  return (
    <Loaded read={read} of="The topic" rows={8}>
      {({ partitions, cleanupPolicy }) => {
        return (
          <>
            <PartitionSegments
              topic={topic}
              partition={partitionOf(search.partition, partitions)}
              isCompacted={cleanupPolicy.includes('compact')}
            />
            <RetentionConfigs topic={topic} />
          </>
        )
      }}
    </Loaded>
  )
}
