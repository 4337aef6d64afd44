// One page of records as the user sees it, of one page of the broker or of many: a search that found too little so far
// goes on over the next pages of the log.

import type { MessagePage } from '../../../src/api/messages.ts'
import { ask } from '../../api/client.ts'
import { Problem } from '../../api/problem.ts'
import { monotonicMs } from '../../shell/clock.ts'
import type { MessageQuery } from './selection.ts'

/** One page as the user sees it, of one page of the broker or of many. */
export interface Browsed extends Omit<MessagePage, 'isPartial'> {
  /** The time that all requests took, in ms. */
  readonly tookMs: number
  /** `partial`: the broker ended the page early, and the next one continues it. `stopped`: the user did. */
  readonly state: 'running' | 'full' | 'partial' | 'stopped'
  /** Why the search could not go on; null if it could. */
  readonly broken: Problem | null
}

export interface Run {
  /** Aborts the run: the page needs its result no longer. */
  readonly signal: AbortSignal
  /** Ends the run with what it has. */
  readonly stop: AbortSignal
  readonly onFound: (found: Browsed) => void
}

/**
 * Resolves to the page. It ends when it is full, when the log ends, or when it is stopped. Throws a Problem if nothing
 * was found before, and what `signal` aborts with.
 */
export async function browse(topic: string, query: MessageQuery, { signal, stop, onFound }: Run): Promise<Browsed> {
  const beganMs = monotonicMs()
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
    found = joined(found, page, monotonicMs() - beganMs)
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
