// Checks a token that a setting holds, such as that of the catalog. A wrong token counts as a failed sign-in of a name
// that no user can have. It knows no users and issues no session.

import { createHash, timingSafeEqual } from 'node:crypto'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Visitor } from './identity.ts'
import type { SignInRefusal } from './passwords.ts'
import { networkOf, type SignInThrottle } from './sign-in-throttle.ts'
import { createTurns } from './turns.ts'

export interface TokenCheckRooms {
  readonly throttle: SignInThrottle
  readonly logger: Logger
  readonly metrics: Pick<Metrics, 'count'>
}

/**
 * Resolves with null if the given token is the expected one, else with the refusal. `name` is that of the setting.
 * Throws what the store throws.
 */
export type CheckToken = (
  name: string,
  given: string,
  expected: string,
  visitor: Visitor,
) => Promise<SignInRefusal | null>

export function createTokenCheck({ throttle, logger, metrics }: TokenCheckRooms): CheckToken {
  const log = logger.named('auth')
  const turns = createTurns()

  async function attempt(name: string, isRight: boolean, { address }: Visitor): Promise<SignInRefusal | null> {
    const retryAfterMs = await throttle.lockedOutMs(name, address)
    if (retryAfterMs > 0) return { kind: 'locked-out', retryAfterMs }
    if (isRight) {
      await throttle.succeeded(name, address)
      return null
    }
    await throttle.failed(name, address)
    log.limited('token-refused', 1_000).warn('a token was refused', { token: name, from: address })
    return { kind: 'wrong-credentials' }
  }

  return async (setting, given, expected, visitor) => {
    // Names of users have no colon.
    const name = `token:${setting}`
    const isRight = isEqual(given, expected)
    const turn = turns.take(`${networkOf(visitor.address)} ${name}`, () => attempt(name, isRight, visitor))
    const refused: SignInRefusal | null = turn === null ? { kind: 'busy' } : await turn
    if (refused !== null && refused.kind !== 'busy')
      metrics.count('svc.broker.failures', { operation: 'auth', error_type: refused.kind })
    return refused
  }
}

/** Compares in a time that depends on neither text. */
function isEqual(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(expected))
}
