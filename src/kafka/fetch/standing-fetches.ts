// Keeps the rows of a connection's last full fetch for its next one. Consumers without sessions repeat the same
// request while no records arrive. So rows without news keep watching their partitions, and their answer is kept with
// them. If the request is repeated, only rows with news are read. It decides nothing about answers; the handler does.

import type { Policy } from '../../auth/clients/policy.ts'
import type { Watchlist } from '../../log/waiters.ts'
import type { fetch } from '../../protocol/messages/fetch.ts'
import type { RequestOf, ResponseInput } from '../../protocol/schema.ts'
import type { FetchRow } from './row.ts'

/** The most rows that are kept for a connection. The rows of a larger request are not kept. */
export const MOST_KEPT_ROWS = 500

type Body = RequestOf<typeof fetch>
/** A connection; only its object identity is used. */
type Key = object

export interface Left {
  readonly body: Body
  readonly rows: FetchRow[]
  readonly standing: Standing | null
  /** The policy for which the rows were checked; null without ACLs. */
  readonly policy: Policy | null
}

/** The last answer of rows that all wait in `list`. */
export interface Standing {
  readonly list: Watchlist<FetchRow>
  readonly responses: ResponseInput<typeof fetch>['responses']
}

export interface StandingFetches {
  /**
   * Returns the kept rows; null if there are none. They belong to the caller from then on, because another request of
   * the connection may arrive before this one is answered. If they come from another body, or were checked for another
   * policy, they no longer watch their partitions (dispatch.ts gives the same value for the same bytes).
   */
  take(connection: Key, body: Body | null, policy: Policy | null): Left | null
  /**
   * Keeps rows for the next request of a connection. When the connection closes, `closed` aborts, and no rows are
   * kept for it.
   */
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
    take(connection, body, policy) {
      const place = connections.get(connection)
      const left = place?.left ?? null
      if (place === undefined || left === null) return null
      place.left = null
      if (left.body === body && left.policy === policy) return left
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

/** Stops the rows from watching their partitions. */
function clear(left: Left | null): void {
  if (left === null || left.standing === null) return
  for (const row of left.rows) {
    left.standing.list.drop(row)
    row.drop()
  }
}
