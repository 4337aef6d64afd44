// Tells how the remote tier copes, for health. None of it is a reason to be down: a place that is away keeps no client
// from producing, and none from reading what is local. A restart or another broker would not help either.

import type { Clock } from '../base/clock.ts'
import type { CatalogueKeeper, Topic } from '../log/catalogue.ts'
import type { Logs } from '../log/logs.ts'
import type { UnreadTable } from '../log/table-reads.ts'
import type { Settings } from '../settings/settings.ts'
import type { RemoteTier, TierState } from '../tier/remote/remote-tier.ts'
import { storageStats } from './remote-storage.ts'
import { sentence, sentences } from './sentences.ts'

export interface RemoteHealthRooms {
  readonly remoteTier: Pick<RemoteTier, 'uri' | 'state' | 'backlog'> | null
  readonly catalogue: Pick<CatalogueKeeper, 'current'>
  readonly settings: Settings
  readonly clock: Clock
  readonly logs: Pick<Logs, 'unreadTables'>
}

/** The most names that a sentence lists. */
const MOST_NAMED = 10

/** Returns the details of the component; null on a broker that has no remote tier and no topic that needs one. */
export function remoteDetails(rooms: RemoteHealthRooms): Readonly<Record<string, unknown>> | null {
  const { remoteTier: tier, catalogue, logs } = rooms
  const unread = unreadWarnings(logs.unreadTables())
  const { topics, topicsById } = catalogue.current()
  if (tier === null) {
    const without = [...topics.values()].filter(({ resolved }) => resolved.remoteStorageEnable)
    if (without.length === 0 && unread.length === 0) return null
    const missing = `svc.storage.remote.path is not set on this broker, so it cannot serve the records of these topics that only the remote tier has: ${named(without)}.`
    return { isEnabled: false, warning: sentences([...(without.length === 0 ? [] : [missing]), ...unread]) }
  }
  const state = tier.state()
  const nameOf = (topicId: string) => topicsById.get(topicId)?.name ?? topicId
  const warnings = [...warningsOf(state, nameOf), ...unread]
  const { backlogSegments, backlogBytes, backlogAgeSeconds } = storageStats({ ...rooms, remoteTier: tier })
  return {
    ...{ place: tier.uri, breaker: state.breaker, backlogSegments, backlogBytes, backlogAgeSeconds },
    ...(warnings.length > 0 && { warning: sentences(warnings) }),
  }
}

function warningsOf(state: TierState, nameOf: (topicId: string) => string): readonly string[] {
  const { breaker, why, sinceMs, full, createOnly, suspended, passed, foreign } = state
  const warnings: string[] = []
  if (breaker === 'open') {
    const since = new Date(sinceMs).toISOString()
    warnings.push(`The place has not worked since ${since}: ${why ?? 'no reason is known'}`)
  }
  if (full !== null) warnings.push(`The place is full, so segments wait: ${full}`)
  if (createOnly === 'broken')
    warnings.push('The place lets two requests create the same object, so nothing is committed to it.')
  if (suspended > 0)
    warnings.push(
      `${counted(suspended, 'offload job')} without attempts left: nothing happens until an operator retries.`,
    )
  if (passed > 0)
    warnings.push(`Retention has dropped ${counted(passed, 'segment')} of the last day before the offload.`)
  for (const { topicId, why: reason } of foreign.slice(0, MOST_NAMED))
    warnings.push(`The table of ${nameOf(topicId)} gets no more commits: ${reason}`)
  if (foreign.length > MOST_NAMED)
    warnings.push(`Neither do the tables of ${counted(foreign.length - MOST_NAMED, 'further topic')}.`)
  return warnings
}

/** Clients that only read are served all the same. */
function unreadWarnings(unread: readonly UnreadTable[]): readonly string[] {
  const warnings = unread
    .slice(0, MOST_NAMED)
    .map(({ topicName, why }) => `${topicName} takes no records until its table was read: ${sentence(why)}`)
  const more = unread.length - warnings.length
  return more === 0 ? warnings : [...warnings, `Neither do ${counted(more, 'further topic')}.`]
}

function counted(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}

function named(topics: readonly Topic[]): string {
  const names = topics.slice(0, MOST_NAMED).map(({ name }) => name)
  const more = topics.length - names.length
  return more === 0 ? names.join(', ') : `${names.join(', ')} and ${more} more`
}
