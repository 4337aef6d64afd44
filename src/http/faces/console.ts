// The face of the web console: its pages and its files, for every client. Its errors are pages for browsers. The admin
// API decides what a user may see.

import { type AccessRooms, admit, bySession } from '../access.ts'
import { asPageOrProblem } from '../plain-pages.ts'
import type { AnyRoute } from '../route.ts'
import type { Face } from './face.ts'

export function consoleFace(rooms: AccessRooms, routes: readonly AnyRoute[]): Face {
  return {
    name: 'console',
    paths: [...new Set(routes.map(({ path }) => `/${path.split('/')[1]!}`))],
    routes,
    reads: {},
    writes: 'application/json',
    admit: (route, caller) => admit(route, caller, rooms, bySession),
    errorOf: asPageOrProblem,
  }
}
