// Who may use the admin API: sessions by cookie, HTTP Basic for the actuator, and nobody at all where security is off. The HTTP
// side asks, and this decides; it knows no request and no header. Users, ended sessions and failures are in the store, and what
// one broker wrote there holds on every other from its next question on.

import { type Clock, within } from '../base/clock.ts'
import { coalesce } from '../base/coalesce.ts'
import { workInTurn } from '../base/in-turn.ts'
import { type Random, randomUuid } from '../base/random.ts'
import { fullKey, type Settings, SettingsError } from '../settings/settings.ts'
import { type Store, StoreUnavailable, UnreadableDocument } from '../store/store.ts'
import type { NameUnreadable } from '../store/unreadable.ts'
import type { Logger } from '../telemetry/logger.ts'
import { openDenylist } from './denylist.ts'
import type { Identity, Role, Visitor } from './identity.ts'
import { type Busy, createPasswordHashes, type HashParameters, type PasswordHashes } from './password-hash.ts'
import { createPasswords, type SignInRefusal } from './passwords.ts'
import { createSessionTokens, type SessionClaims } from './session-tokens.ts'
import { createSignInThrottle } from './sign-in-throttle.ts'
import {
  canonicalUsername,
  isPasswordTooLong,
  isPasswordTooShort,
  isShippedPassword,
  objectionToPassword,
  objectionToUsername,
} from './user-rules.ts'
import { isEmpty, openUserStore, type User, type UserStore, type Users } from './user-store.ts'

export type { SignInRefusal } from './passwords.ts'

/** A session that was just begun. */
export interface Session {
  readonly kind: 'session'
  /** What the cookie carries. */
  readonly token: string
  readonly identity: Identity
}

/** Why there is no first admin now. */
export type SetupRefusal =
  /** Setup is switched off. */
  | { readonly kind: 'switched-off' }
  /** There are users already. */
  | { readonly kind: 'closed' }
  | { readonly kind: 'invalid'; readonly field: 'username' | 'password'; readonly message: string }
  | Busy

export interface Accounts {
  /** False: nobody has to be anybody. */
  readonly isSecured: boolean
  /** Whose session the token is; null when it is none, expired or ended. Throws what the store throws: no answer is no session. */
  identify(token: string, visitor: Visitor): Promise<Identity | null>
  /** Who may use HTTP Basic with these. Throws what the store throws. */
  checkPassword(username: string, password: string, visitor: Visitor): Promise<Identity | SignInRefusal>
  /** Begins a session by name and password. Throws what the store throws. */
  signIn(username: string, password: string, visitor: Visitor): Promise<Session | SignInRefusal>
  /** Begins a session for somebody whom an identity provider vouches for and who has no row among the users. */
  issueSession(username: string, role: Role): Promise<Session>
  /** Ends a session on every broker. Throws what the store throws: it may live on then. */
  endSession(session: NonNullable<Identity['session']>): Promise<void>
  /** True the first time that it is asked for this name before `untilMs`, on whichever broker. Throws what the store throws. */
  spend(name: string, untilMs: number): Promise<boolean>
  /** Whether the first admin can be made without a session, as of now. Throws what the store throws. */
  isSetupOpen(): Promise<boolean>
  /** Makes the first admin, once for all brokers, and signs it in. Throws what the store throws. */
  setUp(username: string, password: string, visitor: Visitor): Promise<Session | SetupRefusal>
  readonly users: UserStore
  /** A user that may be handed to `users.change`. */
  makeUser(username: string, role: Role, password: string): Promise<User | Busy>
  /** What is new of a user with another password; it ends the user's sessions. */
  makePassword(password: string): Promise<Pick<User, PasswordField> | Busy>
  makeStamp(): string
}

type PasswordField = 'passwordHash' | 'hasShippedPassword' | 'passwordChangedAtMs'

/** Everybody, where `svc.admin.security-enabled` is false. */
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
  /** Whether other brokers use the store too. */
  readonly isShared: boolean
  readonly unreadable?: NameUnreadable | undefined
  /** Of new passwords; those of password-hash.ts unless a test signs in thousands of times. */
  readonly hashParameters?: HashParameters | undefined
}

/** How long a request waits for what the store says of its session: shorter than people do. */
const ANSWER_MS = 5_000

