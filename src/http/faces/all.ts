// Every face of the HTTP port but that of the schema registry, which may have a port of its own (schema-registry.ts). A
// path outside of all faces is answered 404 (server.ts).

import type { AnyRoute, HttpRooms } from '../route.ts'
import { allRoutes } from '../routes/all.ts'
import { actuatorFace, isActuator } from './actuator.ts'
import { ADMIN_PATH, adminFace } from './admin.ts'
import { agentsFace } from './agents.ts'
import { catalogFace } from './catalog.ts'
import { consoleFace } from './console.ts'
import type { Face } from './face.ts'

/**
 * Opens the faces. `routes` are those of all faces that follow Ketch's own rules; their paths tell them apart. The
 * catalog and the agent tools follow rules of others, and their routes are their own.
 */
export function openFaces(
  { accounts, clock, settings, agents }: Pick<HttpRooms, 'accounts' | 'clock' | 'settings' | 'agents'>,
  routes: readonly AnyRoute[] = allRoutes,
): readonly Face[] {
  const access = { accounts, clock, isScrapeOpen: settings.get('admin.anonymous-prometheus') }
  const isAdmin = ({ path }: AnyRoute) => path.startsWith(`${ADMIN_PATH}/`)
  return [
    adminFace(access, routes.filter(isAdmin)),
    actuatorFace(access, routes.filter(isActuator)),
    catalogFace(access, settings),
    ...(agents === null ? [] : [agentsFace({ accounts, settings }, agents)]),
    consoleFace(
      access,
      routes.filter(route => !isAdmin(route) && !isActuator(route)),
    ),
  ]
}
