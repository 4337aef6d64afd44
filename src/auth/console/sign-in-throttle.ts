// Limits how often a caller may try a password, by user name and address (specification, "Console login lockout").
// The states and their transitions are pure functions. The counters are in the store, so that all brokers count
// together. If the store does not take a failure (a full disk, too few replicas), each broker counts alone, in
// memory. Otherwise a caller could try wrong passwords without end, because a right password needs no write.
//
//            failure, fewer than max-failures           success, or max-lockout without a failure, from anywhere
//          ┌──────────┐                              ┌──────────────────────────────────────────────> open, 0 failures
//        open ────────┴── failure no. max-failures ──> locked out for initial-lockout ── over ──> open, still counted
//                                                         ^   an attempt changes nothing            │
//                                                         └── failure: twice as long, at most ──────┘
//                                                             max-lockout
//
// The counters are in a fixed number of documents, each with a fixed number of places. So any number of names and
// addresses takes the same room: a new counter replaces the weakest one, and a counter that locks a caller out is
// replaced last. A key in the store decides which names share a document, so that no attacker can choose names that
// push out a certain counter. Each attempt costs a hash before it counts. So filling all places with stronger
// counters takes longer than waiting for the end of a lockout.
//
// The clocks of brokers may differ. A counter keeps the latest time that any broker gave it, and a failure in the
// future counts as one of this moment. So a broker whose clock is behind locks out for longer, by as much as it is
// behind. A broker whose clock is ahead may ignore failures that others counted, but only until it has counted a
// failure itself.

import { createHmac } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { cut } from '../../base/cut.ts'
import type { Random } from '../../base/random.ts'
import { changeDocument } from '../../store/document-keeper.ts'
import type { DocumentKind } from '../../store/document-kinds.ts'
import { type Document, isStoreFailure, type Store, UnreadableDocument } from '../../store/store.ts'
import { type NameUnreadable, UNNAMED } from '../../store/unreadable.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { findSharedKey, makeSharedKey } from '../shared-key.ts'
import { MOST_CLOCK_SKEW_MS } from './clock-skew.ts'

export interface ThrottleRules {
  readonly maxFailures: number
  readonly initialLockoutMs: number
  readonly maxLockoutMs: number
}

/** Failures in a row. Times are milliseconds since 1970, because brokers share them. */
export interface Failures {
  readonly count: number
  readonly lastAtMs: number
}

export interface SignInThrottle {
  /**
   * Resolves with the time in ms for which this name is locked out from this address; 0 if it is not. Throws what the
   * store throws.
   */
  lockedOutMs(username: string, address: string): Promise<number>
  /** Counts a failure. If the store does not take it, counts it in memory. */
  failed(username: string, address: string): Promise<void>
  /** Clears the counter. If the store does not take that, the stored counter stays until it expires. */
  succeeded(username: string, address: string): Promise<void>
}

/** Returns the counter while it is valid; null if it has expired. */
export function standing(failures: Failures | null, nowMs: number, { maxLockoutMs }: ThrottleRules): Failures | null {
  if (failures === null) return null
  const agoMs = nowMs - failures.lastAtMs
  // A time that lies further ahead comes from a wrong clock, and would lock the user out until then.
  return agoMs >= maxLockoutMs || agoMs < -MOST_CLOCK_SKEW_MS ? null : failures
}

export function afterFailure(failures: Failures | null, nowMs: number, rules: ThrottleRules): Failures {
  const { count, lastAtMs } = standing(failures, nowMs, rules) ?? { count: 0, lastAtMs: nowMs }
  return { count: count + 1, lastAtMs: Math.max(lastAtMs, nowMs) }
}

/** Returns for how many ms attempts are refused from now on; 0 if they are allowed. */
export function lockedOutMs(failures: Failures | null, nowMs: number, rules: ThrottleRules): number {
  const current = standing(failures, nowMs, rules)
  if (current === null || current.count < rules.maxFailures) return 0
  const lockoutMs = Math.min(rules.initialLockoutMs * 2 ** (current.count - rules.maxFailures), rules.maxLockoutMs)
  return Math.max(0, lockoutMs - Math.max(0, nowMs - current.lastAtMs))
}

/** One document for each first byte of a counter's name. */
const KIND: DocumentKind = 'sign-in-failures'
/** The number of counters in each document. */
const PLACES = 64
/** The number of counters in memory. */
const PLACES_HERE = 1_024
const LOG_EVERY_MS = 5_000

export interface SignInThrottleRooms {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly rules: ThrottleRules
  readonly unreadable?: NameUnreadable | undefined
}

