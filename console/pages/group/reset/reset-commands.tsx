// The reset as commands of ketch and of Kafka's tools.

import { CopyAsCommand } from '../../../parts/copy-as-command.tsx'
import { type Asked, commandTarget, toolTopics } from './reset-request.ts'

export function ResetCommands({ groupId, asked }: { readonly groupId: string; readonly asked: Asked }) {
  const to = commandTarget(asked)
  const partitions = toolTopics(asked)
  const topics = partitions.length > 0 ? partitions : (asked.scope?.topics ?? [])
  const ofPartitions = {
    tools: ["Kafka's tools"],
    note: 'The command of ketch resets whole topics, so it is not offered for partitions.',
  } as const
  return (
    <CopyAsCommand
      task={{ do: 'reset-offsets', group: groupId, topics, to }}
      {...(partitions.length > 0 ? ofPartitions : {})}
    />
  )
}
