// Names that begin with a text, for clients that complete what a person types. Upper and lower case are alike. Each
// list comes from a verb that asks no partition.

import { isDeclined } from '../admin/declined.ts'
import { listGroupsOfCluster } from '../admin/groups/cluster-groups.ts'
import { withRegistry } from '../admin/schemas/in-words.ts'
import { listSubjectNames } from '../admin/schemas/subjects.ts'
import { listTopicNames } from '../admin/topic-listing.ts'
import type { Complete } from './resource.ts'

/** The registry gives each caller its turns; completions have one together. */
const CALLER = 'completions of agents'
/** More are never sent. */
const MOST_IDS = 101

function beginning(start: string, names: readonly string[]): readonly string[] {
  const wanted = start.toLowerCase()
  return names.filter(name => name.toLowerCase().startsWith(wanted))
}

export const completeTopic: Complete = async (start, rooms) => {
  const request = { q: start, sort: 'name', order: 'asc', offset: 0, limit: Number.POSITIVE_INFINITY } as const
  const { topics } = await listTopicNames(rooms, request)
  return beginning(
    start,
    topics.map(({ name }) => name),
  )
}

export const completeGroup: Complete = async (start, rooms) => {
  const { groups } = await listGroupsOfCluster(rooms, { states: [], types: [] })
  return beginning(
    start,
    groups.map(({ groupId }) => groupId),
  )
}

export const completeSubject: Complete = async (start, rooms) => {
  const its = withRegistry(rooms, CALLER)
  return isDeclined(its) ? [] : beginning(start, await listSubjectNames(its.registry))
}

/** Ids are given out in order, so every number up to the highest one is likely to have a schema. */
export const completeSchemaId: Complete = async (start, rooms) => {
  const its = withRegistry(rooms, CALLER)
  if (isDeclined(its) || !/^([1-9][0-9]{0,9})?$/.test(start)) return []
  const highest = await its.registry.maxId()
  const found: string[] = []
  // 4 stands for 4, then for 40 to 49, then for 400 to 499.
  let [first, last] = start === '' ? [1, 9] : [Number(start), Number(start)]
  while (first <= highest && found.length < MOST_IDS) {
    const end = Math.min(last, highest, first + MOST_IDS - found.length - 1)
    for (let id = first; id <= end; id++) found.push(String(id))
    first *= 10
    last = last * 10 + 9
  }
  return found
}
