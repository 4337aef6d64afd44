// Says that something takes a while: one line that is written over, from the second second on, where somebody can see it.

import type { Clock, Timer } from '../base/clock.ts'
import type { Terminal } from './terminal.ts'

const FIRST_MS = 1_000
const AGAIN_MS = 500
const CLEAR_LINE = '\r\u001b[K'

/** Shows what `said` says until the work is done, whatever comes of it. */
export async function withProgress<T>(
  { terminal, clock }: { readonly terminal: Terminal; readonly clock: Clock },
  said: (elapsedSeconds: number) => string,
  work: Promise<T>,
): Promise<T> {
  if (!terminal.isWatched) return await work
  const startedAtMs = clock.monotonic()
  let isShown = false
  let timer: Timer
  const show = () => {
    terminal.err(`${CLEAR_LINE}${said(Math.round((clock.monotonic() - startedAtMs) / 1000))}`)
    isShown = true
    timer = clock.timer(AGAIN_MS, show)
  }
  timer = clock.timer(FIRST_MS, show)
  try {
    return await work
  } finally {
    timer.cancel()
    if (isShown) terminal.err(CLEAR_LINE)
  }
}
