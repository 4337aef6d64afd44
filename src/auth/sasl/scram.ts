// The server's side of SCRAM-SHA-256 (RFC 5802, RFC 7677), without channel binding. The broker learns no password: it
// compares the hash of a key that only the password gives with the StoredKey of the credential.
//
// A client that claims an unknown name goes through the same exchange, with a salt that is derived from the name and a
// key that all brokers share. It cannot tell the name from one with another password, unless the credential has other
// iterations than the default or a salt of another length.
//
// kafka/authentication.ts delays and logs the failures. Passwords are not prepared: see saslprep.ts.

import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { Random } from '../../base/random.ts'
import type { DocumentRooms } from '../../store/document-keeper.ts'
import { isStoreFailure, UnreadableDocument } from '../../store/store.ts'
import type { NameUnreadable } from '../../store/unreadable.ts'
import { type Credential, HASH_BYTES } from '../clients/credential-record.ts'
import { makeSharedKey } from '../shared-key.ts'
import { invalidCredentials, OTHER_AUTHZID } from './client-messages.ts'
import type { SaslExchange, SaslMechanism, Step } from './mechanism.ts'
import { type ClientFirst, readClientFinal, readClientFirst } from './scram-messages.ts'
import { decoyOf, findUser, type StoredUser } from './stored-user.ts'
import { textOf } from './token-text.ts'

const NAME = 'SCRAM-SHA-256'
const INVALID_CREDENTIALS = invalidCredentials(NAME)

/** 144 bits, which are 24 characters of base64url. */
const NONCE_BYTES = 18
const KEY_BYTES = 32

/** The name of the shared key from which the salts of unknown users are derived. */
const SHARED_KEY = 'unknown-users'

export interface ScramRooms extends DocumentRooms {
  readonly unreadable: NameUnreadable
}

/** Returns the mechanism. Its exchanges throw what the store throws if the credential cannot be loaded. */
export function openScram(rooms: ScramRooms): SaslMechanism {
  const ownKey = rooms.random.bytes(KEY_BYTES)
  return {
    name: NAME,
    begin: () => beginScram(rooms, ownKey, newNonce(rooms.random)),
  }
}

function newNonce(random: Random): string {
  return random.bytes(NONCE_BYTES).toString('base64url')
}

/** Begins one exchange with this server nonce. `ownKey` stands in for the shared key while that cannot be read. */
export function beginScram(rooms: ScramRooms, ownKey: Uint8Array, serverNonce: string): SaslExchange {
  /** Takes the next message. It is replaced before it runs, so no token is taken twice. */
  let take: (text: string) => Step | Promise<Step> = takeFirst

  async function takeFirst(text: string): Promise<Step> {
    const first = readClientFirst(text)
    if (typeof first === 'string') return failed(first, null)
    const { user: claimed, authzid } = first
    if (authzid !== null && authzid !== claimed)
      return { ...failed('an authorization id that is not the user', claimed), message: OTHER_AUTHZID }
    // Both are always loaded, so that an unknown name takes no longer than another.
    const [user, key] = await Promise.all([findUser(rooms.store, NAME, claimed), decoyKey(rooms, ownKey)])
    const decoy = decoyOf(key, NAME, user.name)
    const { salt, iterations } = user.credential ?? decoy
    const nonce = `${first.nonce}${serverNonce}`
    const serverFirst = `r=${nonce},s=${salt},i=${iterations}`
    take = text => takeFinal(text, { first, serverFirst, nonce, user, decoy })
    return { kind: 'continue', token: Buffer.from(serverFirst) }
  }

  return {
    step(token) {
      const taken = take
      take = () => failed('a message after the end of the exchange', null)
      const read = textOf(token)
      return read.text === null ? failed(read.why, null) : taken(read.text)
    },
  }
}

interface Begun {
  readonly first: ClientFirst
  readonly serverFirst: string
  readonly nonce: string
  readonly user: StoredUser
  readonly decoy: Credential
}

function takeFinal(text: string, { first, serverFirst, nonce, user, decoy }: Begun): Step {
  const final = readClientFinal(text)
  if (typeof final === 'string') return failed(final, user.name)
  if (final.binding !== Buffer.from(first.header).toString('base64'))
    return failed('a final message whose channel binding is not the header of the first message', user.name)
  if (final.nonce !== nonce) return failed('a final message with another nonce', user.name)
  if (final.proof.length !== HASH_BYTES)
    return failed(`a proof of ${final.proof.length} bytes; it must have ${HASH_BYTES}`, user.name)
  const signed = `${first.bare},${serverFirst},${final.withoutProof}`
  const { passwordHash, serverKey } = user.credential ?? decoy
  const isRight = isProof(final.proof, Buffer.from(passwordHash, 'base64'), signed)
  const signature = createHmac('sha256', Buffer.from(serverKey!, 'base64')).update(signed).digest('base64')
  if (user.credential === null) return failed(user.why, user.name)
  if (!isRight) return failed('invalid password', user.name)
  const { tenantId: tenant } = user.credential
  const client = { name: user.name, tenant, groups: [], validUntilMs: null }
  return { kind: 'success', token: Buffer.from(`v=${signature}`), client }
}

/** Returns whether the proof contains the key whose hash is the StoredKey (RFC 5802, section 3). */
function isProof(proof: Uint8Array, storedKey: Uint8Array, signed: string): boolean {
  const clientSignature = createHmac('sha256', storedKey).update(signed).digest()
  const clientKey = clientSignature.map((byte, at) => byte ^ proof[at]!)
  return timingSafeEqual(createHash('sha256').update(clientKey).digest(), storedKey)
}

/** Resolves with the key that all brokers share, or with the broker's own key if the store does not give it. */
async function decoyKey(rooms: ScramRooms, ownKey: Uint8Array): Promise<Uint8Array> {
  try {
    return await makeSharedKey(rooms, SHARED_KEY)
  } catch (error) {
    // The error must not refuse the sign-in of a known user, and must not tell one from an unknown user.
    if (!isStoreFailure(error)) throw error
    if (error instanceof UnreadableDocument) {
      const result = 'unknown users get another salt from each broker until its document is deleted'
      rooms.unreadable({ kind: 'signing-key', what: 'the stored key of unknown users', why: error, result })
    }
    return ownKey
  }
}

function failed(why: string, claimed: string | null): Extract<Step, { kind: 'failure' }> {
  return { kind: 'failure', message: INVALID_CREDENTIALS, why, claimed }
}
