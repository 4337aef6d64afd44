// The head of the pages of a topic: its name, its sentence, its verbs, and the ways to its parts.

import { TOPIC_TABS } from '../../../src/api/pages.ts'
import { PageHead } from '../../parts/page.tsx'
import { Tabs } from '../../parts/tabs.tsx'

export type TopicPart = (typeof TOPIC_TABS)[number] | 'messages'

const LABELS: Readonly<Record<TopicPart, string>> = {
  overview: 'Overview',
  messages: 'Messages',
  partitions: 'Partitions',
  configuration: 'Configuration',
  access: 'Access',
}

export function TopicHead({ topic, current }: { readonly topic: string; readonly current: TopicPart }) {
  const params = { topic }
  return (
    <>
      <PageHead title={topic} documentTitle={`${topic} · ${LABELS[current]}`} />
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
