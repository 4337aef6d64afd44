// Checks the name and the password of a Kafka client outside of the Kafka port, such as at the schema registry. A
// client has one stored credential, of SCRAM or of PLAIN, and both say whether a password is right. The credential is
// loaded for each request, so that a change or a deletion by any broker counts at once.
//
// This file counts no failures and decides no rights: console/passwords.ts counts, and policies.ts has the rights.

import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Store } from '../../store/store.ts'
import type { OtherUsers } from '../console/passwords.ts'
import { AuthenticationBusy } from '../sasl/mechanism.ts'
import { openPasswordChecks } from '../sasl/password-checks.ts'
import { saslprep } from '../sasl/saslprep.ts'
import { decoyOf, findUser } from '../sasl/stored-user.ts'
import type { Client } from './policy.ts'

export interface ClientPasswordsRooms {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
}

const KEY_BYTES = 32

/** Returns the Kafka clients as users beside those of the console. */
export function openClientPasswords({ store, clock, random }: ClientPasswordsRooms): OtherUsers<Client> {
  const checks = openPasswordChecks({ clock, random })
  const decoyKey = random.bytes(KEY_BYTES)
  return {
    // A name of a console user stays as it is: its rules allow no character that is changed here.
    nameOf: username => saslprep(username) ?? username,

    async find(username) {
      const { name, credential: stored } = await findUser(store, null, username)
      const credential = stored ?? decoyOf(decoyKey, 'PLAIN', name)
      const labelOf = (beside: string) => JSON.stringify([name, beside])
      return {
        isKnown: stored !== null,
        found: Object.freeze({ name, groups: [] }),
        isRemembered: (password, beside) => stored !== null && checks.isRemembered(labelOf(beside), stored, password),
        async isRight(password, beside, address) {
          // HMAC fills its key up with NULs, so the hash of a password is that of the same one with a NUL behind it.
          try {
            return (
              !password.endsWith('\0') &&
              (await checks.isRight(labelOf(beside), credential, password, address)) &&
              stored !== null
            )
          } catch (error) {
            if (error instanceof AuthenticationBusy) return null
            throw error
          }
        },
      }
    },
  }
}
