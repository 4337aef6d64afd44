// Reads the page of records that the address selects, a moment after a filter changed. While a search goes on
// (browse-pages.ts), the records that it has found are shown. The user can stop it.

import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { asProblem } from '../../api/problem.ts'
import { type Read, tryAgain } from '../../api/queries.ts'
import { useSettled } from '../../parts/settled.ts'
import { type Browsed, browse } from './browse-pages.ts'
import type { MessageQuery } from './selection.ts'

/** The time in ms after which a changed filter is asked for. */
const SETTLE_MS = 300
/** The end of a log may move; other pages of it stay as they are. */
const END_STALE_MS = 2_000

export interface Browsing {
  readonly read: Read<Browsed>
  /** True while a request runs, or a changed filter is about to be asked for. */
  readonly isRunning: boolean
  /** Ends the run and keeps what it found. */
  stop(): void
}

/** Reads the page of a query; nothing while it is null. */
export function useBrowse(topic: string, query: MessageQuery | null): Browsing {
  const client = useQueryClient()
  const settled = useSettledQuery(query)
  const stopping = useRef<AbortController | null>(null)
  // The last part tells it from a page as the broker answers it, which `useRead` keeps.
  const key = ['browse messages', { params: { topic }, query: settled }, 'joined']
  const result = useQuery({
    queryKey: key,
    async queryFn({ signal }) {
      const stop = new AbortController()
      stopping.current = stop
      return await browse(topic, settled!, {
        signal,
        stop: stop.signal,
        onFound: found => client.setQueryData(key, found),
      })
    },
    enabled: settled !== null,
    placeholderData: keepPreviousData,
    staleTime: ({ state: { data } }) => (data?.nextCursor === null ? END_STALE_MS : Number.POSITIVE_INFINITY),
    // A look at another window must not begin a search again.
    refetchOnWindowFocus: false,
  })
  const isWaiting = query !== null && settled !== query && JSON.stringify(query) !== JSON.stringify(settled)
  return {
    read: {
      data: result.data,
      problem: result.error === null ? null : asProblem(result.error),
      atMs: result.dataUpdatedAt,
      isFirst: result.isPending,
      isOld: result.isPlaceholderData || isWaiting,
      isFetching: result.isFetching,
      retry: tryAgain,
    },
    isRunning: result.isFetching || isWaiting,
    stop: () => stopping.current?.abort(),
  }
}

/** Returns the query once its filters have rested. Another page of the same query waits for nothing. */
function useSettledQuery(query: MessageQuery | null): MessageQuery | null {
  const filters = query === null ? '' : JSON.stringify({ ...query, cursor: '' })
  const isSettled = useSettled(filters, SETTLE_MS) === filters
  const last = useRef(query)
  if (isSettled || query === null) last.current = query
  return last.current
}
