// The part of the health tree that a caller may see, the same for the console and for the actuator.

import type { Component, HealthTree } from '../admin/health.ts'

/** Returns the tree. Only signed-in callers (`isKnown`) get details: addresses, versions, reasons. */
export function shownTree({ status, components }: HealthTree, isKnown: boolean) {
  const visible = ([name, { status, details }]: [string, Component]) => [
    name,
    isKnown && Object.keys(details).length > 0 ? { status, details } : { status },
  ]
  return { status, components: Object.fromEntries(Object.entries(components).map(visible)) }
}
