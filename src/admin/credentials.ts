// SASL credentials of Kafka clients: who has one, and setting and removing them. What is stored of a password says
// auth/credential-record.ts; secrets are never handed out. Connections that were authenticated before live on.

import {
  type Credential,
  credentialOf,
  KIND,
  MAX_ITERATIONS,
  type Mechanism,
  MIN_ITERATIONS,
  makeCredential,
  rowsOf,
} from '../auth/credential-record.ts'
import { canonicalUsername, objectionToPassword, objectionToUsername } from '../auth/user-rules.ts'
import { cut } from '../base/cut.ts'
import { type ContentionRooms, contend, LOST } from '../store/contention.ts'
import { type Document, type Store, UnreadableDocument } from '../store/store.ts'
import type { NameUnreadable } from '../store/unreadable.ts'

const MAX_TENANT_CHARACTERS = 256

interface CredentialRooms extends ContentionRooms {
  readonly store: Store
  readonly unreadable?: NameUnreadable | undefined
}

/** What may be known of a credential. */
export interface CredentialView {
  readonly username: string
  readonly mechanism: Mechanism
  readonly iterations: number
  readonly tenantId: string | null
}

export interface NewCredential extends CredentialView {
  readonly password: string
}

/** What is left out stays. Another mechanism or other iterations need the password. */
export interface CredentialChange {
  readonly username: string
  readonly password?: string | undefined
  readonly mechanism?: Mechanism | undefined
  readonly iterations?: number | undefined
  /** Null: none. */
  readonly tenantId?: string | null | undefined
}

export type CredentialRefusal =
  | { readonly kind: 'invalid'; readonly field: string; readonly message: string }
  | { readonly kind: 'unknown-user' }

export interface ListedCredentials {
  /** By username. */
  readonly credentials: readonly CredentialView[]
  /** Users whose credential somebody else wrote in a form that is not read here. */
  readonly unreadable: readonly string[]
}

/** Throws what the store throws. */
export async function listCredentials({
  store,
  unreadable: tell,
}: Omit<CredentialRooms, 'random'>): Promise<ListedCredentials> {
  const documents = [...(await store.list(KIND))].sort((one, other) => (one.name < other.name ? -1 : 1))
  const credentials: CredentialView[] = []
  const unreadable: string[] = []
  for (const { name, fields } of documents) {
    try {
      credentials.push(viewOf(name, credentialOf(name, fields)))
    } catch (error) {
      if (!(error instanceof UnreadableDocument)) throw error
      unreadable.push(name)
      const what = `the credential of ${JSON.stringify(cut(name))}`
      tell?.({ kind: KIND, what, why: error, result: 'no client can sign in with it' })
    }
  }
  return { credentials, unreadable }
}

/** Null for a user who has none. Throws what the store throws, or UnreadableDocument. */
export async function describeCredential(
  { store }: Pick<CredentialRooms, 'store'>,
  username: string,
): Promise<CredentialView | null> {
  const document = await store.load(KIND, canonicalUsername(username))
  return document === null ? null : viewOf(document.name, credentialOf(document.name, document.fields))
}

/** Sets the credential of a user, in place of the one that is there. Throws what the store throws. */
export async function storeCredential(
  rooms: CredentialRooms,
  asked: NewCredential,
): Promise<
  { readonly kind: 'stored'; readonly isNew: boolean; readonly credential: CredentialView } | CredentialRefusal
> {
  const refusal = check(asked)
  if (refusal !== null) return refusal
  const username = canonicalUsername(asked.username)
  const credential = await makeCredential(asked, asked.password, rooms.random)
  const stored = await replace(rooms, username, () => credential)
  if ('kind' in stored) return stored
  return { kind: 'stored', isNew: stored.before === null, credential: viewOf(username, credential) }
}

