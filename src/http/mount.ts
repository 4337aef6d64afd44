// Registers the routes of a face on the server. The face decides who may call, how bodies are read and how errors
// look. The order of the steps is the same for each face: place, origin, caller, body, caller again for a change,
// answer, audit line.

import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Identity } from '../auth/console/identity.ts'
import type { Timer } from '../base/clock.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type Caller, checkBodyType, checkOrigin } from './access.ts'
import { audit } from './audit.ts'
import { bodyBytes } from './body-bytes.ts'
import type { Face, Params, ReadBody } from './faces/face.ts'
import { UnreadableBody } from './failures.ts'
import type { HttpLimits } from './listener.ts'
import type { Places } from './places.ts'
import { fromDeclined, fromRefusal, isProblem, type Problem, problem } from './problems.ts'
import { type Answer, type AnyRoute, type HttpRooms, isAudited, methodsOf, type Streaming } from './route.ts'
import { shapesOf } from './shapes.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The face of the route. */
    face?: Face
    /** The most values of a body, if the route has a number of its own. */
    mostValues?: number
  }
}

/** The facts of a request that was accepted or refused. */
export interface Passage {
  /**
   * The facts of the caller, read when the request arrives: a connection that was closed meanwhile no longer has an
   * address.
   */
  readonly caller: Caller
  identity: Identity | null
  /** The problem's code, if it was answered with one. */
  code: string | null
}

/** The parts of the server that the routes of a face use. */
export interface Mounting {
  readonly rooms: HttpRooms
  readonly limits: HttpLimits
  readonly places: Places
  readonly logger: Logger
  readonly auditLogger: Logger
  /** Aborts when the broker begins to drain. */
  readonly ending: AbortSignal
  passageOf(request: FastifyRequest): Passage
  /** Answers the problem in the form of the request's face. */
  send(request: FastifyRequest, answer: FastifyReply, what: Problem): FastifyReply
  missing(request: FastifyRequest): Problem
}

/** Returns whether every parameter of the path has a value: `/topics/` is not the topic with the empty name. */
export function hasParams(params: unknown): boolean {
  return Object.values(params as Record<string, string>).every(value => value !== '')
}

/** Registers a face. `scope` belongs to this face: what is set there applies to no other face. */
export function mountFace(scope: FastifyInstance, face: Face, mounting: Mounting): void {
  scope.removeAllContentTypeParsers()
  const parse = (type: string, read: ReadBody) =>
    scope.addContentTypeParser(type, async ({ headers, routeOptions }: FastifyRequest, payload: IncomingMessage) => {
      const bytes = await bodyBytes(payload, routeOptions.bodyLimit, Number(headers['content-length']))
      if (bytes.length === 0) return undefined
      const found = read(bytes, routeOptions.config.mostValues)
      if ('refused' in found) throw new UnreadableBody(found.refused)
      return found.value
    })
  for (const [type, read] of Object.entries(face.reads)) parse(type, read)
  // Other types are refused before the body is read.
  if (face.readsUntyped !== undefined) parse('*', face.readsUntyped)
  // Fastify adds a charset to each JSON type, and clients of a foreign API may compare the whole type.
  if (typeof face.writes === 'function')
    scope.addHook('onSend', async (_request, answer, payload) => {
      const type = answer.getHeader('content-type')
      if (typeof type === 'string') answer.header('content-type', type.replace(/; charset=utf-8$/, ''))
      return payload
    })
  for (const route of face.routes) mountRoute(scope, face, route, mounting)
}

