// Opens the state that a broker's fetches keep between requests: the sessions, the rows for the next request of a
// connection, the memory for answers, and the turns. handlers/fetch.ts uses it to make answers.

import type { CounterChild } from '../../telemetry/metrics.ts'
import type { Rooms } from '../handler.ts'
import { createFetchSessions, type FetchSessions } from './sessions.ts'
import { createFetchShare, type FetchShare, shareLimits } from './share.ts'
import { createStandingFetches, type StandingFetches } from './standing-fetches.ts'
import { createTurns, type Turns } from './turns.ts'

export interface Fetches {
  readonly sessions: FetchSessions
  readonly standing: StandingFetches
  readonly share: FetchShare
  readonly turns: Turns
  /** Counts fetches that are answered without records because there was no memory for them. */
  readonly deferred: CounterChild
}

export function openFetches(rooms: Pick<Rooms, 'clock' | 'metrics' | 'random' | 'settings'>): Fetches {
  const { clock, metrics, settings } = rooms
  const maxBytes = settings.get('broker.global-max-pending-bytes')
  const share = createFetchShare(clock, shareLimits(maxBytes, settings.get('broker.global-resume-pending-bytes')))
  metrics.sample('svc.broker.fetch.granted_bytes', {}, () => share.bytes)
  return {
    sessions: createFetchSessions(rooms, settings.get('broker.fetch-session-cache-slots')),
    standing: createStandingFetches(),
    share,
    turns: createTurns(clock),
    deferred: metrics.child('svc.broker.fetch.deferred', {}),
  }
}