export function createSignInThrottle({
  store,
  clock,
  random,
  logger,
  rules,
  unreadable = UNNAMED,
}: SignInThrottleRooms): SignInThrottle {
  const log = logger.named('auth')
  /** Failures that the store did not take. */
  const countedHere = new Map<string, Failures>()
  const secretHere = random.bytes(32)
  const keyHere = (username: string, address: string) => placeOf(secretHere, username, address).key

  function countersOf(bucket: string, document: Document | null): Map<string, Failures> {
    const counters = new Map<string, Failures>()
    for (const [key, value] of document?.fields ?? []) {
      const failures = decode(value)
      if (failures !== null) counters.set(key, failures)
      else {
        const what = `a counter of failed sign-ins (${cut(key)} in ${bucket})`
        unreadable({
          kind: KIND,
          what,
          why: 'it is not a count and a time',
          result: 'no failure counts until the next one',
        })
      }
    }
    return counters
  }

  /** Replaces the counter by the result of `next`; null removes it. */
  async function change(
    { bucket, key }: Place,
    next: (failures: Failures | null, nowMs: number) => Failures | null,
  ): Promise<void> {
    const place = { kind: KIND, name: bucket, what: 'a list of failed sign-ins' }
    await changeDocument({ store, clock, random }, place, document => {
      const counters = countersOf(bucket, document)
      const nowMs = clock.now()
      const before = counters.get(key) ?? null
      const after = next(before, nowMs)
      if (before === null && after === null) return { answer: null }
      counters.delete(key)
      const surplus = surplusOf(counters, PLACES, nowMs).map(other => ({ key: other, value: null }))
      const changes = [{ key, value: after === null ? null : encode(after) }, ...surplus]
      return { answer: null, write: { changes, mayOverfill: true } }
    })
  }

  /**
   * Returns the counters to remove before one more is added: the expired ones and, if that is not enough, the
   * weakest.
   */
  function surplusOf(others: ReadonlyMap<string, Failures>, places: number, nowMs: number): readonly string[] {
    const isOver = (failures: Failures) => standing(failures, nowMs, rules) === null
    const over = [...others].filter(([, failures]) => isOver(failures))
    const held = [...others].filter(([, failures]) => !isOver(failures))
    const weakestFirst = held.toSorted(([, one], [, other]) => one.count - other.count || one.lastAtMs - other.lastAtMs)
    const surplus = weakestFirst.slice(0, Math.max(0, held.length - (places - 1)))
    return [...over, ...surplus].map(([key]) => key)
  }

  function countHere(key: string): void {
    const nowMs = clock.now()
    const after = afterFailure(countedHere.get(key) ?? null, nowMs, rules)
    countedHere.delete(key)
    for (const other of surplusOf(countedHere, PLACES_HERE, nowMs)) countedHere.delete(other)
    countedHere.set(key, after)
  }

  /**
   * Reports that the stored key cannot be read. Without it the shared counters cannot be read, so this broker counts
   * in memory, and every user can sign in.
   */
  function unkeyed(error: unknown): null {
    if (!(error instanceof UnreadableDocument)) throw error
    const result = 'failed sign-ins are counted by each broker alone until its document is deleted'
    unreadable({ kind: 'signing-key', what: 'the stored key of failed sign-ins', why: error, result })
    return null
  }

  async function lockedOutByStoreMs(username: string, address: string): Promise<number> {
    const secret = await findSharedKey(store, KIND).catch(unkeyed)
    // If no broker has created the key yet, no failure was counted.
    if (secret === null) return 0
    const { bucket, key } = placeOf(secret, username, address)
    const counters = countersOf(bucket, await store.load(KIND, bucket))
    return lockedOutMs(counters.get(key) ?? null, clock.now(), rules)
  }

  return {
    async lockedOutMs(username, address) {
      const byStoreMs = await lockedOutByStoreMs(username, address)
      const here = countedHere.get(keyHere(username, address)) ?? null
      return Math.max(byStoreMs, lockedOutMs(here, clock.now(), rules))
    },

    async failed(username, address) {
      try {
        const secret = await makeSharedKey({ store, clock, random }, KIND)
        await change(placeOf(secret, username, address), (before, nowMs) => afterFailure(before, nowMs, rules))
      } catch (error) {
        if (!isStoreFailure(error)) throw error
        countHere(keyHere(username, address))
        const message = 'the store did not take a failed sign-in: this broker counts it alone'
        log.limited('sign-in-counted-here', LOG_EVERY_MS).warn(message, { error })
      }
    },

    async succeeded(username, address) {
      countedHere.delete(keyHere(username, address))
      try {
        const secret = await findSharedKey(store, KIND)
        if (secret !== null) await change(placeOf(secret, username, address), () => null)
      } catch (error) {
        // This error must not refuse the sign-in: a refusal of only the right password would reveal it.
        if (!isStoreFailure(error)) throw error
        const message = 'the store did not take a sign-in: the failures before it count until time clears them'
        log.limited('sign-in-not-cleared', LOG_EVERY_MS).warn(message, { error })
      }
    },
  }
}

interface Place {
  readonly bucket: string
  readonly key: string
}

/**
 * Returns the document and the name of a counter. The name is a digest: the store contains no user name and no
 * address.
 */
function placeOf(secret: Uint8Array, username: string, address: string): Place {
  const digest = createHmac('sha256', secret)
    .update(JSON.stringify([username, networkOf(address)]))
    .digest()
  return { bucket: digest.toString('hex', 0, 1), key: digest.toString('base64url', 1, 17) }
}

/** Returns the network of an address. One IPv6 host has 2^64 addresses from which it can try passwords. */
export function networkOf(written: string): string {
  const address = written.replace(/^::ffff:(?=\d+\.)/i, '')
  if (!address.includes(':')) return address
  const [head = '', tail = ''] = address.toLowerCase().split('::', 2)
  const before = head === '' ? [] : head.split(':')
  const after = tail === '' ? [] : tail.split(':')
  const zeros = address.includes('::') ? Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0') : []
  return [...before, ...zeros, ...after].slice(0, 4).join(':')
}

// A stored counter is `<failures> <time of the last one>`.

function encode({ count, lastAtMs }: Failures): Buffer {
  return Buffer.from(`${count} ${lastAtMs}`)
}

/** Returns null for a text that `encode` does not write. */
function decode(value: Uint8Array): Failures | null {
  const [, count, lastAtMs] = /^(\d{1,9}) (\d{1,16})$/.exec(Buffer.from(value).toString()) ?? []
  return count === undefined ? null : { count: Number(count), lastAtMs: Number(lastAtMs) }
}
