// The head of the pages of a topic: its name, its sentence, its verbs, and the ways to its parts. It reads the topic
// itself. A topic that does not exist has no verbs; the page under the head says so (missing-topic.tsx).

import type { TOPIC_TABS } from '../../../src/api/pages.ts'
import type { TopicDescription } from '../../../src/api/topics.ts'
import { useRead } from '../../api/queries.ts'
import { CopyButton } from '../../parts/copy.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { useCapability } from '../../shell/capabilities.ts'
import { bytes, counted } from '../../text/format.ts'
import { retentionOf } from './retention.ts'
import { TopicVerbs } from './topic-verbs.tsx'

export type TopicPart = (typeof TOPIC_TABS)[number] | 'messages'

const LABELS: Readonly<Record<TopicPart, string>> = {
  overview: 'Overview',
  messages: 'Messages',
  partitions: 'Partitions',
  configuration: 'Configuration',
  schemas: 'Schemas',
  access: 'Access',
}

export function TopicHead({ topic, current }: { readonly topic: string; readonly current: TopicPart }) {
  const { data, problem } = useRead('describe topic', { params: { topic } })
  const params = { topic }
  // A topic that does not exist has its own page below.
  const isUnknown = problem !== null && problem.status !== 404
  return (
    <>
      <PageHead
        title={topic}
        heading={<VisibleText text={topic} />}
        documentTitle={`${topic} · ${LABELS[current]}`}
        beside={<CopyButton value={topic} of="topic name" />}
        actions={data !== undefined && problem?.status !== 404 && <TopicVerbs topic={data} />}
      >
        {data !== undefined ? (
          <Sentence topic={data} />
        ) : isUnknown ? (
          `Size and verbs are not known. ${problem.title}`
        ) : (
          '\u00a0'
        )}
      </PageHead>
      <Tabs
        of={topic}
        tabs={(Object.keys(LABELS) as TopicPart[]).map(part => ({
          label: LABELS[part],
          isCurrent: part === current,
          params,
          ...(part === 'messages' ? { page: 'messages' as const } : { page: 'topic' as const, search: { tab: part } }),
        }))}
      />
    </>
  )
}

function Sentence({ topic }: { readonly topic: TopicDescription }) {
  const tier = useCapability('remote-tier')
  const isTiered = tier?.state === 'on' && topic.configs['remote.storage.enable'] === 'true'
  const { partitions, records, sizeBytes } = topic
  const parts = [
    counted(partitions, 'partition'),
    ...(records === null ? [] : [counted(records, 'record')]),
    ...(sizeBytes === null ? [] : [isTiered ? `${bytes(sizeBytes)} in the local tier` : bytes(sizeBytes)]),
    retentionOf(topic, isTiered),
  ]
  return <span className="tabular-nums">{parts.join(' · ')}</span>
}
