// Creates many topics at once, and groups that have committed offsets in them.

import { createTopics } from '../src/protocol/messages/create-topics.ts'
import { offsetCommit } from '../src/protocol/messages/offset-commit.ts'
import { connect } from '../testing/wire.ts'

const CREATED_AT_ONCE = 500

/** Returns the names many-0, many-1 … */
export function manyNames(count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `many-${at}`)
}

/** Creates topics of one partition. */
export async function createMany(port: number, names: readonly string[]): Promise<void> {
  const wire = await connect({ port })
  for (let from = 0; from < names.length; from += CREATED_AT_ONCE) {
    const { topics } = await wire.send(createTopics, 7, {
      topics: names.slice(from, from + CREATED_AT_ONCE).map(name => ({
        name,
        numPartitions: 1,
        replicationFactor: 1,
        assignments: [],
        configs: [],
      })),
      timeoutMs: 60_000,
      validateOnly: false,
    })
    const refused = topics.find(topic => topic.errorCode !== 0)
    if (refused) throw new Error(`${refused.name} was refused with ${refused.errorCode}`)
  }
  await wire.close()
}

/**
 * Commits offset 0 in `each` of the topics for every group, as consumers without a membership do. The groups are named
 * group-0, group-1 …
 */
export async function commitMany(port: number, groups: number, names: readonly string[], each: number): Promise<void> {
  const wire = await connect({ port })
  for (let group = 0; group < groups; group++) {
    const { topics } = await wire.send(offsetCommit, 8, {
      groupId: `group-${group}`,
      memberId: '',
      topics: Array.from({ length: Math.min(each, names.length) }, (_, i) => ({
        name: names[(group * each + i) % names.length]!,
        partitions: [{ partitionIndex: 0, committedOffset: 0, committedMetadata: null }],
      })),
    })
    const refused = topics.flatMap(topic => topic.partitions).find(({ errorCode }) => errorCode !== 0)
    if (refused) throw new Error(`a commit was refused with ${refused.errorCode}`)
  }
  await wire.close()
}
