// Lists, sets and removes the SASL credentials of Kafka clients. auth/clients/credential-record.ts says which values
// are stored for a password. No verb returns a secret. A connection that was authenticated before a change stays
// open.

import { ITERATIONS, type Mechanism } from '../api/words.ts'
import {
  type Credential,
  credentialOf,
  HASH_BYTES,
  KIND,
  makeCredential,
  rowsOf,
  scramKeysOf,
} from '../auth/clients/credential-record.ts'
import { saslprep } from '../auth/sasl/saslprep.ts'
import { canonicalUsername, objectionToPassword, objectionToUsername } from '../auth/user-rules.ts'
import { cut } from '../base/cut.ts'
import { changeDocument, type DocumentRooms } from '../store/document-keeper.ts'
import { type Document, UnreadableDocument } from '../store/store.ts'
import type { NameUnreadable } from '../store/unreadable.ts'

const MAX_TENANT_CHARACTERS = 256
/** Kafka's admin client makes salts of some 25 bytes. */
const MAX_SALT_BYTES = 256

interface CredentialRooms extends DocumentRooms {
  readonly unreadable?: NameUnreadable | undefined
}

/** A credential without its secrets. */
export interface CredentialView {
  readonly username: string
  readonly mechanism: Mechanism
  readonly iterations: number
  readonly tenantId: string | null
}

export interface NewCredential extends CredentialView {
  readonly password: string
}

/** A field that is left out does not change. A change of the mechanism or the iterations needs the password. */
export interface CredentialChange {
  readonly username: string
  readonly password?: string | undefined
  readonly mechanism?: Mechanism | undefined
  readonly iterations?: number | undefined
  /** Null removes the tenant. */
  readonly tenantId?: string | null | undefined
}

/** A SCRAM-SHA-256 credential for which a client has salted the password itself (KIP-554). */
export interface SaltedCredential {
  readonly username: string
  readonly iterations: number
  readonly salt: Uint8Array
  /** 32 bytes. They are as secret as the password, and are not stored. */
  readonly saltedPassword: Uint8Array
}

interface InvalidCredential {
  readonly kind: 'invalid'
  readonly field: string
  readonly message: string
}

export type CredentialRefusal = InvalidCredential | { readonly kind: 'unknown-user' }

export interface ListedCredentials {
  /** Sorted by username. */
  readonly credentials: readonly CredentialView[]
  /** Users whose stored credential this version cannot read, because another program or a later version wrote it. */
  readonly unreadable: readonly string[]
}

