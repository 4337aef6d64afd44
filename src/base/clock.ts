// Time enters the broker only here, so that a whole broker can run on a simulated clock (testing/sim/clock.ts).

export interface Timer {
  /** Idempotent. After it returns, the timer's function is not called. */
  cancel(): void
}

export interface Clock {
  /** Milliseconds since 1970 by the system clock. It may jump; use it for stamps, never for durations. */
  now(): number
  /** Milliseconds from an arbitrary origin, never going back. Fractions are real. */
  monotonic(): number
  /** Calls fn once after delayMs (at least 0). A pending timer does not keep the process alive. */
  timer(delayMs: number, fn: () => void): Timer
  /** Calls fn after the current turn of the event loop has handled its waiting input. */
  soon(fn: () => void): void
}

/** setTimeout treats anything longer as 1 ms. */
const LONGEST_DELAY_MS = 2 ** 31 - 1

export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  monotonic: () => performance.now(),
  timer(delayMs: number, fn: () => void): Timer {
    const handle = setTimeout(fn, Math.min(Math.max(0, delayMs), LONGEST_DELAY_MS))
    handle.unref()
    return { cancel: () => clearTimeout(handle) }
  },
  soon: (fn: () => void) => void setImmediate(fn),
})

/** Keeps the process alive until it is cancelled, for a program that only waits for time to pass. */
export function stayAlive(): Timer {
  const handle = setInterval(() => {}, LONGEST_DELAY_MS)
  return { cancel: () => clearInterval(handle) }
}

/** A promise that settles after delayMs. */
export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise(resolve => clock.timer(delayMs, resolve))
}

/** In a shorter turn the event loop had no other work. */
const IDLE_TURN_MS = 0.05
/** Work that lets others go first continues after this time, however busy they are. */
const MOST_PATIENCE_MS = 5
/**
 * The time between two turns of long work while the event loop is busy: other work takes several turns of the loop, and
 * waits in between.
 */
const PAUSE_MS = 1

/**
 * For work that is not urgent: resolves when the event loop has had a turn without other work. Returns whether there
 * was a turn with other work.
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

/** The answer of takingTurns. */
export type Turns = () => Promise<void> | undefined

/**
 * For long work on the event loop. The work calls the returned function between its steps. Each time turnMs have passed
 * since other work went first, the function returns a promise to wait for; until then undefined. After it has seen the
 * loop busy, the turns of the long work are short compared with those of the others.
 */
export function takingTurns(clock: Clock, turnMs: number): Turns {
  let endsAtMs = clock.monotonic() + turnMs
  let areOthersBusy = false
  return () => {
    if (clock.monotonic() < endsAtMs) return
    return afterOthers(clock).then(async wereBusy => {
      areOthersBusy ||= wereBusy
      if (areOthersBusy) await sleep(clock, PAUSE_MS)
      endsAtMs = clock.monotonic() + turnMs
    })
  }
}

/**
 * The result of the work, or `late` if it takes longer than timeoutMs. Then the work continues and its result is lost.
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
