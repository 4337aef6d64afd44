// The reset as commands of ketch and of Kafka's tools.

import { Recipes } from '../../../parts/recipes.tsx'
import { type Asked, commandTarget, toolTopics } from './reset-request.ts'

export function ResetCommands({ groupId, asked }: { readonly groupId: string; readonly asked: Asked }) {
  const to = commandTarget(asked)
  const partitions = toolTopics(asked)
  const topics = partitions.length > 0 ? partitions : (asked.scope?.topics ?? [])
  return (
    <details className="mt-4">
      <summary className="inline-flex min-h-7 items-center font-medium text-accent max-sm:min-h-11">
        Copy as command
      </summary>
      {partitions.length > 0 && (
        <p className="text-muted">The command of ketch resets whole topics, so it is not offered for partitions.</p>
      )}
      <Recipes
        task={{ do: 'reset-offsets', group: groupId, topics, to }}
        {...(partitions.length > 0 ? { tools: ["Kafka's tools"] as const } : {})}
      />
    </details>
  )
}
