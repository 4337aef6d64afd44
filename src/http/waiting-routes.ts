// Routes for tests of the HTTP port that need a request under way: one waits until the test releases it, and one
// streams until its client or the broker ends it.

import { z } from 'zod'
import { reply, route } from './route.ts'

const common = { tag: 'things', doc: 'A thing.', needs: 'anybody', method: 'GET' } as const

/** Makes a route at /api/v1/slow that answers each request after `release` was called. */
export function makeSlowRoute() {
  const begun = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  let requests = 0
  return {
    slow: route({
      ...common,
      path: '/api/v1/slow',
      verb: 'wait',
      answers: { 200: z.object({ isDone: z.boolean() }) },
      async answer() {
        requests++
        begun.resolve()
        await gate.promise
        return reply(200, { isDone: true })
      },
    }),
    /** Resolves when the first request has reached the route. */
    begun: begun.promise,
    /** Returns how many requests have reached the route. */
    requests: () => requests,
    release: () => gate.resolve(),
  }
}

/** Makes a route at /api/v1/tail that streams `first`, waits for the end of the request, and streams `last`. */
export function makeTailRoute() {
  const over = Promise.withResolvers<void>()
  return {
    tail: route({
      ...common,
      path: '/api/v1/tail',
      verb: 'tail',
      answers: { 200: z.string() },
      answer({ ended }) {
        async function* chunks() {
          yield 'first'
          await new Promise<void>(resolve => ended.addEventListener('abort', () => resolve()))
          over.resolve()
          yield 'last'
        }
        return { kind: 'streaming', contentType: 'text/event-stream', chunks: chunks() }
      },
    }),
    /** Resolves when the route knows that its request has ended. */
    over: over.promise,
  }
}
