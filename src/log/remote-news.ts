// Tells the holder of the storage worker's lease which partitions of the remote tier have news: their documents of
// segments were loaded or changed. So the holder loads no document that it knows. The numbers mean something only
// within one process.

import type { Partition } from './partition.ts'
import type { PartitionState } from './partition-state.ts'

export interface RemoteNews {
  /** Names the newest change; the caller passes it to the next call. At least 1. */
  readonly to: number
  readonly topics: readonly { readonly topicId: string; readonly partitions: readonly number[] }[]
}

type Topics = ReadonlyMap<string, readonly (Partition | null)[]>

export class RemoteNewsOf {
  readonly #topics: () => Topics
  #last = 1

  /** `topics` returns the partitions of each topic; null for one that another broker leads. */
  constructor(topics: () => Topics) {
    this.#topics = topics
  }

  /** Notes that the document of a partition is new or has changed. */
  note(state: PartitionState): void {
    const { remote, hasLeftRemote } = state.sealed
    if (state.isRemote || remote !== null || hasLeftRemote) state.newsAt = ++this.#last
  }

  /** See Logs.remoteNews. */
  since(since: number): RemoteNews {
    const to = this.#last
    const topics: { topicId: string; partitions: number[] }[] = []
    if (since >= to) return { to, topics }
    for (const [topicId, all] of this.#topics()) {
      const partitions: number[] = []
      for (const partition of all) {
        if (partition !== null && partition.state.newsAt > since) partitions.push(partition.index)
      }
      if (partitions.length > 0) topics.push({ topicId, partitions })
    }
    return { to, topics }
  }
}
