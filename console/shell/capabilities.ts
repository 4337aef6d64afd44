// Which capabilities the broker has, and what a page may say about those that it has not.

import type { Capabilities, Capability } from '../../src/api/capabilities.ts'
import { useRead } from '../api/queries.ts'

/** Returns what the broker is and has; undefined until it answered. It changes only when the broker is replaced. */
export function useCapabilities(): Capabilities | undefined {
  return useRead('show capabilities', {}).data
}

/** Returns one capability; undefined until the broker answered. */
export function useCapability(id: Capability['id']): Capability | undefined {
  return useCapabilities()?.capabilities.find(each => each.id === id)
}