function mountRoute(scope: FastifyInstance, face: Face, route: AnyRoute, mounting: Mounting): void {
  const { rooms, places, passageOf, send } = mounting
  const types = { types: Object.keys(face.reads), isOptional: face.readsUntyped !== undefined }
  const { writes } = face
  const typeFor = ({ headers }: FastifyRequest) => (typeof writes === 'string' ? writes : writes(headers.accept))
  const admit = (request: FastifyRequest) => face.admit(route, passageOf(request).caller, request.params as Params)
  const isFull = ({ raw }: FastifyRequest) => route.isProbe !== true && places.isBeyond(raw.socket)
  scope.route({
    method: [...methodsOf(route)],
    url: route.path,
    config: { face, ...(route.mostValues === undefined ? {} : { mostValues: route.mostValues }) },
    schema: shapesOf(route),
    ...(route.bodyLimit === undefined ? {} : { bodyLimit: route.bodyLimit }),
    // The plugin believes that bytes beginning like zlib or gzip are compressed already. It would send them unchanged
    // and label them as compressed.
    ...(route.contentType === 'application/octet-stream' ? { compress: false as const } : {}),
    async onRequest(request, answer) {
      const passage = passageOf(request)
      if (!hasParams(request.params)) return send(request, answer, mounting.missing(request))
      if (isFull(request)) return send(request, answer, problem('BUSY'))
      const refused = checkOrigin(route, passage.caller) ?? checkBodyType(route, passage.caller, types)
      const found = refused ?? (await admit(request))
      if (isProblem(found)) return send(request, answer, found)
      passage.identity = found
    },
    // The check is repeated when the body has arrived: that may take half a minute, and the session may have ended.
    ...(isAudited(route)
      ? {
          async preHandler(request: FastifyRequest, answer: FastifyReply) {
            const found = await admit(request)
            if (isProblem(found)) return send(request, answer, found)
            passageOf(request).identity = found
          },
        }
      : {}),
    async handler(request, answer) {
      // Here a request with a body is certainly complete.
      if (isFull(request)) return send(request, answer, problem('BUSY'))
      const { caller, identity } = passageOf(request)
      const barred = new AbortController()
      const ended = AbortSignal.any([mounting.ending, caller.ended, barred.signal])
      const outcome: Answer = await route.answer(
        {
          ...caller,
          params: request.params as undefined,
          query: request.query as undefined,
          body: request.body as undefined,
          identity,
          requestId: request.id,
          headers: request.headers,
          ended,
        },
        rooms,
      )
      if (outcome.kind === 'problem') return send(request, answer, outcome)
      if (outcome.kind === 'declined') return send(request, answer, fromDeclined(outcome))
      if (outcome.kind === 'refusal') return send(request, answer, fromRefusal(outcome))
      for (const [name, value] of Object.entries(outcome.headers ?? {})) answer.header(name, value)
      if (outcome.kind === 'streaming') {
        answer.header('content-type', outcome.contentType)
        if (request.method === 'HEAD') return await endUnread(outcome, answer, barred)
        recheck(() => admit(request), barred, ended, mounting)
        const cut = outcome.isFile ? { signal: ended } : {}
        const chunks = flow(outcome, request, answer, ended, mounting.logger)
        return answer.send(Readable.from(chunks, { objectMode: false, ...cut }))
      }
      if (!Object.hasOwn(route.answers, outcome.status))
        throw new Error(`${route.method} ${route.path} answers ${outcome.status}, which it does not document`)
      if (route.isBareHead && request.method === 'HEAD' && outcome.status === 200) return answer.code(204).send()
      answer.code(outcome.status)
      if (outcome.body !== undefined && !answer.hasHeader('content-type'))
        answer.header('content-type', typeFor(request))
      return answer.send(outcome.body)
    },
    ...(isAudited(route)
      ? {
          // The line is written when the answer is sent, not after it: if the client disconnects, the change is still
          // made.
          async onSend(request: FastifyRequest, answer: FastifyReply, payload: unknown) {
            const { params, query, body, id } = request
            const { caller, identity, code } = passageOf(request)
            audit(mounting.auditLogger, route, {
              who: identity?.username ?? null,
              sso: identity?.isFederated ?? false,
              from: caller.address,
              params,
              query,
              body,
              status: answer.statusCode,
              code,
              requestId: id,
            })
            return payload
          },
        }
      : {}),
  })
}

/** Answers HEAD with the headers of a stream. The stream releases its resources and makes no chunk. */
async function endUnread({ chunks }: Streaming, answer: FastifyReply, barred: AbortController): Promise<FastifyReply> {
  barred.abort()
  await chunks[Symbol.asyncIterator]().return?.()
  return answer.send(Readable.from([]))
}

/**
 * Checks the caller of a stream again and again, because a stream lives longer than the check of its request. The
 * stream ends if the session ends, or if the store cannot tell whether it has ended.
 */
function recheck(
  admit: () => ReturnType<Face['admit']>,
  barred: AbortController,
  ended: AbortSignal,
  { rooms: { clock }, limits, logger }: Mounting,
): void {
  let timer: Timer | null = null
  const look = () =>
    admit().then(
      found => (isProblem(found) ? barred.abort() : lookLater()),
      error => {
        logger
          .limited('recheck', 5_000)
          .warn('a stream ends: the broker cannot tell which user it belongs to', { error })
        barred.abort()
      },
    )
  const lookLater = () => {
    if (!ended.aborted) timer = clock.timer(limits.recheckMs, () => void look())
  }
  ended.addEventListener('abort', () => timer?.cancel(), { once: true })
  lookLater()
}

/**
 * Yields the chunks of a stream. A failure in between can only be logged, and cuts the connection: a stream of lines
 * may end at any line, so the client would not notice.
 */
async function* flow(
  { chunks }: Streaming,
  request: FastifyRequest,
  answer: FastifyReply,
  ended: AbortSignal,
  logger: Logger,
) {
  // Send the headers now: the client learns that the stream has begun before the first chunk exists.
  answer.raw.flushHeaders()
  try {
    yield* chunks
  } catch (error) {
    if (ended.aborted) throw error
    logger.error('a stream ended early', { url: request.url, requestId: request.id, error })
    throw error
  }
}
