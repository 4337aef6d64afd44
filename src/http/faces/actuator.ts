// The face of the actuator and of the reference of the HTTP side. It takes HTTP Basic in place of a session, as the
// specification requires. Everything else is as in the admin API.

import { type AccessRooms, admit, byBasic } from '../access.ts'
import { readJson } from '../json-body.ts'
import { asProblem } from '../problems.ts'
import type { AnyRoute } from '../route.ts'
import type { Face } from './face.ts'

const PATHS: readonly string[] = ['/actuator', '/v3/api-docs', '/swagger-ui', '/swagger-ui.html']

export const isActuator = ({ path }: AnyRoute) => PATHS.some(own => path === own || path.startsWith(`${own}/`))

export function actuatorFace(rooms: AccessRooms, routes: readonly AnyRoute[]): Face {
  return {
    name: 'actuator',
    paths: PATHS,
    routes,
    reads: { 'application/json': readJson },
    writes: 'application/json',
    admit: (route, caller) => admit(route, caller, rooms, byBasic),
    errorOf: asProblem,
  }
}
