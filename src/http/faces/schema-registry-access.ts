// Decides what a caller may do in the schema registry (svc.schema-registry.authentication).
//
//                       read, look up, check    register                        delete, levels, modes
//   no caller is asked  every caller            every caller                    every caller
//   the Kafka port      every caller            this machine, the own port,     ADMIN
//   asks no client                              ADMIN, a client that may
//   otherwise           VIEWER, ADMIN,          ADMIN, a client that may        ADMIN
//                       a client that may
//
// No caller is asked with `none`, or while admin security is off. `auto` is the second row while no Kafka listener asks
// for SASL or a client certificate, else the third; `basic` is the third. A client is one of the Kafka port, with its
// stored credential and the rules of its principal:
//
//   T-key, T-value      READ or WRITE on topic T        WRITE on topic T
//   another subject S   READ or WRITE on topic S        WRITE on topic S
//
// Without ACLs a client may read and register every subject. A super-user of the Kafka port may too; the rest needs an
// ADMIN, as for every other client. This file knows no schemas: the routes ask the rights for the subjects that they
// find.

import type { Policies } from '../../auth/clients/policies.ts'
import type { Client, Policy } from '../../auth/clients/policy.ts'
import { type Accounts, ANYBODY } from '../../auth/console/accounts.ts'
import type { Identity } from '../../auth/console/identity.ts'
import type { OtherUsers } from '../../auth/console/passwords.ts'
import { assert } from '../../base/assert.ts'
import { hasSaslListener } from '../../settings/endpoints.ts'
import { fullKey, type Settings } from '../../settings/settings.ts'
import { BASIC_CHALLENGE, basicOf, type Caller, checkSite, fromSignIn } from '../access.ts'
import { isProblem, type Problem, problem } from '../problems.ts'
import { isMutation, type RegistryRight, type Route } from '../route.ts'
import { visitorOf } from '../session-cookie.ts'

/** The rights of one caller. A null subject stands for any subject: a right on one of them is enough. */
export interface RegistryRights {
  /** Returns why the caller has not this right, or null. */
  refusalOf(right: RegistryRight, subject: string | null): Problem | null
  /** Returns whether the caller may read the subject, for lists and for ids that subjects hold. */
  mayRead(subject: string): boolean
  /** True if the caller may read every subject, also those that were deleted for good. */
  readonly mayReadAll: boolean
}

/** The caller of a route of the registry. The name of a Kafka client is written `User:name`. */
export interface RegistryCaller extends Identity {
  readonly rights: RegistryRights
}

export interface RegistryAccess {
  /** Resolves with the caller, or with why the route is refused. Throws what the store throws. */
  admit(
    route: Pick<Route, 'needs' | 'method'>,
    caller: Caller,
    subject: string | null,
  ): Promise<RegistryCaller | Problem>
}

export interface RegistryAccessRooms {
  readonly accounts: Accounts
  readonly policies: Policies
  readonly settings: Settings
  /** The clients of the Kafka port. */
  readonly clients: OtherUsers<Client>
  /** True for the port that only the registry has. */
  readonly isOwnPort: boolean
}

const KEY = 'schema-registry.authentication'

export function openRegistryAccess({
  accounts,
  policies,
  settings,
  clients,
  isOwnPort,
}: RegistryAccessRooms): RegistryAccess {
  const mode = settings.get(KEY)
  const asksNoCaller = mode === 'none' || !accounts.isSecured
  const isOpen = mode === 'auto' && !hasSaslListener(settings) && !settings.get('broker.client-auth-required')

  async function signIn(caller: Caller): Promise<RegistryCaller | Problem> {
    const given = basicOf(caller)
    if (given === null) return problem('UNAUTHENTICATED', NEEDS_PASSWORD, { headers: BASIC_CHALLENGE })
    const visitor = visitorOf(caller.address, caller.header, caller.ended)
    const found = await accounts.checkEither(given.username, given.password, visitor, clients)
    if (!('kind' in found)) {
      return found.mustChangePassword ? problem('PASSWORD_CHANGE_REQUIRED') : { ...found, rights: rightsOfUser(found) }
    }
    if (found.kind !== 'other') return fromSignIn(found, BASIC_CHALLENGE)
    const client = found.found
    return { ...identityOf(client), rights: rightsOfClient(client, await policies.resolve(client)) }
  }

  /** For a Kafka port that asks no client: a password is checked only if it may give more rights. */
  async function orOpen(needs: RegistryRight, caller: Caller): Promise<RegistryCaller | Problem> {
    const isFree = isOwnPort || visitorOf(caller.address, caller.header).isLocal
    const open = openRights(settings, isFree)
    const changes = needs === 'register' || needs === 'administer'
    if (!changes || caller.header('authorization') === undefined) return { ...STRANGER, rights: open }
    const found = await signIn(caller)
    return isProblem(found) ? found : { ...found, rights: either(open, found.rights) }
  }

  return {
    async admit({ needs, method }, caller, subject) {
      const right = rightOf(needs)
      const isUnasked = asksNoCaller || (isOpen && caller.header('authorization') === undefined)
      const foreign = checkPage(method, caller) ?? (isUnasked ? checkHost(method, caller) : null)
      if (foreign !== null) return foreign
      const found = asksNoCaller ? EVERYBODY : await (isOpen ? orOpen(right, caller) : signIn(caller))
      return isProblem(found) ? found : (found.rights.refusalOf(right, subject) ?? found)
    },
  }
}

