// Decides who may use the admin API: by a session cookie, by HTTP Basic for the actuator, and every caller if
// security is off. The HTTP side calls this file, which knows no request and no header. Users, ended sessions and
// failed sign-ins are in the store. A change that one broker writes there is valid on every other broker from its
// next check on.

import { type Clock, within } from '../../base/clock.ts'
import { coalesce } from '../../base/coalesce.ts'
import { workInTurn } from '../../base/in-turn.ts'
import { type Random, randomUuid } from '../../base/random.ts'
import { isLoopback } from '../../settings/endpoints.ts'
import { fullKey, type Settings, SettingsError } from '../../settings/settings.ts'
import { type Store, StoreUnavailable, UnreadableDocument } from '../../store/store.ts'
import type { NameUnreadable } from '../../store/unreadable.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import {
  canonicalUsername,
  isPasswordTooLong,
  isPasswordTooShort,
  isShippedPassword,
  objectionToPassword,
  objectionToUsername,
} from '../user-rules.ts'
import { openDenylist } from './denylist.ts'
import type { Identity, Role, Visitor } from './identity.ts'
import { type Busy, createPasswordHashes, type HashParameters, type PasswordHashes } from './password-hash.ts'
import { createPasswords, type Other, type OtherUsers, type SignInRefusal } from './passwords.ts'
import { createSessionTokens, type SessionClaims } from './session-tokens.ts'
import { createSignInThrottle } from './sign-in-throttle.ts'
import { createTokenCheck } from './token-check.ts'
import { isEmpty, openUserStore, type User, type UserStore, type Users } from './user-store.ts'

export type { SignInRefusal } from './passwords.ts'

/** A session that was just begun. */
export interface Session {
  readonly kind: 'session'
  /** The value of the cookie. */
  readonly token: string
  readonly identity: Identity
}

/** Why the first-run setup did not create an admin. */
export type SetupRefusal =
  /** Setup is switched off. */
  | { readonly kind: 'switched-off' }
  /** There are users already. */
  | { readonly kind: 'closed' }
  | { readonly kind: 'invalid'; readonly field: 'username' | 'password'; readonly message: string }
  | Busy

export interface Accounts {
  /** False if callers need not sign in. */
  readonly isSecured: boolean
  /**
   * Resolves with the user of the session that the token carries; null for a foreign, expired or ended token. Throws
   * what the store throws: without its answer no session is valid.
   */
  identify(token: string, visitor: Visitor): Promise<Identity | null>
  /** Resolves with the user who may use HTTP Basic with this name and password. Throws what the store throws. */
  checkPassword(username: string, password: string, visitor: Visitor): Promise<Identity | SignInRefusal>
  /**
   * The same for a face that users of a second store may call. A console user of the name comes first, and failures
   * count as failed sign-ins of the name.
   */
  checkEither<Found>(
    username: string,
    password: string,
    visitor: Visitor,
    others: OtherUsers<Found>,
  ): Promise<Identity | Other<Found> | SignInRefusal>
  /**
   * Resolves with null if the caller's token is the expected one. Wrong tokens are throttled as failed sign-ins of the
   * name are. Throws what the store throws.
   */
  checkToken(name: string, given: string, expected: string, visitor: Visitor): Promise<SignInRefusal | null>
  /** Begins a session by name and password. Throws what the store throws. */
  signIn(username: string, password: string, visitor: Visitor): Promise<Session | SignInRefusal>
  /** Begins a session for a user whom an identity provider has authenticated and who has no row among the users. */
  issueSession(username: string, role: Role): Promise<Session>
  /** Ends a session on every broker. Throws what the store throws; the session may stay valid then. */
  endSession(session: NonNullable<Identity['session']>): Promise<void>
  /**
   * Marks the name as used until `untilMs`. Resolves with true for the first call only, over all brokers. Throws what
   * the store throws.
   */
  spend(name: string, untilMs: number): Promise<boolean>
  /**
   * Resolves with whether the first admin can be created without a session at this moment. Throws what the store
   * throws.
   */
  isSetupOpen(): Promise<boolean>
  /** Makes the first admin, once for all brokers, and signs it in. Throws what the store throws. */
  setUp(username: string, password: string, visitor: Visitor): Promise<Session | SetupRefusal>
  readonly users: UserStore
  /** Makes a user in the form that `users.change` takes, and does not store it. */
  makeUser(username: string, role: Role, password: string): Promise<User | Busy>
  /** The fields of a user that change with the password; the change ends the user's sessions. */
  makePassword(password: string): Promise<Pick<User, PasswordField> | Busy>
  makeStamp(): string
}

