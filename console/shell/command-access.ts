// How commands reach this broker: the address and the security that Kafka clients are told, and the admin API at the
// address of this page.

import type { CommandAccess } from '../text/commands.ts'
import { useCapabilities } from './capabilities.ts'
import { type Way, waysOf } from './listeners.ts'
import { useSession } from './session.tsx'

export interface CommandWay extends Way {
  readonly access: CommandAccess
}

/** Returns one access for each listener; null until they are known. */
export function useCommandWays(): readonly CommandWay[] | null {
  const capabilities = useCapabilities()
  const { status } = useSession()
  if (capabilities === undefined || status === undefined) return null
  const api = { url: location.origin, apiUser: status.securityEnabled ? (status.user ?? null) : null }
  return waysOf(capabilities.listeners).map(way => ({ ...way, access: { ...way.access, ...api } }))
}