/** Loads the users and makes the bootstrap admin. Throws SettingsError, and what the store throws. */
export async function openAccounts({
  store,
  settings,
  clock,
  random,
  logger,
  isShared,
  unreadable,
  hashParameters,
}: AccountsRooms): Promise<Accounts> {
  const log = logger.named('auth')
  const sessionMs = settings.get('admin.jwt.expiry')
  const secret = settings.get('admin.jwt.secret')
  const users = await openUserStore({ store, clock, random, isShared, sessionMs, unreadable })
  const denylist = await openDenylist({ store, clock, isShared, unreadable })
  const tokens = createSessionTokens({ clock, random, secret, expiryMs: sessionMs })
  const hashes = createPasswordHashes(random, clock, hashParameters)
  const rules = {
    maxFailures: settings.get('admin.login-throttle.max-failures'),
    initialLockoutMs: settings.get('admin.login-throttle.initial-lockout'),
    maxLockoutMs: settings.get('admin.login-throttle.max-lockout'),
  }
  const throttle = createSignInThrottle({ store, clock, random, logger, rules, unreadable })
  const making = makingUsers(hashes, clock, random)
  /** The first one closes it, and nobody else's password is hashed. */
  const setUpInTurn = workInTurn()

  const makeAdmin = () => bootstrap({ settings, users, makeUser: making.makeUser, logger })

  /** A store that was emptied under this broker is as at its first start, and not open to whoever sets it up first. */
  const newest = coalesce(async () => {
    await users.catchUp()
    if (isEmpty(users.current())) await makeAdmin()
  })

  const passwords = createPasswords({ users, newest, hashes, throttle, clock, random, logger })
  try {
    await makeAdmin()
  } catch (error) {
    // It has been named, and nobody can sign in.
    if (!(error instanceof UnreadableDocument)) throw error
  }
  if (isShared && secret === null) {
    const key = fullKey('admin.jwt.secret')
    log.warn(`${key} is not set: a session of this broker is not known to the others; set the same one on each`)
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

    async identify(token, visitor) {
      const claims = await tokens.read(token)
      if (claims === null) return null
      const { jti, expiresAtMs } = claims
      const asked = Promise.all([denylist.isDenied(jti), users.catchUp()])
      const [isDenied] = await within(clock, ANSWER_MS, asked, () => {
        throw new StoreUnavailable(`the store has not said within ${ANSWER_MS} ms whether a session was ended`)
      })
      if (isDenied) return null
      const user = userOf(claims, users.current())
      return user === 'nobody' ? null : identityBy(claims, user, visitor, { jti, expiresAtMs })
    },

    async checkPassword(username, password, visitor) {
      const found = await passwords.check(username, password, visitor)
      return 'kind' in found ? found : identityOf(found, visitor, null)
    },

    async signIn(username, password, visitor) {
      const found = await passwords.check(username, password, visitor)
      if ('kind' in found) return found
      if (found.hasShippedPassword) {
        log.warn('somebody signed in with the shipped password, which anybody can read: change it', {
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

/** Sessions of single sign-on do not depend on where they are used. */
const NOWHERE: Visitor = Object.freeze({ address: '', isLocal: false })

/** Whose session it is still: a user as stored, null for one without a row, or `nobody`. */
function userOf(
  { username, stamp, issuedAtMs, isFederated }: SessionClaims,
  { byName, cutOffs }: Users,
): User | null | 'nobody' {
  if (isFederated) return null
  if (stamp !== null) {
    const user = byName.get(username)
    return user?.stamp === stamp ? user : 'nobody'
  }
  const cutOff = cutOffs.get(username)
  return cutOff !== undefined && (issuedAtMs === null || issuedAtMs <= cutOff) ? 'nobody' : null
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

/** The admin that the settings name is made where there is no user of the name. */
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
        `password may be; the admin '${username}' has it until it is changed in the console`,
    )
  }
  const { byName: before, unreadable } = users.current()
  const known = before.get(username)
  // It is somebody, whose password nobody knows here.
  if (unreadable.has(username)) return
  if (known === undefined) {
    const user = await makeUser(username, 'ADMIN', password)
    // Whoever came in between is told the same; the next one makes it.
    if ('kind' in user) return
    const decided = await users.change(({ byName, unreadable: unread }) =>
      unread.has(username) || (byName.has(username) && byName.get(username)?.stamp !== user.stamp)
        ? null
        : { kind: 'change', username, user },
    )
    if (decided !== null) log.info(`made the admin '${username}', as ${fullKey('admin.bootstrap')} says`)
  } else if (known.hasShippedPassword && !isShippedPassword(password)) {
    log.warn(
      `INSECURE: the admin '${username}' has the shipped password still: ${fullKey('admin.password')} is for a user that is made, ` +
        'and this one was there already; change it in the console',
    )
  }
}
