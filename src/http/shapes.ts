// Turns the shapes of a route into fastify's form, which checks requests and good answers. validation.ts tells the
// client why a request does not fit.

import type { FastifySchema } from 'fastify'
import { z } from 'zod'
import { strictly } from './openapi.ts'
import type { AnyRoute } from './route.ts'

export function shapesOf({ params, query, body, answers }: AnyRoute): FastifySchema {
  return {
    ...(params === undefined ? {} : { params }),
    ...(query === undefined ? {} : { querystring: strictly(query) }),
    ...(body === undefined ? {} : { body: strictly(body) }),
    response: Object.fromEntries(Object.entries(answers).map(([status, shape]) => [status, shape ?? z.undefined()])),
  }
}
