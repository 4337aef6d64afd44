// The rows that a connection's last full fetch leaves behind for the next one. Consumers without sessions ask for the
// same again and again while nothing comes, so rows that had nothing to say stay at their partitions, and their answer
// is kept with them: the same request again has to look only at rows with news. It decides nothing about answers; the
// handler does.

import type { Watchlist } from '../../log/waiters.ts'
import type { fetch } from '../../protocol/messages/fetch.ts'
import type { RequestOf, ResponseInput } from '../../protocol/schema.ts'
import type { FetchRow } from './row.ts'

/** A request of more rows leaves nothing behind. */
export const MOST_KEPT_ROWS = 500

type Body = RequestOf<typeof fetch>
/** A connection, known by its identity alone. */
type Key = object

export interface Left {
  readonly body: Body
  readonly rows: FetchRow[]
  readonly standing: Standing | null
}

/** All rows wait in the list, and this is their last answer. */
export interface Standing {
  readonly list: Watchlist<FetchRow>
  readonly responses: ResponseInput<typeof fetch>['responses']
}

export interface StandingFetches {
  /**
   * Null if there are no rows. The rows belong to the caller from now on, because another request of the connection may
   * arrive before this one is answered. If the rows come from another body (dispatch.ts gives the same value for the
   * same bytes), they no longer wait at their partitions.
   */
  take(connection: Key, body: Body | null): Left | null
  /** `closed` aborts when the connection is closed; then no rows are kept for it. */
  leave(connection: Key, closed: AbortSignal, left: Left): void
}

export function createStandingFetches(): StandingFetches {
  const connections = new WeakMap<Key, { left: Left | null }>()

  function placeOf(connection: Key, closed: AbortSignal) {
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

/** No row waits at its partition any longer. */
function clear(left: Left | null): void {
  if (left === null || left.standing === null) return
  for (const row of left.rows) {
    left.standing.list.drop(row)
    row.drop()
  }
}
