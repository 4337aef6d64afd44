// The page Topic: one topic with its traffic, partitions, configuration, schemas and access. Its messages have a page
// of their own.

import { useState } from 'react'
import { useRead } from '../../api/queries.ts'
import { lazyPart } from '../../parts/lazy-part.tsx'
import { Loaded, Skeleton } from '../../parts/states.tsx'
import { useHere } from '../../shell/address.tsx'
import { type Edits, NO_EDITS } from './config-edits.ts'
import { isMissingTopic, MissingTopic } from './missing-topic.tsx'
import { TopicHead } from './topic-head.tsx'
import { TopicOverview } from './topic-overview.tsx'

const TopicPartitions = lazyPart(
  async () => (await import('./topic-partitions.tsx')).TopicPartitions,
  <Skeleton rows={8} />,
)
const TopicConfiguration = lazyPart(
  async () => (await import('./topic-configuration.tsx')).TopicConfiguration,
  <Skeleton rows={16} />,
)
const TopicSchemas = lazyPart(async () => (await import('./topic-schemas.tsx')).TopicSchemas, <Skeleton rows={6} />)
const TopicAccess = lazyPart(async () => (await import('./topic-access.tsx')).TopicAccess, <Skeleton rows={6} />)

export function Topic() {
  const { params } = useHere('topic')
  return <TopicOf key={params.topic} topic={params.topic} />
}

function TopicOf({ topic }: { readonly topic: string }) {
  const { tab } = useHere('topic').search
  const read = useRead('describe topic', { params: { topic } })
  // A look at another tab keeps the draft.
  const [edits, setEdits] = useState<Edits>(NO_EDITS)
  if (isMissingTopic(read.problem)) return <MissingTopic topic={topic} />
  return (
    <>
      <TopicHead topic={topic} current={tab} />
      {tab === 'overview' && (
        <Loaded read={read} of="The topic">
          {found => <TopicOverview topic={found} />}
        </Loaded>
      )}
      {tab === 'partitions' && (
        <Loaded read={read} of="The partitions">
          {found => <TopicPartitions topic={found} />}
        </Loaded>
      )}
      {tab === 'configuration' && <TopicConfiguration topic={topic} edits={edits} onEdits={setEdits} />}
      {tab === 'schemas' && <TopicSchemas topic={topic} />}
      {tab === 'access' && <TopicAccess topic={topic} />}
    </>
  )
}
