// Every journey, in one list.

import { firstRun } from './first-run.ts'
import { grantAndCredential } from './grant-and-credential.ts'
import type { Journey } from './journey.ts'
import { keyboardOnly } from './keyboard-only.ts'
import { lockout } from './lockout.ts'
import { sessionExpiry } from './session-expiry.ts'
import { shippedPassword } from './shipped-password.ts'

export const journeys: readonly Journey[] = [
  firstRun,
  shippedPassword,
  lockout,
  sessionExpiry,
  grantAndCredential,
  keyboardOnly,
]
