// The problems of routes for the schema registry.

import type { Registry } from '../registry/registry.ts'
import { capabilityStates } from '../settings/switches.ts'
import { type Problem, problem } from './problems.ts'
import type { HttpRooms } from './route.ts'

/** Returns the registry, or the problem that it is switched off. */
export function registryOf({ registry, settings }: Pick<HttpRooms, 'registry' | 'settings'>): Registry | Problem {
  if (registry !== null) return registry
  const state = capabilityStates(settings).find(({ id }) => id === 'schema-registry')
  return problem('SCHEMA_REGISTRY_OFF', state?.because ?? 'The schema registry is off.')
}
