// The verbs of a topic, each with its dialog.

import { CopyPlus, Eraser, Rows3, Send, Trash2 } from 'lucide-react'
import { useState } from 'react'
import type { TopicDescription } from '../../../src/api/topics.ts'
import { Action } from '../../parts/button.tsx'
import { lazyPart } from '../../parts/lazy-part.tsx'
import { Produce } from '../../parts/produce.tsx'
import { useGo, useHere } from '../../shell/address.tsx'
import { useMay } from '../../shell/session.tsx'

const AddPartitions = lazyPart(async () => (await import('./add-partitions.tsx')).AddPartitions)
const DeleteRecords = lazyPart(async () => (await import('./delete-records.tsx')).DeleteRecords)
const DeleteTopic = lazyPart(async () => (await import('./delete-topic.tsx')).DeleteTopic)

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
      {(verb === 'produce' || (search.produce && mayProduce)) && <Produce topic={name} onClose={close} />}
      {verb === 'add partitions' && <AddPartitions topic={topic} onClose={close} />}
      {verb === 'delete records' && <DeleteRecords topic={topic} onClose={close} />}
      {verb === 'delete topic' && <DeleteTopic topic={topic} onClose={close} />}
    </>
  )
}