export function isRegistryCaller(identity: Identity | null): identity is RegistryCaller {
  return identity !== null && 'rights' in identity
}

function rightOf(needs: Route['needs']): RegistryRight {
  const [, right] = /^registry-(read|lookup|register|administer)$/.exec(needs) ?? []
  assert(right !== undefined, `a route of the registry needs ${needs}`)
  return right as RegistryRight
}

const NEEDS_PASSWORD =
  'A username and a password are required, by HTTP Basic: those of a user of the console, or the SCRAM or PLAIN credential of a Kafka client.'

// ---- rights

const EVERYTHING: RegistryRights = Object.freeze({ refusalOf: () => null, mayRead: () => true, mayReadAll: true })

/** The caller while no caller is asked. */
const EVERYBODY: RegistryCaller = Object.freeze({ ...ANYBODY, rights: EVERYTHING })

/** A caller without a sign-in. The role is the least one; the rights decide. */
const STRANGER: Identity = Object.freeze({ ...ANYBODY, role: 'VIEWER' })

function openRights(settings: Settings, isFree: boolean): RegistryRights {
  const unsigned = (what: string) => problem('UNAUTHENTICATED', what, { headers: BASIC_CHALLENGE })
  return {
    mayRead: () => true,
    mayReadAll: true,
    refusalOf(right) {
      if (right === 'read' || right === 'lookup' || (right === 'register' && isFree)) return null
      if (right === 'administer')
        return unsigned('This needs an ADMIN: send the name and the password of one by HTTP Basic.')
      return unsigned(
        `Registering without a sign-in works on the machine of the broker and on a port of ${fullKey('schema-registry.port')}, ` +
          `because ${fullKey(KEY)} is ${settings.show(KEY)} (${settings.origin(KEY)}). ${NEEDS_PASSWORD} none asks no client.`,
      )
    },
  }
}

function rightsOfUser({ role }: Identity): RegistryRights {
  if (role === 'ADMIN') return EVERYTHING
  return {
    mayRead: () => true,
    mayReadAll: true,
    refusalOf: right =>
      right === 'read' || right === 'lookup'
        ? null
        : problem('FORBIDDEN', `The role of this user is ${role}; it must be ADMIN.`),
  }
}

/** `policy` is null without ACLs. */
function rightsOfClient({ name }: Client, policy: Policy | null): RegistryRights {
  /** Kafka's DESCRIBE is allowed by READ and by WRITE. */
  const allows = (operation: 'DESCRIBE' | 'WRITE', subject: string | null) =>
    policy === null || policy.allows(operation, 'TOPIC', subject === null ? null : topicOf(subject))
  const refuse = (what: string) => problem('FORBIDDEN', `User:${name} ${what}.`)
  return {
    mayRead: subject => allows('DESCRIBE', subject),
    // Only a rule for every topic has this name, which no topic may have. Super-users may do everything.
    mayReadAll: allows('DESCRIBE', '*'),
    refusalOf(right, subject) {
      if (right === 'administer') return refuse('is a Kafka client, and this needs an ADMIN of the console')
      // Lists show what the caller may read, and that may be nothing.
      if (right !== 'register' && subject === null) return null
      if (allows(right === 'register' ? 'WRITE' : 'DESCRIBE', subject)) return null
      const rule = right === 'register' ? 'WRITE' : 'READ or WRITE'
      return refuse(
        `needs ${rule} on ${subject === null ? 'a topic' : `the topic ${JSON.stringify(topicOf(subject))}`}`,
      )
    },
  }
}

/** Returns the topic whose rules decide about a subject. */
function topicOf(subject: string): string {
  return /^(.+)-(?:key|value)$/s.exec(subject)?.[1] ?? subject
}

/** A right of one of them is enough. The second says why a right is missing: it knows who the caller is. */
function either(one: RegistryRights, other: RegistryRights): RegistryRights {
  return {
    mayRead: subject => one.mayRead(subject) || other.mayRead(subject),
    mayReadAll: one.mayReadAll || other.mayReadAll,
    refusalOf: (right, subject) => (one.refusalOf(right, subject) === null ? null : other.refusalOf(right, subject)),
  }
}

function identityOf({ name }: Client): Identity {
  return { ...STRANGER, username: `User:${name}` }
}

// ---- pages of other sites

/**
 * Returns why a page of another site may not send this request, or null. mount.ts has refused its changes; here the
 * reads are refused that a script sends, and a person may follow a link.
 */
function checkPage(method: Route['method'], caller: Caller): Problem | null {
  if (isMutation({ method })) return null
  const isLink = caller.header('sec-fetch-mode') === 'navigate' && caller.header('origin') === undefined
  return isLink ? null : checkSite(caller)
}

/** A Host header that DNS cannot give to another site: an address, or this machine. */
const OWN_HOST = /^(?:localhost|[\w-]+\.localhost|\d+(?:\.\d+){3}|\[[\da-f:.]+\])(?::\d+)?$/i

/**
 * Returns why a page may not make a change while no password protects the registry, or null. A page may have come from
 * a name that was made to resolve to this machine (DNS rebinding): its Origin is the Host.
 */
function checkHost(method: Route['method'], caller: Caller): Problem | null {
  const isPage = caller.header('origin') !== undefined || caller.header('sec-fetch-site') !== undefined
  if (!isMutation({ method }) || !isPage || OWN_HOST.test(caller.host)) return null
  return problem(
    'CROSS_SITE',
    `A page may make a change without a password only at an address or localhost; the Host is ${JSON.stringify(caller.host)}.`,
  )
}
