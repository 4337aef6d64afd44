// Shows on a terminal that a command still works: one line, after the first second, which the next line overwrites.

import type { Clock, Timer } from '../base/clock.ts'
import type { Terminal } from './terminal.ts'

const FIRST_MS = 1_000
const AGAIN_MS = 500
const CLEAR_LINE = '\r\u001b[K'

interface Screen {
  readonly terminal: Terminal
  readonly clock: Clock
}

/** Signs in, then does the same as withProgress. Otherwise the line would overwrite the question for the password. */
export async function withProgressSignedIn<T>(
  call: Screen & { readonly api: { signIn(): Promise<void> } },
  said: (elapsedSeconds: number) => string,
  work: () => Promise<T>,
): Promise<T> {
  await call.api.signIn()
  return await withProgress(call, said, work())
}

/** Shows the text of `said` until the work has succeeded or failed. */
export async function withProgress<T>(
  { terminal, clock }: Screen,
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
