// The face of the admin API: sessions by cookie, JSON, and problems of RFC 9457.

import { type AccessRooms, admit, bySession } from '../access.ts'
import { readJson } from '../json-body.ts'
import { asProblem } from '../problems.ts'
import type { AnyRoute } from '../route.ts'
import type { Face } from './face.ts'

export const ADMIN_PATH = '/api/v1'

export function adminFace(rooms: AccessRooms, routes: readonly AnyRoute[]): Face {
  return {
    name: 'admin API',
    paths: ['/api'],
    routes,
    reads: { 'application/json': readJson },
    writes: 'application/json',
    admit: (route, caller) => admit(route, caller, rooms, bySession),
    errorOf: asProblem,
  }
}
