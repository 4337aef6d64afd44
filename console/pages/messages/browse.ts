// Reads a page of records. A search that found too little so far goes on over the next pages of the log, until the page
// is full, the log ends or the user stops it; what it found is shown meanwhile.

import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import type { MessagePage } from '../../../src/api/messages.ts'
import { ask } from '../../api/client.ts'
import { asProblem, Problem } from '../../api/problem.ts'
import type { Read } from '../../api/queries.ts'
import { useSettled } from '../../parts/settled.ts'
import type { MessageQuery } from './selection.ts'

/** The time in ms after which a changed filter is asked for. */
const SETTLE_MS = 300
/** The end of a log may move; other pages of it stay as they are. */
const END_STALE_MS = 2_000

/** One page as the user sees it, of one page of the broker or of many. */
export interface Browsed extends Omit<MessagePage, 'isPartial'> {
  /** The time that all requests took, in ms. */
  readonly tookMs: number
  /** `partial`: the broker ended the page early, and the next one continues it. `stopped`: the user did. */
  readonly state: 'running' | 'full' | 'partial' | 'stopped'
  /** Why the search could not go on; null if it could. */
  readonly broken: Problem | null
}

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
  const key = ['browse messages', { params: { topic }, query: settled }]
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
      retry: () => void result.refetch(),
    },
    isRunning: result.isFetching || isWaiting,
    stop: () => stopping.current?.abort(),
  }
}

interface Run {
  /** Aborts the run: nobody waits for it any longer. */
  readonly signal: AbortSignal
  /** Ends the run with what it has. */
  readonly stop: AbortSignal
  readonly onFound: (found: Browsed) => void
}

async function browse(topic: string, query: MessageQuery, { signal, stop, onFound }: Run): Promise<Browsed> {
  const beganMs = performance.now()
  const either = AbortSignal.any([signal, stop])
  let found: Browsed = { ...NOTHING, nextCursor: String(query.cursor ?? '') }
  for (;;) {
    let page: MessagePage
    try {
      const limit = query.limit - found.messages.length
      const asked = { ...query, cursor: found.nextCursor, limit }
      page = await ask('browse messages', { params: { topic }, query: asked }, { signal: either })
    } catch (error) {
      signal.throwIfAborted()
      if (stop.aborted) return { ...found, state: 'stopped' }
      // Of a search that found its first pages the user keeps those.
      if (!(error instanceof Problem) || found.ends.length === 0) throw error
      return { ...found, state: 'stopped', broken: error }
    }
    found = joined(found, page, performance.now() - beganMs)
    if (!page.isPartial || page.nextCursor === null) return { ...found, state: 'full' }
    // Without a search, the first records are worth more than a full page.
    if (query.contains === '' && found.messages.length > 0) return { ...found, state: 'partial' }
    onFound(found)
  }
}

const NOTHING: Browsed = {
  messages: [],
  nextCursor: null,
  tailCursor: '',
  ends: [],
  scanned: 0,
  bytes: 0,
  unavailable: [],
  tookMs: 0,
  state: 'running',
  broken: null,
}

function joined(found: Browsed, { isPartial: _, ...page }: MessagePage, tookMs: number): Browsed {
  return {
    ...page,
    messages: [...found.messages, ...page.messages],
    scanned: found.scanned + page.scanned,
    bytes: found.bytes + page.bytes,
    tookMs,
    state: 'running',
    broken: null,
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