type PasswordField = 'passwordHash' | 'hasShippedPassword' | 'passwordChangedAtMs'

/** The identity of every caller if `svc.admin.security-enabled` is false. */
export const ANYBODY: Identity = Object.freeze({
  username: 'anonymous',
  role: 'ADMIN',
  isFederated: false,
  mustChangePassword: false,
  hasShippedPassword: false,
  session: null,
})

export interface AccountsRooms {
  readonly store: Store
  readonly settings: Settings
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics: Pick<Metrics, 'count'>
  /** Whether other brokers use the store too. */
  readonly isShared: boolean
  readonly unreadable?: NameUnreadable | undefined
  /**
   * The cost of hashing new passwords; by default that of password-hash.ts. Tests that sign in thousands of times set
   * a lower cost.
   */
  readonly hashParameters?: HashParameters | undefined
}

/** The time in ms that a request waits for the store to answer about its session. It is shorter than people wait. */
const ANSWER_MS = 5_000

/** Loads the users and makes the bootstrap admin. Throws SettingsError, and what the store throws. */
export async function openAccounts({
  store,
  settings,
  clock,
  random,
  logger,
  metrics,
  isShared,
  unreadable,
  hashParameters,
}: AccountsRooms): Promise<Accounts> {
  const log = logger.named('auth')
  const sessionMs = settings.get('admin.jwt.expiry')
  const secret = settings.get('admin.jwt.secret')
  const users = await openUserStore({ store, clock, random, isShared, sessionMs, unreadable })
  const denylist = await openDenylist({ store, clock, random, isShared, unreadable })
  const tokens = createSessionTokens({ clock, random, secret, expiryMs: sessionMs })
  const hashes = createPasswordHashes(random, clock, hashParameters)
  const rules = {
    maxFailures: settings.get('admin.login-throttle.max-failures'),
    initialLockoutMs: settings.get('admin.login-throttle.initial-lockout'),
    maxLockoutMs: settings.get('admin.login-throttle.max-lockout'),
  }
  const throttle = createSignInThrottle({ store, clock, random, logger, rules, unreadable })
  const making = makingUsers(hashes, clock, random)
  /**
   * Runs setups one after the other. Once the first one has succeeded, the passwords of the later ones are not even
   * hashed.
   */
  const setUpInTurn = workInTurn()

  const makeAdmin = () => bootstrap({ settings, users, makeUser: making.makeUser, logger })

  /**
   * Reads the newest users. If the store was emptied while this broker runs, creates the bootstrap admin again, so
   * that no stranger can become the first admin.
   */
  const newest = coalesce(async () => {
    await users.catchUp()
    if (isEmpty(users.current())) await makeAdmin()
  })

  const passwords = createPasswords({ users, newest, hashes, throttle, clock, random, logger, metrics })
  const checkToken = createTokenCheck({ throttle, logger, metrics })
  let isReadable = true
  try {
    await makeAdmin()
  } catch (error) {
    // A log line has named the broken document, and no user can sign in.
    if (!(error instanceof UnreadableDocument)) throw error
    isReadable = false
  }
  if (settings.get('admin.security-enabled') && isReadable) warnOfOpenDoors(settings, users.current(), log)
  if (isShared && secret === null) {
    const key = fullKey('admin.jwt.secret')
    log.warn(
      `${key} is not set: other brokers do not accept the sessions of this broker; set the same secret on each broker`,
    )
  }

  function identityOf(user: User, visitor: Visitor, session: Identity['session']): Identity {
    const { username, role, hasShippedPassword } = user
    return {
      username,
      role,
      isFederated: false,
      hasShippedPassword,
      mustChangePassword: hasShippedPassword && !visitor.isLocal,
      session,
    }
  }

  async function beginSession(username: string, role: Role, user: User | null, visitor: Visitor): Promise<Session> {
    const { token, claims } = await tokens.issue(username, role, user?.stamp ?? null)
    const { jti, expiresAtMs } = claims
    return { kind: 'session', token, identity: identityBy(claims, user, visitor, { jti, expiresAtMs }) }
  }

  function identityBy(
    { username, role, isFederated }: SessionClaims,
    user: User | null,
    visitor: Visitor,
    session: Identity['session'],
  ): Identity {
    if (user !== null) return identityOf(user, visitor, session)
    return { username, role, isFederated, hasShippedPassword: false, mustChangePassword: false, session }
  }

  return {
    isSecured: settings.get('admin.security-enabled'),
    users,
    ...making,
    checkToken,

    async identify(token, visitor) {
      const claims = await tokens.read(token)
      if (claims === null) return null
      const { jti, expiresAtMs } = claims
      const asked = Promise.all([denylist.isDenied(jti), users.catchUp()])
      const [isDenied] = await within(clock, ANSWER_MS, asked, () => {
        throw new StoreUnavailable(`the store has not answered within ${ANSWER_MS} ms whether a session was ended`)
      })
      if (isDenied) return null
      const user = userOf(claims, users.current())
      return user === 'ended' ? null : identityBy(claims, user, visitor, { jti, expiresAtMs })
    },

    async checkPassword(username, password, visitor) {
      const found = await passwords.check(username, password, visitor)
      return 'kind' in found ? found : identityOf(found, visitor, null)
    },

    async checkEither(username, password, visitor, others) {
      const found = await passwords.checkEither(username, password, visitor, others)
      return 'kind' in found ? found : identityOf(found, visitor, null)
    },

    async signIn(username, password, visitor) {
      const found = await passwords.check(username, password, visitor)
      if ('kind' in found) return found
      if (found.hasShippedPassword) {
        log.warn('a user signed in with the default password, which is public: change it', {
          username: found.username,
          from: visitor.address,
        })
      }
      return await beginSession(found.username, found.role, found, visitor)
    },

    issueSession: (username, role) => beginSession(username, role, null, NOWHERE),

    async endSession({ jti, expiresAtMs }) {
      await denylist.deny(jti, expiresAtMs)
    },

    spend: (name, untilMs) => denylist.deny(name, untilMs),

    async isSetupOpen() {
      if (!settings.get('admin.first-run-setup-enabled')) return false
      await newest()
      return isEmpty(users.current())
    },

    setUp: (given, password, visitor) =>
      setUpInTurn(async (): Promise<Session | SetupRefusal> => {
        if (!settings.get('admin.first-run-setup-enabled')) return { kind: 'switched-off' }
        await newest()
        if (!isEmpty(users.current())) return { kind: 'closed' }
        const username = canonicalUsername(given)
        const name = objectionToUsername(username)
        if (name !== null) return { kind: 'invalid', field: 'username', message: name }
        const secret = objectionToPassword(password)
        if (secret !== null) return { kind: 'invalid', field: 'password', message: secret }
        const user = await making.makeUser(username, 'ADMIN', password)
        if ('kind' in user) return user
        const decided = await users.change(now =>
          !isEmpty(now) && now.byName.get(username)?.stamp !== user.stamp ? null : { kind: 'change', username, user },
        )
        return decided === null ? { kind: 'closed' } : await beginSession(username, 'ADMIN', user, visitor)
      }),
  }
}