/** Throws what the store throws. */
export async function changeCredential(
  rooms: CredentialRooms,
  asked: CredentialChange,
): Promise<{ readonly kind: 'changed'; readonly credential: CredentialView } | CredentialRefusal> {
  const refusal = check(asked)
  if (refusal !== null) return refusal
  const username = canonicalUsername(asked.username)
  let made: Credential | null = null
  // A password is derived for so long that others change what is there meanwhile: what was not asked for is taken as it is then.
  const stored = await replace(rooms, username, async before => {
    if (before === null) return { kind: 'unknown-user' }
    const known = credentialOf(username, before.fields)
    const { mechanism = known.mechanism, iterations = known.iterations, tenantId = known.tenantId, password } = asked
    const fits = (credential: Credential) => credential.mechanism === mechanism && credential.iterations === iterations
    if (password !== undefined) {
      if (made === null || !fits(made))
        made = await makeCredential({ mechanism, iterations, tenantId }, password, rooms.random)
      return { ...made, tenantId }
    }
    if (fits(known)) return { ...known, tenantId }
    return { kind: 'invalid', field: 'password', message: 'is required for another mechanism or other iterations' }
  })
  return 'kind' in stored ? stored : { kind: 'changed', credential: viewOf(username, stored.after) }
}

/** Whether there was one. Throws what the store throws. */
export async function deleteCredential({ store, ...rooms }: CredentialRooms, username: string): Promise<boolean> {
  const name = canonicalUsername(username)
  return await contend(rooms, CONTENDED, async () => {
    const document = await store.load(KIND, name)
    if (document === null) return false
    const outcome = await store.commit({ kind: KIND, name, expect: document.version, changes: [], remove: true })
    return outcome.kind === 'committed' ? true : LOST
  })
}

const CONTENDED = 'the credential'

/**
 * Stores what `decide` makes of the one that is there (null: none), and asks it again when another writer was faster. Resolves with
 * the one before and the one after, or with the refusal that it answered.
 */
async function replace(
  { store, ...rooms }: CredentialRooms,
  username: string,
  decide: (before: Document | null) => Credential | Promise<Credential | CredentialRefusal>,
): Promise<{ readonly before: Document | null; readonly after: Credential } | CredentialRefusal> {
  return await contend(rooms, CONTENDED, async () => {
    const before = await store.load(KIND, username)
    const after = await decide(before)
    if ('kind' in after) return after
    // A document that is made has nothing to delete.
    const changes = rowsOf(after).filter(({ value }) => value !== null || before !== null)
    const outcome = await store.commit({ kind: KIND, name: username, expect: before?.version ?? 0, changes })
    return outcome.kind === 'committed' ? { before, after } : LOST
  })
}

function check({ username, password, iterations, tenantId }: CredentialChange): CredentialRefusal | null {
  const objections: Readonly<Record<string, string | null>> = {
    username: objectionToUsername(username),
    password: password === undefined ? null : objectionToPassword(password),
    iterations:
      iterations === undefined || (iterations >= MIN_ITERATIONS && iterations <= MAX_ITERATIONS)
        ? null
        : `is not between ${MIN_ITERATIONS} and ${MAX_ITERATIONS}`,
    tenantId: tenantId === undefined || tenantId === null ? null : objectionToTenant(tenantId),
  }
  const wrong = Object.entries(objections).find(([, message]) => message !== null)
  return wrong === undefined ? null : { kind: 'invalid', field: wrong[0], message: wrong[1]! }
}

function objectionToTenant(tenantId: string): string | null {
  if (tenantId === '') return 'is empty'
  if (!tenantId.isWellFormed()) return 'is not well-formed Unicode'
  if ([...tenantId].length > MAX_TENANT_CHARACTERS) return `is longer than ${MAX_TENANT_CHARACTERS} characters`
  return /\p{Cc}/u.test(tenantId) ? 'holds control characters' : null
}

function viewOf(username: string, { mechanism, iterations, tenantId }: Credential): CredentialView {
  return { username, mechanism, iterations, tenantId }
}
