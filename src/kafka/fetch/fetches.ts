// Opens what the fetches of a broker share: the sessions, the rows for the next request of a connection, the memory for
// answers, the turns, and the reading of rows with its limits. handlers/fetch.ts uses it to make answers.

import { UNKNOWN_SERVER_ERROR } from '../../protocol/errors.ts'
import type { CounterChild } from '../../telemetry/metrics.ts'
import type { Rooms } from '../handler.ts'
import { createRowReading, type RowReading } from './reading.ts'
import { createFetchSessions, type FetchSessions } from './sessions.ts'
import { createFetchShare, type FetchShare, shareLimits } from './share.ts'
import { createStandingFetches, type StandingFetches } from './standing-fetches.ts'
import { createTurns, type Turns } from './turns.ts'

export interface Fetches {
  readonly sessions: FetchSessions
  readonly standing: StandingFetches
  readonly share: FetchShare
  readonly turns: Turns
  readonly rowReading: RowReading
  /** Counts fetches that are answered without records because there was no memory for them. */
  readonly deferred: CounterChild
}

export function openFetches(rooms: Pick<Rooms, 'clock' | 'logger' | 'metrics' | 'random' | 'settings'>): Fetches {
  const { clock, logger, metrics, settings } = rooms
  const maxBytes = settings.get('broker.global-max-pending-bytes')
  const share = createFetchShare(clock, shareLimits(maxBytes, settings.get('broker.global-resume-pending-bytes')))
  metrics.sample('svc.broker.fetch.granted_bytes', {}, () => share.bytes)
  return {
    sessions: createFetchSessions(rooms, settings.get('broker.fetch-session-cache-slots')),
    standing: createStandingFetches(),
    share,
    turns: createTurns(clock),
    rowReading: createRowReading(clock, settings.get('broker.fetch-partition-max-bytes'), {
      most: settings.get('storage.remote.iceberg.read.threads'),
      failed(error) {
        logger.limited('cold read', 10_000).error('a read of the archive failed: a defect in the broker', { error })
        return UNKNOWN_SERVER_ERROR
      },
    }),
    deferred: metrics.child('svc.broker.fetch.deferred', {}),
  }
}
