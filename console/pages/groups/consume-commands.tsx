// The commands that make a first group, with the address of this broker.

import { useRead } from '../../api/queries.ts'
import { Recipes } from '../../parts/recipes.tsx'

const GROUP = 'my-group'
const TOPIC = 'my-topic'

export function ConsumeCommands() {
  const topics = useRead('list topics', { query: { limit: 1 } }, { everyMs: 0 })
  return <Recipes task={{ do: 'consume', topic: topics.data?.topics[0]?.name ?? TOPIC, group: GROUP }} />
}
