// The page of a topic that does not exist: it never did, or somebody has deleted it.

import { Plus } from 'lucide-react'
import type { Problem } from '../../api/problem.ts'
import { Action, buttonClass } from '../../parts/button.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Empty } from '../../parts/states.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink, useGo } from '../../shell/address.tsx'

/** Returns whether the broker says that it has no topic of this name. */
export function isMissingTopic(problem: Problem | null): boolean {
  return problem?.code === 'UNKNOWN_TOPIC_OR_PARTITION' || problem?.code === 'INVALID_TOPIC_EXCEPTION'
}

export function MissingTopic({ topic }: { readonly topic: string }) {
  const go = useGo()
  return (
    <>
      <PageHead title={topic} heading={<VisibleText text={topic} />} documentTitle={`${topic} · Topic`} />
      <Empty
        title="There is no topic of this name"
        action={
          <div className="flex flex-wrap justify-center gap-2">
            <PageLink page="topics" className={buttonClass('plain')}>
              Show all topics
            </PageLink>
            <Action
              operation="create topic"
              icon={Plus}
              onClick={() => go({ page: 'topics', search: { create: true } })}
            >
              Create topic
            </Action>
          </div>
        }
      >
        The broker has no topic “<VisibleText text={topic} />
        ”. It may have been deleted, or the address has another spelling: upper and lower case differ.
      </Empty>
    </>
  )
}
