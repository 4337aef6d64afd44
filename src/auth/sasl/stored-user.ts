// Finds the stored credential of the name that a client claims, for the mechanisms with passwords. A name without a
// usable credential gets a decoy, so that the mechanism does the same work and gives the client the same answers.
// This file compares no secrets.

import { createHmac } from 'node:crypto'
import { ITERATIONS, type Mechanism } from '../../api/words.ts'
import { type Store, UnreadableDocument } from '../../store/store.ts'
import { type Credential, credentialOf, KIND, SALT_BYTES } from '../clients/credential-record.ts'
import { saslprep } from './saslprep.ts'

/** Longer names are unknown. The rules for new names allow fewer characters. */
const MAX_NAME_CHARACTERS = 256

export type StoredUser =
  | { readonly name: string; readonly credential: Credential }
  | { readonly name: string; readonly credential: null; readonly why: string }

/**
 * Loads the credential of a claimed name from the store, so that a change by any broker or program counts at once. With
 * a null mechanism the credential of any mechanism will do. `name` is the prepared name, or the claimed one if no user
 * can have it. `why` is for the log. Throws what the store throws if it is away.
 */
export async function findUser(store: Store, mechanism: Mechanism | null, claimed: string): Promise<StoredUser> {
  const name = saslprep(claimed)
  if (name === null || !isPossible(name)) return { name: claimed, credential: null, why: 'user not found' }
  try {
    const document = await store.load(KIND, name)
    if (document === null) return { name, credential: null, why: 'user not found' }
    const credential = credentialOf(name, document.fields)
    if (mechanism === null || credential.mechanism === mechanism) return { name, credential }
    return { name, credential: null, why: `user not found: the stored credential is for ${credential.mechanism}` }
  } catch (error) {
    // The client gets the answer for an unknown user, because another answer would tell that the user exists.
    if (!(error instanceof UnreadableDocument)) throw error
    return { name, credential: null, why: `user not found: ${error.message}` }
  }
}

/** A name with a colon is unknown, whatever another program has stored: `group:<name>` is the principal of a group. */
function isPossible(name: string): boolean {
  return name !== '' && !name.includes(':') && [...name].length <= MAX_NAME_CHARACTERS
}

/** Returns a credential that no password matches. It is always the same for the same key and name. */
export function decoyOf(key: Uint8Array, mechanism: Mechanism, name: string): Credential {
  const derive = (part: string) => createHmac('sha256', key).update(`${part}\0${name}`).digest()
  return {
    mechanism,
    passwordHash: derive('password').toString('base64'),
    serverKey: derive('server').toString('base64'),
    salt: derive('salt').subarray(0, SALT_BYTES).toString('base64'),
    iterations: ITERATIONS.fallback,
    tenantId: null,
  }
}
