// Names the caller of a request, for work of which each caller has its turns.

import { ANYBODY } from '../auth/console/accounts.ts'
import type { HttpRequest } from './route.ts'

/** Returns the name of the user; for a client that has not signed in, its address. */
export function turnsOf({ identity, address }: Pick<HttpRequest<never, never, never>, 'identity' | 'address'>): string {
  return identity === null || identity.username === ANYBODY.username
    ? `address ${address}`
    : `user ${identity.username}`
}
