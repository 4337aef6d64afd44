// How commands reach this broker: the address and the security that Kafka clients are told, and the admin API at the
// address of this page.

import { accessOf } from '../text/broker-access.ts'
import type { CommandAccess } from '../text/commands.ts'
import { useCapabilities } from './capabilities.ts'
import { useSession } from './session.tsx'

/** Returns how commands reach the broker; null until it is known, or if the broker has no listener for clients. */
export function useCommandAccess(): CommandAccess | null {
  const capabilities = useCapabilities()
  const { status } = useSession()
  if (capabilities === undefined || status === undefined) return null
  return accessOf(capabilities, location.origin, status.securityEnabled ? (status.user ?? null) : null)
}