/** Sessions of single sign-on are valid from any address. */
const NOWHERE: Visitor = Object.freeze({ address: '', isLocal: false })

/** Returns the stored user of the session, null for a user who is not stored, or `ended`. */
function userOf(
  { username, stamp, issuedAtMs, isFederated }: SessionClaims,
  { byName, cutOffs }: Users,
): User | null | 'ended' {
  if (isFederated) return null
  if (stamp !== null) {
    const user = byName.get(username)
    return user?.stamp === stamp ? user : 'ended'
  }
  const cutOff = cutOffs.get(username)
  return cutOff !== undefined && (issuedAtMs === null || issuedAtMs <= cutOff) ? 'ended' : null
}

function makingUsers(
  hashes: PasswordHashes,
  clock: Clock,
  random: Random,
): Pick<Accounts, 'makeUser' | 'makePassword' | 'makeStamp'> {
  const makeStamp = () => randomUuid(random)
  const makePassword: Accounts['makePassword'] = async password => {
    const made = await hashes.make(password)
    if (typeof made !== 'string') return made
    return { passwordHash: made, hasShippedPassword: isShippedPassword(password), passwordChangedAtMs: clock.now() }
  }
  return {
    makeStamp,
    makePassword,
    async makeUser(username, role, password) {
      const fields = await makePassword(password)
      return 'kind' in fields
        ? fields
        : { username, role, ...fields, stamp: makeStamp(), createdAtMs: fields.passwordChangedAtMs }
    },
  }
}

