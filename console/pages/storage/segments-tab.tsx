// The tab Segments & retention: the storage worker, and the segments of one partition, which the user chooses.

import { useRead } from '../../api/queries.ts'
import { SelectField } from '../../parts/field.tsx'
import { Section } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { useHere } from '../../shell/address.tsx'
import { PartitionSegments } from './partition-segments.tsx'
import { RetentionConfigs } from './retention-configs.tsx'
import { TopicField } from './topic-field.tsx'
import { Worker } from './worker.tsx'

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
        onChange={text => set({ partition: Number(text), segment: null, offset: null }, { isStep: true })}
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
