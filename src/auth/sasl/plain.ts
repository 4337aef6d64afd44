// The server's side of PLAIN (RFC 4616): one message with the name and the password. It is safe only over TLS, and the
// settings refuse it without (settings/consistency.ts).
//
//   [authzid] NUL user NUL password
//
// A client that claims an unknown name waits for the same work as one with a wrong password, with the default number
// of iterations. kafka/authentication.ts delays and logs the failures.

import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Store } from '../../store/store.ts'
import { isPasswordTooLong } from '../user-rules.ts'
import { INVALID_PASSWORD, invalidCredentials, OTHER_AUTHZID } from './client-messages.ts'
import type { SaslMechanism, Step } from './mechanism.ts'
import { openPasswordChecks, type PasswordChecks } from './password-checks.ts'
import { decoyOf, findUser } from './stored-user.ts'
import { textOf } from './token-text.ts'

const NAME = 'PLAIN'
const INVALID_CREDENTIALS = invalidCredentials(NAME)
const KEY_BYTES = 32

const FORM = /^([^\0]*)\0([^\0]+)\0([^\0]+)$/

export interface PlainRooms {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
}

/**
 * Returns the mechanism. Its exchanges throw what the store throws if the credential cannot be loaded, and
 * AuthenticationBusy.
 */
export function openPlain(rooms: PlainRooms): SaslMechanism {
  const checks = openPasswordChecks(rooms)
  const decoyKey = rooms.random.bytes(KEY_BYTES)
  return {
    name: NAME,
    begin({ address }) {
      let isOver = false
      return {
        step(token) {
          const wasOver = isOver
          isOver = true
          if (wasOver) return failed(INVALID_CREDENTIALS, 'a message after the end of the exchange', null)
          return authenticate(rooms.store, checks, decoyKey, token, address)
        },
      }
    },
  }
}

async function authenticate(
  store: Store,
  checks: PasswordChecks,
  decoyKey: Uint8Array,
  token: Uint8Array,
  address: string,
): Promise<Step> {
  const read = textOf(token)
  if (read.text === null) return failed(INVALID_CREDENTIALS, read.why, null)
  const parts = FORM.exec(read.text)
  if (parts === null) return failed(INVALID_CREDENTIALS, 'a message that is not in the form of RFC 4616', null)
  const [authzid, claimed, password] = parts.slice(1) as [string, string, string]
  if (authzid !== '' && authzid !== claimed)
    return failed(OTHER_AUTHZID, 'an authorization id that is not the user', claimed)
  if (isPasswordTooLong(password)) return failed(INVALID_PASSWORD, 'invalid password: longer than any', claimed)

  const user = await findUser(store, NAME, claimed)
  const credential = user.credential ?? decoyOf(decoyKey, NAME, user.name)
  const isRight = await checks.isRight(user.name, credential, password, address)
  if (user.credential === null) return failed(INVALID_PASSWORD, user.why, user.name)
  if (!isRight) return failed(INVALID_PASSWORD, 'invalid password', user.name)
  const client = { name: user.name, tenant: user.credential.tenantId, groups: [], validUntilMs: null }
  return { kind: 'success', token: new Uint8Array(), client }
}

function failed(message: string, why: string, claimed: string | null): Step {
  return { kind: 'failure', message, why, claimed }
}
