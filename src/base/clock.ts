// Time enters the broker only here, so that a whole broker can run on a simulated clock (testing/sim/clock.ts).

export interface Timer {
  /** Idempotent. After it returns, the timer's function is not called. */
  cancel(): void
}

/** The latest time of a Date, in ms since 1970 (ECMA-262, 21.4.1.1). */
export const LATEST_DATE_MS = 8.64e15

export interface Clock {
  /** Milliseconds since 1970 by the system clock. It may jump; use it for stamps, never for durations. */
  now(): number
  /** Milliseconds from an arbitrary origin, with fractions. Never goes back. */
  monotonic(): number
  /** Calls fn once after delayMs (at least 0). A pending timer keeps the process alive only if `keepsAlive` is true. */
  timer(delayMs: number, fn: () => void, keepsAlive?: boolean): Timer
  /** Calls fn after the current turn of the event loop has handled its waiting input. Keeps the process alive. */
  soon(fn: () => void): void
}

/** The longest delay that setTimeout accepts. It treats a longer delay as 1 ms. */
const LONGEST_DELAY_MS = 2 ** 31 - 1

export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  monotonic: () => performance.now(),
  timer(delayMs: number, fn: () => void, keepsAlive = false): Timer {
    const handle = setTimeout(fn, Math.min(Math.max(0, delayMs), LONGEST_DELAY_MS))
    if (!keepsAlive) handle.unref()
    return { cancel: () => clearTimeout(handle) }
  },
  soon: (fn: () => void) => void setImmediate(fn),
})

/** Keeps the process alive until the returned timer is cancelled. For a program that only waits for time to pass. */
export function stayAlive(): Timer {
  const handle = setInterval(() => {}, LONGEST_DELAY_MS)
  return { cancel: () => clearInterval(handle) }
}

/** Resolves after delayMs. */
export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise(resolve => clock.timer(delayMs, resolve))
}

/** Resolves after delayMs, or earlier if the signal is aborted. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    let timer: Timer | null = null
    const end = () => {
      timer?.cancel()
      signal.removeEventListener('abort', end)
      resolve()
    }
    timer = clock.timer(delayMs, end)
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
}

/** A turn of the event loop that is shorter than this had no other work. */
const IDLE_TURN_MS = 0.05
/** Work that lets others go first continues after this time, however busy they are. */
const MOST_PATIENCE_MS = 5
/**
 * The pause between two turns of long work while the event loop is busy. Other work needs several turns of the loop and
 * waits between them.
 */
const PAUSE_MS = 1

/**
 * Resolves when the event loop has had a turn without other work, or after MOST_PATIENCE_MS. For work that is not
 * urgent. Resolves with true if a turn had other work.
 */
export async function afterOthers(clock: Clock): Promise<boolean> {
  const beganAtMs = clock.monotonic()
  for (let turnAtMs = beganAtMs; ; ) {
    await new Promise<void>(resolve => clock.soon(resolve))
    const nowMs = clock.monotonic()
    if (nowMs - turnAtMs < IDLE_TURN_MS) return turnAtMs > beganAtMs
    if (nowMs - beganAtMs >= MOST_PATIENCE_MS) return true
    turnAtMs = nowMs
  }
}

/** The function that takingTurns returns. */
export type Turns = () => Promise<void> | undefined

/**
 * Returns a function for long work on the event loop. The work calls it between its steps. If turnMs have passed since
 * other work last went first, it returns a promise that the work must await. Otherwise it returns undefined. Once it
 * has found the loop busy, each promise also waits for PAUSE_MS. Parts of the work that run side by side share the
 * function, and with it each turn and each pause: the loop is not held longer because there are more of them.
 */
export function takingTurns(clock: Clock, turnMs: number): Turns {
  let endsAtMs = clock.monotonic() + turnMs
  let areOthersBusy = false
  let pause: Promise<void> | undefined
  const letOthersGoFirst = async () => {
    areOthersBusy = (await afterOthers(clock)) || areOthersBusy
    // Without keepsAlive the process would end in the middle of the work if nothing else keeps it alive. A store that
    // closes last would not write its last checkpoint.
    if (areOthersBusy) await new Promise<void>(resolve => clock.timer(PAUSE_MS, resolve, true))
    endsAtMs = clock.monotonic() + turnMs
    pause = undefined
  }
  return () => {
    if (pause === undefined && clock.monotonic() >= endsAtMs) pause = letOthersGoFirst()
    return pause
  }
}

/**
 * Resolves with the result of the work, or with the result of `late` if the work takes longer than timeoutMs. The work
 * then continues, and its result is lost.
 */
export async function within<T, L>(clock: Clock, timeoutMs: number, work: Promise<T>, late: () => L): Promise<T | L> {
  const { promise: over, resolve } = Promise.withResolvers<typeof LATE>()
  const timer = clock.timer(timeoutMs, () => resolve(LATE))
  try {
    const first = await Promise.race([work, over])
    return first === LATE ? late() : first
  } finally {
    timer.cancel()
  }
}

const LATE = Symbol('late')
