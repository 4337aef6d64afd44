// A route of the schema registry, for its table. It differs from other routes in three ways: it declares a right on the
// subject of its path (`:subject`) or on any subject, it gets the rights of its caller for everything else, and members
// of the query and the body that it does not name are ignored, because clients of later versions send more. Paths are
// below the base of the face, such as `/subjects/:subject`.

import { z } from 'zod'
import { assert } from '../../base/assert.ts'
import type { Registry } from '../../registry/registry.ts'
import {
  type Answer,
  type AnyRoute,
  type HttpRequest,
  type HttpRooms,
  type Of,
  type RegistryRight,
  type Route,
  route,
  type Shape,
} from '../route.ts'
import { turnsOf } from '../turns-of.ts'
import { isRegistryCaller, type RegistryCaller } from './schema-registry-access.ts'
import { fromRefused, type Refused } from './schema-registry-errors.ts'

/**
 * The largest body in bytes: a schema of 512 KiB whose quotation marks are escaped, and a hundred references of 1 KiB
 * each.
 */
export const REGISTRY_BODY_BYTES = (1_024 + 100) * 1_024

export interface RegistryRequest<P extends Shape, Q extends Shape, B extends Shape>
  extends HttpRequest<Of<P>, Of<Q>, Of<B>> {
  /** The caller, with the rights on every subject. */
  readonly caller: RegistryCaller
  readonly registry: Registry
  /** True if the client takes members that older clients do not know (`Confluent-Accept-Unknown-Properties: true`). */
  readonly isWide: boolean
}

export interface RegistryRoute<P extends Shape, Q extends Shape, B extends Shape>
  extends Omit<Route<P, Q, B>, 'needs' | 'tag' | 'onlyAsks' | 'answer'> {
  /** The right on the subject of the path; without a subject in the path, on any subject. */
  readonly needs: RegistryRight
  /** A refusal of the registry's verbs is answered with its code and text. */
  answer(request: RegistryRequest<P, Q, B>, rooms: HttpRooms): Promise<Answer | Refused> | Answer | Refused
}

export function registryRoute<P extends Shape = undefined, Q extends Shape = undefined, B extends Shape = undefined>(
  spec: RegistryRoute<P, Q, B>,
): AnyRoute {
  const { needs, query, body, answer, ...rest } = spec
  return route({
    ...rest,
    ...(query === undefined ? {} : { query: loosely(query) }),
    ...(body === undefined ? {} : { body: loosely(body), bodyLimit: REGISTRY_BODY_BYTES }),
    tag: 'schema registry',
    needs: `registry-${needs}`,
    ...(needs === 'lookup' ? { onlyAsks: true } : {}),
    async answer(request: HttpRequest<undefined, undefined, undefined>, rooms: HttpRooms): Promise<Answer> {
      const { identity, headers } = request
      assert(isRegistryCaller(identity), 'the face of the registry gives each request the rights of its caller')
      const isWide = /^\s*true\s*$/i.test(String(headers['confluent-accept-unknown-properties'] ?? ''))
      assert(rooms.registry !== null, 'a registry that is switched off has no face')
      const registry = rooms.registry.of(turnsOf(request))
      const asked = { ...request, caller: identity, registry, isWide } as unknown as RegistryRequest<P, Q, B>
      const outcome = await answer(asked, rooms)
      return outcome.kind === 'refused' ? fromRefused(outcome) : outcome
    },
  } as unknown as Route)
}

function loosely(shape: z.ZodType): z.ZodType {
  if (shape instanceof z.ZodOptional) return loosely(shape.unwrap() as z.ZodType).optional()
  return shape instanceof z.ZodObject && shape.def.catchall === undefined ? shape.loose() : shape
}

/**
 * A switch in a query: `true` in any spelling, as Python writes `True`. Every other text is false, as in Confluent's
 * server, and so is a missing one.
 */
export const flag = z
  .union([z.string(), z.array(z.string())])
  .optional()
  .transform(text => [text ?? ''].flat()[0]!.toLowerCase() === 'true')

/** A 32-bit number in a path, such as an id. Another text is answered 404. */
export const numberSegment = z
  .string()
  .regex(/^-?\d{1,10}$/)
  .transform(Number)
  .refine(value => (value | 0) === value)
  .meta({ examples: ['1'] })

/** A 32-bit number in a query, such as an offset. Another text is answered 404, as in Confluent's server. */
export function numberParameter(fallback: number) {
  return numberSegment.default(fallback)
}
