// A route of the admin API for the schema registry. Its rooms have a registry: while it is switched off, the route says
// which setting switched it off. A refusal of the registry is answered in the words of this API.

import { isDeclined } from '../admin/declined.ts'
import { inWords, type Named, withRegistry } from '../admin/schemas/in-words.ts'
import type { SchemaRooms } from '../admin/schemas/subjects.ts'
import { isRefusal, type RegistryRefusal } from '../registry/refusals.ts'
import {
  type Answer,
  type AnyRoute,
  found as foundAny,
  type HttpRequest,
  type HttpRooms,
  type Of,
  type Route,
  route,
  type Shape,
} from './route.ts'
import { turnsOf } from './turns-of.ts'

/** The codes of problems of routes that read schemas, by status. */
const REGISTRY_READS = Object.freeze({ 404: 'SCHEMA_REGISTRY_OFF', 409: 'UNREADABLE' })
/** The codes of problems of routes that change a level or a mode. */
export const REGISTRY_CHANGES = Object.freeze({ 404: 'SCHEMA_REGISTRY_OFF', 409: 'CONFLICT, UNREADABLE' })

interface SchemaRoute<P extends Shape, Q extends Shape, B extends Shape>
  extends Omit<Route<P, Q, B>, 'tag' | 'answer'> {
  answer(
    request: HttpRequest<Of<P>, Of<Q>, Of<B>>,
    rooms: HttpRooms & SchemaRooms,
  ): Promise<Answer | RegistryRefusal> | Answer | RegistryRefusal
}

/** By default its problems are REGISTRY_READS. A refusal names the subject, the version or the id of the path. */
export function schemaRoute<P extends Shape = undefined, Q extends Shape = undefined, B extends Shape = undefined>(
  spec: SchemaRoute<P, Q, B>,
): AnyRoute {
  return route<P, Q, B>({
    problems: REGISTRY_READS,
    ...spec,
    tag: 'schemas',
    async answer(request, rooms) {
      const its = withRegistry(rooms, turnsOf(request))
      if (isDeclined(its)) return its
      const answer = await spec.answer(request, its)
      return isRefusal(answer) ? inWords(answer, (request.params ?? {}) as Named) : answer
    },
  })
}

/** Returns the answer with what a verb found, or its refusal. */
export function found(result: object | RegistryRefusal): Answer | RegistryRefusal {
  return isRefusal(result) ? result : foundAny(result)
}
