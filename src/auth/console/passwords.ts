// Checks a name and a password, for the login and for HTTP Basic alike. Attempts are throttled by name and address, the
// number of hashes is bounded, and the answer has the same words and takes the same time whether the user exists or
// not. It issues no session.
//
// A caller may be a user of a second store, such as a client of the Kafka port. A console user of the name comes first.
// A refusal costs one hash for each store, whichever of them knows the name.
//
// Attempts for one name from one network run one after the other, so that a thousand at once count like a thousand in a
// row: the broker hashes as many as may fail and refuses the rest.

import { createHmac } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { coalesceEach } from '../../base/coalesce.ts'
import type { Random } from '../../base/random.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { canonicalUsername, isPasswordTooLong } from '../user-rules.ts'
import type { Visitor } from './identity.ts'
import type { PasswordHashes } from './password-hash.ts'
import { networkOf, type SignInThrottle } from './sign-in-throttle.ts'
import { createTurns } from './turns.ts'
import type { User, UserStore } from './user-store.ts'

/** Why a caller with a name and a password is refused. */
export type SignInRefusal =
  | { readonly kind: 'wrong-credentials' }
  | { readonly kind: 'locked-out'; readonly retryAfterMs: number }
  | { readonly kind: 'busy' }

export interface Passwords {
  /** Resolves with the user who has this name and password, or with the refusal. Throws what the store throws. */
  check(username: string, password: string, visitor: Visitor): Promise<User | SignInRefusal>
  /**
   * The same, and looks among the other users too. Callers of one network with the same name and password share an
   * attempt, so that a thousand of them cost one hash.
   */
  checkEither<Found>(
    username: string,
    password: string,
    visitor: Visitor,
    others: OtherUsers<Found>,
  ): Promise<User | Other<Found> | SignInRefusal>
}

/** A second store of names and passwords. */
export interface OtherUsers<Found> {
  /**
   * Returns the name by which the store knows this one. Names that it takes for one must be one for the lockout too, or
   * a guesser would only have to spell the name anew.
   */
  nameOf(username: string): string
  /** Loads the credential that the name has now. Throws what the store throws. */
  find(username: string): Promise<OtherUser<Found>>
}

/**
 * A user of the second store, or a name that it does not know. `beside` is the stored hash of the console user with
 * the same name, or '': another one ends the memory of a right password.
 */
export interface OtherUser<Found> {
  readonly isKnown: boolean
  readonly found: Found
  /** Returns whether the password was right a moment ago. */
  isRemembered(password: string, beside: string): boolean
  /**
   * Resolves with whether the password is right; null if too many passwords wait to be checked. It takes as long if the
   * name is unknown.
   */
  isRight(password: string, beside: string, address: string): Promise<boolean | null>
}

/** A caller who is a user of the second store. */
export interface Other<Found> {
  readonly kind: 'other'
  readonly found: Found
}

export interface PasswordsRooms {
  readonly users: UserStore
  /** Brings the users up to date. */
  newest(): Promise<void>
  readonly hashes: PasswordHashes
  readonly throttle: SignInThrottle
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics: Pick<Metrics, 'count'>
}

const WRONG: SignInRefusal = Object.freeze({ kind: 'wrong-credentials' })
const BUSY: SignInRefusal = Object.freeze({ kind: 'busy' })

/**
 * The time in ms for which a right password is not hashed again. A client of HTTP Basic, such as a scraper, sends its
 * password with each request.
 */
const REMEMBERED_MS = 5 * 60_000
const REMEMBERED = 64

