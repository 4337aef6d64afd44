// The dialog Delete topic: what is lost, and who reads it.

import type { ReactNode } from 'react'
import type { GroupList } from '../../../src/api/groups.ts'
import type { TopicDescription } from '../../../src/api/topics.ts'
import { useChange, useRead } from '../../api/queries.ts'
import { Bytes, Count } from '../../parts/amount.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { SilentBrokers } from '../../parts/silent-brokers.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { useGo } from '../../shell/address.tsx'
import { toast } from '../../shell/toasts.tsx'
import { counted } from '../../text/format.ts'

/** The number of groups that the dialog names. */
const NAMED_GROUPS = 5
const SILENT = 'A partition does not answer.'

interface DeleteTopicProps {
  readonly topic: TopicDescription
  readonly onClose: () => void
}

export function DeleteTopic({ topic: { name, records, sizeBytes, partitions }, onClose }: DeleteTopicProps) {
  const go = useGo()
  const remove = useChange('delete topic', { isShown: false })
  const groups = useRead('list groups', { query: { topic: name, limit: NAMED_GROUPS } }, { everyMs: 0 })

  const run = async () => {
    if ((await remove.run({ params: { topic: name } })) === null) return
    toast(`Deleted ${name}.`)
    go({ page: 'topics' }, { replace: true })
  }
  return (
    <Confirm
      operation="delete topic"
      title={`Delete ${name}`}
      name={name}
      verb="Delete topic"
      isBusy={remove.isBusy}
      problem={remove.problem}
      onConfirm={() => void run()}
      onClose={onClose}
    >
      <p>
        The topic <strong>{name}</strong> is deleted at once and for good, with everything in it. A topic of the same
        name begins empty.
      </p>
      <dl className="my-3 grid grid-cols-3 gap-3 tabular-nums">
        <Lost label="Records">
          <Count of={records} why={SILENT} />
        </Lost>
        <Lost label="Local size">
          <Bytes of={sizeBytes} why={SILENT} />
        </Lost>
        <Lost label="Partitions">
          <Count of={partitions} />
        </Lost>
      </dl>
      <p role="status">
        {groups.problem !== null && `Which groups read it is not known: ${groups.problem.detail}`}
        {groups.data !== undefined && <Readers of={groups.data} />}
      </p>
      <SilentBrokers brokers={groups.data?.unavailableBrokers ?? []} of="groups" />
      <p className="mt-2">Producers and consumers that still use it get the error UNKNOWN_TOPIC_OR_PARTITION.</p>
    </Confirm>
  )
}

function Lost({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt className="text-muted">{label}</dt>
      <dd className="m-0 text-section font-semibold">{children}</dd>
    </div>
  )
}

function Readers({ of: { groups, total } }: { readonly of: GroupList }) {
  if (total === 0) return 'No consumer group has a position in it.'
  return (
    <>
      {counted(total, 'consumer group has', 'consumer groups have')} a position in it:{' '}
      <VisibleText text={groups.map(({ groupId }) => groupId).join(', ')} />
      {total > groups.length && ` and ${total - groups.length} more`}.
    </>
  )
}