interface BootstrapRooms {
  readonly settings: Settings
  readonly users: UserStore
  readonly makeUser: Accounts['makeUser']
  readonly logger: Logger
}

/** Creates the admin that the settings name, if no user has that name. */
async function bootstrap({ settings, users, makeUser, logger }: BootstrapRooms): Promise<void> {
  if (!settings.get('admin.bootstrap')) return
  const log = logger.named('auth')
  const username = canonicalUsername(settings.get('admin.username'))
  const key = fullKey('admin.username')
  const objection = objectionToUsername(username)
  if (objection !== null) {
    throw new SettingsError(`${key}: got '${username}' (${settings.origin('admin.username')}), which ${objection}`)
  }
  const password = settings.get('admin.password')
  if (isPasswordTooLong(password)) {
    const origin = settings.origin('admin.password')
    throw new SettingsError(`${fullKey('admin.password')}: got a text of more than 1024 bytes (${origin}), takes fewer`)
  }
  if (isPasswordTooShort(password)) {
    log.warn(
      `INSECURE: ${fullKey('admin.password')} (${settings.origin('admin.password')}) ${objectionToPassword(password)}, as no other ` +
        `password may be; the admin '${username}' has it until it is changed with \`ketch users password ${username}\``,
    )
  }
  const { byName: before, unreadable } = users.current()
  const known = before.get(username)
  // The user exists, and this version cannot read its password.
  if (unreadable.has(username)) return
  if (known === undefined) {
    const user = await makeUser(username, 'ADMIN', password)
    // Too many passwords are being hashed. The next start or request creates the user.
    if ('kind' in user) return
    const decided = await users.change(({ byName, unreadable: unread }) =>
      unread.has(username) || (byName.has(username) && byName.get(username)?.stamp !== user.stamp)
        ? null
        : { kind: 'change', username, user },
    )
    if (decided !== null) log.info(`created the admin '${username}', as ${fullKey('admin.bootstrap')} says`)
  }
}

/**
 * Warns if a stranger could sign in: while the default password is in force, and while the first-run setup is open to
 * any client.
 */
function warnOfOpenDoors(settings: Settings, { byName, unreadable }: Users, log: Logger): void {
  const address = settings.get('server.address')
  const reach = address ?? 'every interface (server.address is not set)'
  for (const { username, hasShippedPassword } of byName.values()) {
    if (!hasShippedPassword) continue
    const change = `change it with \`ketch users password ${username}\` on this machine`
    log.warn(
      isLoopback(address)
        ? `'${username}' still has the password that Ketch ships with: ${change}, before the admin API is exposed`
        : `INSECURE: '${username}' still has the password that Ketch ships with, which anybody can read, and the admin API answers ` +
            `on ${reach}. A client on another machine can sign in with it, give '${username}' a password of its own, and keep ` +
            `you out: ${change}. ${fullKey('admin.password')} does not change the password of a user that exists`,
    )
  }
  if (isEmpty({ byName, unreadable }) && settings.get('admin.first-run-setup-enabled') && !isLoopback(address)) {
    log.warn(
      `INSECURE: there is no user yet, and the admin API answers on ${reach}: the first client that asks for the first-run setup ` +
        `becomes the admin. Make the first user now, or set ${fullKey('admin.first-run-setup-enabled')}=false`,
    )
  }
}
