// Checks a name and a password, for the login and for HTTP Basic alike. Attempts are throttled by name and address, the
// number of hashes is bounded, and the answer has the same words and takes the same time whether the user exists or
// not. It issues no session.
//
// Attempts for one name from one network run one after the other, so that a thousand at once count like a thousand in a
// row: the broker hashes as many as may fail and refuses the rest.

import { createHmac } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
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

  async function attempt(username: string, password: string, visitor: Visitor): Promise<User | SignInRefusal> {
    const { address, isSignedIn = false, ended } = visitor
    if (ended?.aborted) return BUSY
    const retryAfterMs = await throttle.lockedOutMs(username, address)
    if (retryAfterMs > 0) return { kind: 'locked-out', retryAfterMs }
    await newest()
    const user = users.current().byName.get(username)
    const isTooLong = isPasswordTooLong(password)
    const asked = isTooLong ? '' : digest(username, password)
    if (user !== undefined && isRemembered(asked, user)) {
      await throttle.succeeded(username, address)
      return user
    }
    const stranger = isSignedIn ? null : { network: networkOf(address), ended }
    const stored = isTooLong ? null : (user?.passwordHash ?? null)
    const verdict = await hashes.verify(isTooLong ? '' : password, stored, stranger)
    if (verdict.kind === 'busy') return BUSY
    if (!verdict.isRight || user === undefined) {
      await throttle.failed(username, address)
      log.limited('sign-in-failed', 1_000).warn('a sign-in failed', { username: username.slice(0, 64), from: address })
      return WRONG
    }
    await throttle.succeeded(username, address)
    const current = verdict.isOutdated ? await rehash(user, password) : user
    remember(asked, current)
    return current
  }

  return {
    async check(given, password, visitor) {
      const username = canonicalUsername(given)
      const key = `${networkOf(visitor.address)} ${username}`
      const found = (await turns.take(key, () => attempt(username, password, visitor))) ?? BUSY
      // A busy broker has not checked the password.
      if ('kind' in found && found.kind !== 'busy')
        metrics.count('svc.broker.failures', { operation: 'auth', error_type: found.kind })
      return found
    },
  }
}
