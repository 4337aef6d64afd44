// Creates one version of a table's metadata, and finds out what became of it. This is the step at which tables die: a
// writer that takes an unknown outcome, or its own earlier request, for a lost race removes files that its committed
// snapshot names. The rules:
//
//   created                      ours
//   exists                       look: the same bytes are ours (an earlier request); other bytes are another writer's
//   conflict (409)               the store decided nothing: the same request again
//   unknown, or store away       look; if there is nothing, the same request again: the first one may still arrive
//
// A version that has other bytes is the only proof of a loss, because no request of ours can create it any more.

import { type Clock, pause, sleep } from '../../base/clock.ts'
import type { Patience } from '../../base/patience.ts'
import type { Random } from '../../base/random.ts'
import { ObjectStoreError, type Objects } from '../objects/objects.ts'

/** Thrown if the change may have been made or may yet be made. Its files must stay; the orphan sweep finds those. */
export class CommitUnknown extends Error {
  override readonly name = 'CommitUnknown'
}

/** Time, chance, and how long a change may be tried. */
export interface CommitDeps {
  readonly clock: Clock
  readonly random: Random
  readonly patience: Patience
}

export type PutOutcome =
  | { readonly kind: 'ours' }
  /** Another writer created the version, with these bytes. */
  | { readonly kind: 'lost'; readonly found: Uint8Array }

/**
 * The orphan sweep takes files that are a day old, and old versions are kept for a week. Files that were staged before
 * this time must not be committed any more.
 */
export const STAGED_FOR_MS = 12 * 3_600_000

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 2_000

/**
 * Resolves when the outcome is certain. `confirm` is called before each request; it throws or rejects to stop, such as
 * when the lease is lost. Rejects with CommitUnknown if the outcome is not known when the
 * patience ends or a request is refused, and with the error itself if it is certain that nothing was created.
 */
export async function putOnce(
  objects: Objects,
  key: string,
  bytes: Uint8Array,
  confirm: () => void | Promise<void>,
  deps: CommitDeps,
): Promise<PutOutcome> {
  const { clock } = deps
  const beganAtMs = { wall: clock.now(), monotonic: clock.monotonic() }
  let isUnknown = false
  let pauses = 0
  for (;;) {
    try {
      await confirm()
    } catch (error) {
      throw isUnknown ? unknown(error) : error
    }
    // Both clocks: the monotonic one stands still while a machine sleeps, and the other one may jump.
    const ageMs = Math.max(clock.now() - beganAtMs.wall, clock.monotonic() - beganAtMs.monotonic)
    if (ageMs > STAGED_FOR_MS) throw unknown(new Error(`it was staged ${Math.round(ageMs / 3_600_000)} hours ago`))
    const answer = await create()
    if (answer === 'created') return { kind: 'ours' }
    if (answer !== 'conflict') {
      const found = await look()
      if (found !== null)
        return Buffer.from(found).equals(Buffer.from(bytes)) ? { kind: 'ours' } : { kind: 'lost', found }
    }
    await waitAfter(new Error(`${key} was ${answer}, and cannot be found`))
  }

  async function create(): Promise<'created' | 'exists' | 'unknown' | 'conflict'> {
    try {
      return await objects.create(key, bytes)
    } catch (error) {
      if (!(error instanceof ObjectStoreError)) throw unknown(error)
      if (error.kind === 'conflict') return 'conflict'
      // A refusal is certain for this request, and says nothing about an earlier one.
      if (error.kind === 'refused' || error.kind === 'full') throw isUnknown ? unknown(error) : error
      isUnknown = true
      return 'unknown'
    }
  }

  async function look(): Promise<Uint8Array | null> {
    for (;;) {
      try {
        return await objects.read(key)
      } catch (error) {
        if (!(error instanceof ObjectStoreError) || error.kind !== 'away') throw unknown(error)
        await waitAfter(error)
      }
    }
  }

  async function waitAfter(cause: unknown): Promise<void> {
    if (deps.patience.isOver) throw unknown(cause)
    await pauseBefore(pauses++, deps)
  }

  function unknown(cause: unknown): CommitUnknown {
    return new CommitUnknown(`it is not known whether ${objects.uri}/${key} was created`, { cause })
  }
}

/** Waits before another attempt: longer each time, with a random part, and no longer than the patience. */
export function pauseBefore(attempt: number, { clock, random, patience }: CommitDeps): Promise<void> {
  const longestMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempt, 10))
  const pauseMs = Math.min(longestMs / 2 + random.below(longestMs / 2), patience.untilMs - clock.monotonic())
  const delayMs = Math.max(0, pauseMs)
  return patience.ended === null ? sleep(clock, delayMs) : pause(clock, delayMs, patience.ended)
}