/** Lists all credentials without their secrets. Throws what the store throws. */
export async function listCredentials({
  store,
  unreadable: tell,
}: Pick<CredentialRooms, 'store' | 'unreadable'>): Promise<ListedCredentials> {
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

/** Resolves to null if the user has no credential. Throws what the store throws, or UnreadableDocument. */
export async function describeCredential(
  { store }: Pick<CredentialRooms, 'store'>,
  username: string,
): Promise<CredentialView | null> {
  const document = await store.load(KIND, canonicalUsername(username))
  return document === null ? null : viewOf(document.name, credentialOf(document.name, document.fields))
}

/** Sets the credential of a user and replaces an earlier one. Throws what the store throws. */
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

/** Changes some fields of a stored credential. Throws what the store throws. */
export async function changeCredential(
  rooms: CredentialRooms,
  asked: CredentialChange,
): Promise<{ readonly kind: 'changed'; readonly credential: CredentialView } | CredentialRefusal> {
  const refusal = check(asked)
  if (refusal !== null) return refusal
  const username = canonicalUsername(asked.username)
  let made: Credential | null = null
  // It takes long to derive the keys from a password, so another broker may change the credential meanwhile. Fields
  // that the request leaves out keep the newest stored values.
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

/**
 * Stores a SCRAM-SHA-256 credential with the client's salt and iterations, in place of an earlier credential of any
 * mechanism. The tenant of an earlier credential stays. Throws what the store throws, or UnreadableDocument if the
 * earlier credential, and so its tenant, cannot be read.
 */
export async function storeSaltedCredential(
  rooms: CredentialRooms,
  { username: given, iterations, salt, saltedPassword }: SaltedCredential,
): Promise<{ readonly kind: 'stored' } | InvalidCredential> {
  const refusal = check({ username: given, iterations, salt, saltedPassword })
  if (refusal !== null) return refusal
  const username = canonicalUsername(given)
  const keys = scramKeysOf(saltedPassword)
  const common = {
    ...keys,
    mechanism: 'SCRAM-SHA-256',
    iterations,
    salt: Buffer.from(salt).toString('base64'),
  } as const
  return await changeDocument(rooms, placeOf(username), before => {
    const tenantId = before === null ? null : credentialOf(username, before.fields).tenantId
    return { answer: { kind: 'stored' }, write: { changes: rowsOf({ ...common, tenantId }) } }
  })
}

/**
 * Deletes the credential if it is for SCRAM-SHA-256. Resolves to true if the user had one. Throws what the store
 * throws, or UnreadableDocument.
 */
export async function deleteScramCredential(rooms: CredentialRooms, given: string): Promise<boolean> {
  const username = canonicalUsername(given)
  return await changeDocument(rooms, placeOf(username), now =>
    now === null || credentialOf(username, now.fields).mechanism !== 'SCRAM-SHA-256'
      ? { answer: false }
      : { answer: true, write: { remove: true } },
  )
}

/** Deletes the credential. Resolves to true if the user had one. Throws what the store throws. */
export async function deleteCredential(rooms: CredentialRooms, username: string): Promise<boolean> {
  return await changeDocument(rooms, placeOf(canonicalUsername(username)), now =>
    now === null ? { answer: false } : { answer: true, write: { remove: true } },
  )
}

function placeOf(username: string) {
  return { kind: KIND, name: username, what: 'the credential' }
}

/**
 * Stores the credential that `decide` makes from the old one (null if there was no credential). If another writer was
 * faster, calls `decide` again with the newer credential. Resolves with the old and the new credential, or with the
 * refusal of `decide`.
 */
async function replace(
  rooms: CredentialRooms,
  username: string,
  decide: (before: Document | null) => Credential | Promise<Credential | CredentialRefusal>,
): Promise<{ readonly before: Document | null; readonly after: Credential } | CredentialRefusal> {
  return await changeDocument<{ before: Document | null; after: Credential } | CredentialRefusal>(
    rooms,
    placeOf(username),
    async before => {
      const after = await decide(before)
      return 'kind' in after ? { answer: after } : { answer: { before, after }, write: { changes: rowsOf(after) } }
    },
  )
}

interface Checked extends CredentialChange, Partial<Pick<SaltedCredential, 'salt' | 'saltedPassword'>> {}

function check({ username, password, iterations, tenantId, salt, saltedPassword }: Checked): InvalidCredential | null {
  const objections: Readonly<Record<string, string | null>> = {
    username: objectionToName(username),
    password: password === undefined ? null : objectionToPassword(password),
    iterations:
      iterations === undefined || (iterations >= ITERATIONS.min && iterations <= ITERATIONS.max)
        ? null
        : `is not between ${ITERATIONS.min} and ${ITERATIONS.max}`,
    tenantId: tenantId === undefined || tenantId === null ? null : objectionToTenant(tenantId),
    salt:
      salt === undefined || (salt.length > 0 && salt.length <= MAX_SALT_BYTES)
        ? null
        : `has ${salt.length} bytes, and not 1 to ${MAX_SALT_BYTES}`,
    saltedPassword:
      saltedPassword === undefined || saltedPassword.length === HASH_BYTES
        ? null
        : `has ${saltedPassword.length} bytes, and not ${HASH_BYTES}`,
  }
  const wrong = Object.entries(objections).find(([, message]) => message !== null)
  return wrong === undefined ? null : { kind: 'invalid', field: wrong[0], message: wrong[1]! }
}

/** Returns the objection to the name of a credential. SASL must find the stored name when a client sends it. */
function objectionToName(username: string): string | null {
  const objection = objectionToUsername(username)
  if (objection !== null) return objection
  return saslprep(username) === canonicalUsername(username)
    ? null
    : 'holds characters or mixes directions of writing that SASLprep (RFC 4013) forbids'
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