export function createPasswords(rooms: PasswordsRooms): Passwords {
  const { users, newest, hashes, throttle, clock, random, logger, metrics } = rooms
  const log = logger.named('auth')
  const turns = createTurns()
  const shared = coalesceEach<string, User | Other<unknown> | SignInRefusal>()
  /** The stored hash that a name and password matched, by a keyed digest of both. */
  const remembered = new Map<string, { readonly passwordHash: string; readonly untilMs: number }>()
  const key = random.bytes(32)
  const digest = (username: string, password: string) =>
    createHmac('sha256', key)
      .update(JSON.stringify([username, password]))
      .digest('base64')

  function isRemembered(asked: string, user: User | undefined): boolean {
    const found = remembered.get(asked)
    return found !== undefined && found.untilMs > clock.monotonic() && found.passwordHash === user?.passwordHash
  }

  function remember(asked: string, { passwordHash }: User): void {
    remembered.delete(asked)
    remembered.set(asked, { passwordHash, untilMs: clock.monotonic() + REMEMBERED_MS })
    const [oldest] = remembered.keys()
    if (remembered.size > REMEMBERED) remembered.delete(oldest!)
  }

  /** Replaces a hash that has older parameters. The sessions stay valid, because the password is the same. */
  async function rehash(user: User, password: string): Promise<User> {
    const made = await hashes.make(password)
    if (typeof made !== 'string') return user
    const decided = await users.change(({ byName }) => {
      const current = byName.get(user.username)
      if (current?.passwordHash !== user.passwordHash) return null
      return { kind: 'change', username: user.username, user: { ...current, passwordHash: made }, isSilent: true }
    })
    return decided?.user ?? user
  }

  async function attempt<Found>(
    username: string,
    password: string,
    visitor: Visitor,
    others: OtherUsers<Found> | null,
  ): Promise<User | Other<Found> | SignInRefusal> {
    const { address, isSignedIn = false, ended } = visitor
    if (ended?.aborted) return BUSY
    const [retryAfterMs, other] = await Promise.all([
      throttle.lockedOutMs(username, address),
      others?.find(username),
      newest(),
    ])
    if (retryAfterMs > 0) return { kind: 'locked-out', retryAfterMs }
    const user = users.current().byName.get(username)
    const beside = user?.passwordHash ?? ''
    const isTooLong = isPasswordTooLong(password)
    const asked = isTooLong ? '' : digest(username, password)
    if (user !== undefined && isRemembered(asked, user)) {
      await throttle.succeeded(username, address)
      return user
    }
    // The counter of failures stays: that of a console user is cleared only by that user's own password.
    if (other?.isRemembered(password, beside)) return { kind: 'other', found: other.found }
    const checkOther = async () => (isTooLong ? false : await other!.isRight(password, beside, address))
    const refuse = async (refusal: SignInRefusal) => {
      await throttle.failed(username, address)
      log.limited('sign-in-failed', 1_000).warn('a sign-in failed', { username: username.slice(0, 64), from: address })
      return refusal
    }

    // The result is the same in the other order, which costs a hash more for each client that starts.
    const isFirst = user === undefined && other?.isKnown === true
    if (isFirst) {
      const isRight = await checkOther()
      if (isRight === null) return BUSY
      if (isRight) {
        await throttle.succeeded(username, address)
        return { kind: 'other', found: other.found }
      }
    }
    const stranger = isSignedIn ? null : { network: networkOf(address), ended }
    const stored = isTooLong ? null : (user?.passwordHash ?? null)
    const verdict = await hashes.verify(isTooLong ? '' : password, stored, stranger)
    // A password that one store has refused counts, or a guesser who keeps the other one busy would have no lockout.
    if (verdict.kind === 'busy') return isFirst ? await refuse(BUSY) : BUSY
    if (verdict.isRight && user !== undefined) {
      await throttle.succeeded(username, address)
      const current = verdict.isOutdated ? await rehash(user, password) : user
      remember(asked, current)
      return current
    }
    if (other !== undefined && !isFirst) {
      const isRight = await checkOther()
      if (isRight === null) return await refuse(BUSY)
      if (isRight) return { kind: 'other', found: other.found }
    }
    return await refuse(WRONG)
  }

  async function inTurn<Found>(
    username: string,
    password: string,
    visitor: Visitor,
    others: OtherUsers<Found> | null,
  ): Promise<User | Other<Found> | SignInRefusal> {
    const key = `${networkOf(visitor.address)} ${username}`
    return (await turns.take(key, () => attempt(username, password, visitor, others))) ?? BUSY
  }

  function counted<Found extends object>(found: Found | SignInRefusal): Found | SignInRefusal {
    // A busy broker has not checked the password.
    if ('kind' in found && (found.kind === 'wrong-credentials' || found.kind === 'locked-out'))
      metrics.count('svc.broker.failures', { operation: 'auth', error_type: found.kind })
    return found
  }

  return {
    async check(given, password, visitor) {
      const found = await inTurn(canonicalUsername(given), password, visitor, null)
      return counted(found as User | SignInRefusal)
    },

    async checkEither<Found>(given: string, password: string, visitor: Visitor, others: OtherUsers<Found>) {
      const username = others.nameOf(canonicalUsername(given))
      const key = `${networkOf(visitor.address)} ${digest(username, password)}`
      // A client that leaves must not end the attempt for the others.
      const { ended: _, ...staying } = visitor
      const found = await shared(key, () => inTurn(username, password, staying, others))
      // A broker has one second store, so all callers who share an attempt look for the same.
      return counted(found as User | Other<Found> | SignInRefusal)
    },
  }
}
