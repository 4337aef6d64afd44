// What a connection's last full fetch leaves behind for the next one. Consumers without sessions ask for the same again and
// again while nothing comes, so rows that had nothing to say stay at their partitions, and what was answered is kept with
// them: the same request again has to look only at rows with news. It decides nothing about answers; the handler does.

import type { Watchlist } from '../log/waiters.ts'
import type { fetch } from '../protocol/messages/fetch.ts'
import type { RequestOf, ResponseInput } from '../protocol/schema.ts'
import type { FetchRow } from './fetch-row.ts'
import type { Peer } from './handlers/handler.ts'

/** A request of more rows leaves nothing behind. */
export const MOST_KEPT_ROWS = 500

type Body = RequestOf<typeof fetch>

export interface Left {
  readonly body: Body
  readonly rows: FetchRow[]
  readonly standing: Standing | null
}

/** All rows stand in the list, and this is what each of them had to say when it was last looked at. */
export interface Standing {
  readonly list: Watchlist<FetchRow>
  readonly responses: ResponseInput<typeof fetch>['responses']
}

export interface StandingFetches {
  /**
   * Null for nothing. It is the caller's from here on: another request of the connection may come before this one is answered.
   * Where it was left by another body than this (dispatch.ts gives the same value for the same bytes), its rows stand no more.
   */
  take(connection: Peer, body: Body | null): Left | null
  /** `closed` aborts when the connection is gone; nothing stands for it then. */
  leave(connection: Peer, closed: AbortSignal, left: Left): void
}

export function createStandingFetches(): StandingFetches {
  const connections = new WeakMap<Peer, { left: Left | null }>()

  function placeOf(connection: Peer, closed: AbortSignal) {
    let place = connections.get(connection)
    if (place === undefined) {
      const made: { left: Left | null } = { left: null }
      place = made
      connections.set(connection, made)
      closed.addEventListener('abort', () => {
        clear(made.left)
        made.left = null
      })
    }
    return place
  }

  return {
    take(connection, body) {
      const place = connections.get(connection)
      const left = place?.left ?? null
      if (place === undefined || left === null) return null
      place.left = null
      if (left.body === body) return left
      clear(left)
      return { ...left, standing: null }
    },
    leave(connection, closed, left) {
      if (closed.aborted || left.rows.length > MOST_KEPT_ROWS) {
        clear(left)
        return
      }
      const place = placeOf(connection, closed)
      clear(place.left)
      place.left = left
    },
  }
}

/** Nobody stands any more. */
function clear(left: Left | null): void {
  if (left === null || left.standing === null) return
  for (const row of left.rows) {
    left.standing.list.drop(row)
    row.drop()
  }
}
