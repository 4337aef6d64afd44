// The verbs of a topic, each with its dialog.

import { CopyPlus, Eraser, Rows3, Send, Trash2 } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { TopicDescription } from '../../../src/api/topics.ts'
import { Action } from '../../parts/button.tsx'
import { useGo, useHere } from '../../shell/address.tsx'
import { useMay } from '../../shell/session.tsx'

const Produce = lazy(() => import('../../parts/produce.tsx').then(({ Produce: part }) => ({ default: part })))
const AddPartitions = lazy(() => import('./add-partitions.tsx').then(({ AddPartitions: part }) => ({ default: part })))
const DeleteRecords = lazy(() => import('./delete-records.tsx').then(({ DeleteRecords: part }) => ({ default: part })))
const DeleteTopic = lazy(() => import('./delete-topic.tsx').then(({ DeleteTopic: part }) => ({ default: part })))

type Verb = 'produce' | 'add partitions' | 'delete records' | 'delete topic'

export function TopicVerbs({ topic }: { readonly topic: TopicDescription }) {
  const { search, set } = useHere('topic')
  const go = useGo()
  const mayProduce = useMay('produce messages')
  const [verb, setVerb] = useState<Verb | null>(null)
  const { name } = topic
  const close = () => {
    setVerb(null)
    if (search.produce) set({ produce: false })
  }
  return (
    <>
      <Action operation="produce messages" kind="primary" icon={Send} onClick={() => setVerb('produce')}>
        Produce
      </Action>
      <Action operation="add partitions" icon={Rows3} onClick={() => setVerb('add partitions')}>
        Add partitions
      </Action>
      <Action
        operation="create topic"
        icon={CopyPlus}
        onClick={() => go({ page: 'topics', search: { create: true, like: name } })}
      >
        Create like this
      </Action>
      <Action operation="delete records" icon={Eraser} onClick={() => setVerb('delete records')}>
        Delete records
      </Action>
      <Action operation="delete topic" icon={Trash2} onClick={() => setVerb('delete topic')}>
        Delete topic
      </Action>
      <Suspense>
        {(verb === 'produce' || (search.produce && mayProduce)) && <Produce topic={name} onClose={close} />}
        {verb === 'add partitions' && <AddPartitions topic={topic} onClose={close} />}
        {verb === 'delete records' && <DeleteRecords topic={topic} onClose={close} />}
        {verb === 'delete topic' && <DeleteTopic topic={topic} onClose={close} />}
      </Suspense>
    </>
  )
}
