// The HTTP listener: fastify with the table of routes, and what holds for every one of them: who may pass (access.ts), the
// shapes that are held against what comes and what goes, one body for errors, security headers, the audit line. What a route
// does is in routes/.

import { type AddressInfo, BlockList, isIP, isIPv4 } from 'node:net'
import { Readable } from 'node:stream'
import compress from '@fastify/compress'
import cookie from '@fastify/cookie'
import {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifySchema,
  fastify,
} from 'fastify'
import {
  hasZodFastifySchemaValidationErrors,
  isResponseSerializationError,
  serializerCompiler,
  validatorCompiler,
} from 'fastify-type-provider-zod'
import { z } from 'zod'
import { PeerUnavailable } from '../admin/peers.ts'
import type { Identity } from '../auth/identity.ts'
import { afterOthers, type Timer } from '../base/clock.ts'
import { listenFailed } from '../settings/listen-failed.ts'
import { fullKey } from '../settings/settings.ts'
import { isStoreFailure, StoreContended, UnreadableDocument } from '../store/store.ts'
import { admit, type Caller, checkOrigin } from './access.ts'
import { audit, openAuditLog } from './audit.ts'
import { refuseConnection } from './client-error.ts'
import { watchConnections } from './connections.ts'
import { readJson } from './json-body.ts'
import { PROBLEM_TYPE, strictly } from './openapi.ts'
import { PLACE_LIMITS, type PlaceLimits, Places } from './places.ts'
import { bodyOf, fromRefusal, isProblem, type Problem, problem } from './problems.ts'
import { type Answer, type AnyRoute, type HttpRooms, isMutation, METHODS, type Streaming } from './route.ts'

/** What a client may take of this server before it is told no. */
export interface HttpLimits extends PlaceLimits {
  /** For the head of a request, and for the whole of it; 408 beyond. */
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  /** How often connections are held against them. */
  readonly checkIntervalMs: number
  /**
   * A request's line and headers; 431 beyond. Node's own 16 KB, and 64 KB of cookies: a browser sends along what any other
   * server on the host has set, and that must not keep anybody from signing in here.
   */
  readonly maxHeaderBytes: number
  readonly maxHeaders: number
  /** 413 beyond, unless the route says otherwise. */
  readonly bodyBytes: number
  /** How often whoever listens to a stream is asked again who they are. */
  readonly recheckMs: number
  /** Whoever takes nothing of an answer for this long while there is something is cut off (connections.ts). */
  readonly stallMs: number
}

export const HTTP_LIMITS: HttpLimits = Object.freeze({
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  checkIntervalMs: 1_000,
  maxHeaderBytes: (16 + 64) * 1024,
  maxHeaders: 100,
  bodyBytes: 1024 * 1024,
  ...PLACE_LIMITS,
  recheckMs: 5_000,
  stallMs: 60_000,
})

/** Shorter answers are not worth compressing; longer ones than the second are compressed off the event loop. */
const COMPRESS_FROM_BYTES = 1024
const COMPRESS_HERE_BYTES = 32 * 1024
/** With its defaults zlib takes 268 KB for each answer, which are asked of the system and given back; rows that are alike are near. */
const DEFLATE = Object.freeze({ level: 4, windowBits: 13, memLevel: 6 })
/** A stream of events is passed on as it comes. */
const COMPRESSED_TYPES = /^text\/plain;|^application\/(?:(?:problem\+)?json|openmetrics-text)(?:;|$)/

export interface HttpServer {
  readonly host: string
  /** The port that is bound. */
  readonly port: number
  /** For people on this machine. */
  readonly url: string
  /** Takes no more requests, ends streams, and resolves when what is under way has been answered. Idempotent. */
  drain(): Promise<void>
  /** Closes what is still open. */
  destroy(): void
}

/** Binds `server.port` and serves the routes. Throws ListenFailed. */
export async function serveHttp(
  rooms: HttpRooms,
  routes: readonly AnyRoute[],
  limits: HttpLimits = HTTP_LIMITS,
): Promise<HttpServer> {
  const { settings } = rooms
  const ending = new AbortController()
  const places = new Places(limits, rooms, trusting(settings))
  const app = await buildServer(rooms, routes, limits, places, ending.signal)
  const connections = watchConnections(app.server, places)
  const host = settings.get('server.address') ?? '0.0.0.0'
  const port = settings.get('server.port')
  try {
    await app.listen({ host, port })
  } catch (error) {
    await app.close()
    throw listenFailed(error as NodeJS.ErrnoException, {
      whom: 'HTTP clients',
      host,
      port,
      key: field => fullKey(field === 'port' ? 'server.port' : 'server.address'),
      origin: field => settings.origin(field === 'port' ? 'server.port' : 'server.address'),
    })
  }
  const { port: bound } = app.server.address() as AddressInfo
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return {
    host,
    port: bound,
    url: `http://${name}:${bound}`,
    drain() {
      ending.abort()
      connections.drain()
      return app.close()
    },
    destroy() {
      places.close()
      app.server.closeAllConnections()
    },
  }
}

/** What is known of a request once it has been let in or refused. */
interface Passage {
  /** As it came: a connection that was closed meanwhile has no address any more. */
  readonly caller: Caller
  identity: Identity | null
  /** The problem's code, where it was answered with one. */
  code: string | null
}

async function buildServer(
  rooms: HttpRooms,
  routes: readonly AnyRoute[],
  limits: HttpLimits,
  places: Places,
  ending: AbortSignal,
): Promise<FastifyInstance> {
  const { accounts, clock, random, settings } = rooms
  const logger = rooms.logger.named('http')
  const auditLogger = openAuditLog(logger)
  const access = { accounts, clock, isScrapeOpen: settings.get('admin.anonymous-prometheus') }
  const newRequestId = () => Buffer.from(random.bytes(12)).toString('base64url')
  const passages = new WeakMap<FastifyRequest, Passage>()
  const app = fastify({
    logger: false,
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.requestTimeoutMs,
    connectionTimeout: limits.stallMs,
    http: {
      headersTimeout: limits.headersTimeoutMs,
      maxHeaderSize: limits.maxHeaderBytes,
      connectionsCheckingInterval: limits.checkIntervalMs,
      // Node would refuse in a shape of its own; the hook below refuses instead.
      requireHostHeader: false,
    },
    // An empty list trusts nobody: the headers by which proxies pass clients on are not looked at.
    trustProxy: [...settings.get('admin.trusted-proxies')],
    genReqId: newRequestId,
    requestIdHeader: false,
    forceCloseConnections: 'idle',
    // It would answer in a shape of its own; the hook below refuses instead.
    return503OnClosing: false,
    routerOptions: {
      caseSensitive: true,
      ignoreTrailingSlash: false,
      ignoreDuplicateSlashes: false,
      // How long a name may be its route says; fastify's own 100 letters are fewer than a topic has.
      maxParamLength: limits.maxHeaderBytes,
    },
    exposeHeadRoutes: false,
    // Said here, because fastify would load compilers of JSON Schema before it is told otherwise: 30 ms of the start.
    schemaController: {
      // The types know of no others than those.
      compilersFactory: { buildValidator: () => validator, buildSerializer: () => serializerCompiler } as object,
    },
    frameworkErrors: (error, request, answer) => {
      void send(request, answer.headers(securityHeaders(request)), problemOf(error, request))
    },
    clientErrorHandler: (error, socket) =>
      refuseConnection(error, socket, { clock, requestId: newRequestId(), headers: SECURITY_HEADERS }),
  })
  app.server.maxConnections = limits.maxConnections + limits.maxNew
  // Node would answer 417 in a shape of its own; what is not known may be passed over (RFC 9110, 10.1.1).
  app.server.on('checkExpectation', (request, answer) => app.server.emit('request', request, answer))
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, bytes: Buffer, done) => {
    if (bytes.length === 0) return done(null, undefined)
    const read = readJson(bytes)
    if ('refused' in read) return done(Object.assign(new Error(read.refused), { statusCode: 400 }))
    done(null, read.value)
  })
  await app.register(cookie)
  await app.register(compress, {
    encodings: ['br', 'gzip'],
    threshold: COMPRESS_FROM_BYTES,
    syncThreshold: COMPRESS_HERE_BYTES,
    customTypes: COMPRESSED_TYPES,
    globalDecompression: false,
    zlibOptions: DEFLATE,
  })

  app.addHook('onRequest', async (request, answer) => {
    // What else came with the request for which the connection was cut: nobody would read an answer.
    if (request.raw.socket.destroyed) return answer.hijack()
    passages.set(request, { caller: callerOf(request, answer), identity: null, code: null })
    answer.headers(securityHeaders(request))
    const refused = checkRequest(request) ?? (request.is404 ? missing(request) : null)
    if (refused !== null) return send(request, answer, refused)
  })
  // Milliseconds each where the answer is large: what it is made of, the text, the compressed text.
  app.addHook('preSerialization', async (_request, _answer, payload) => {
    await afterOthers(clock)
    return payload
  })
  app.addHook('onSend', async (_request, answer, payload) => {
    if (ending.aborted) answer.header('connection', 'close')
    await afterOthers(clock)
    return payload
  })
  app.setErrorHandler((error: FastifyError, request, answer) => send(request, answer, problemOf(error, request)))
  app.setNotFoundHandler((request, answer) => send(request, answer, missing(request)))

  function checkRequest({ raw, headers }: FastifyRequest): Problem | null {
    if (ending.aborted) return problem('SHUTTING_DOWN')
    // Names and values alternate. Node itself would drop, without a word, what is beyond its own count.
    if (raw.rawHeaders.length / 2 > limits.maxHeaders)
      return problem('HEADERS_TOO_LARGE', `A request takes ${limits.maxHeaders} headers at most.`)
    const hosts = raw.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length
    if (hosts !== 1 && raw.httpVersion === '1.1') return problem('INVALID_REQUEST', 'A request has one Host header.')
    // Other upgrades, such as the h2c that clients in Java offer, may be ignored (RFC 9110, 7.8); this one waits for its handshake.
    if (/\bwebsocket\b/i.test(headers.upgrade ?? '')) return problem('INVALID_REQUEST', 'No path takes a WebSocket.')
    return null
  }

  function missing({ url, method }: FastifyRequest): Problem {
    const path = url.split('?', 1)[0]!
    const allowed = METHODS.filter(each => {
      const found = each === method ? null : app.findRoute({ method: each, url: path })
      return found !== null && hasParams(found.params)
    })
    if (allowed.length === 0) return problem('NOT_FOUND', 'There is nothing at this path.')
    return problem('METHOD_NOT_ALLOWED', `This path takes ${allowed.join(', ')}.`, {
      headers: { allow: allowed.join(', ') },
    })
  }

  function problemOf(error: FastifyError, request: FastifyRequest): Problem {
    if (hasZodFastifySchemaValidationErrors(error)) {
      const fields = fieldsOf(error)
      const detail = Object.entries(fields).map(([field, why]) => `${field}: ${why}`)
      return problem('INVALID_REQUEST', detail.join('; '), { fields })
    }
    if (error instanceof UnreadableDocument) return problem('UNREADABLE', error.message)
    if (isStoreFailure(error)) {
      logger.limited('store', 5_000).warn('an HTTP request could not be answered', { url: request.url, error })
      return error instanceof StoreContended ? problem('BUSY', `${error.message}.`) : problem('STORE_UNAVAILABLE')
    }
    if (error instanceof PeerUnavailable) {
      logger.limited('peer', 5_000).warn('an HTTP request could not be answered', { url: request.url, error })
      return problem('BROKER_UNAVAILABLE', `${error.message}.`)
    }
    const limitBytes = request.routeOptions.bodyLimit
    if (error.statusCode === 413) return problem('PAYLOAD_TOO_LARGE', `A body takes ${limitBytes} bytes at most.`)
    if (error.statusCode === 415) return problem('UNSUPPORTED_MEDIA_TYPE', 'The Content-Type must be application/json.')
    if (error.statusCode !== undefined && error.statusCode < 500) return problem('INVALID_REQUEST', error.message)
    const what = isResponseSerializationError(error) ? 'an answer is not as documented' : 'an HTTP request failed'
    logger.error(what, { method: request.method, url: request.url, requestId: request.id, error })
    return problem('INTERNAL_ERROR', 'The log of the broker has the reason under this request id.')
  }

  function send(request: FastifyRequest, answer: FastifyReply, what: Problem): FastifyReply {
    const passage = passages.get(request)
    if (passage !== undefined) passage.code = what.code
    // What is left of a body that is too large is read and thrown away, or the client may never see the answer.
    if (what.status === 413) answer.removeHeader('connection')
    return answer
      .code(what.status)
      .headers({ ...what.headers, 'content-type': PROBLEM_TYPE })
      .serializer((body: unknown) => JSON.stringify(body))
      .send(bodyOf(what, request.id))
  }

  function hasPlace({ isProbe }: AnyRoute, { raw }: FastifyRequest): boolean {
    return isProbe === true || !places.isBeyond(raw.socket)
  }

  /** A stream outlives the request that was let in: it ends when the session does, and when nobody can tell whether it has. */
  function recheck(route: AnyRoute, caller: Caller, barred: AbortController, ended: AbortSignal): void {
    let timer: Timer | null = null
    const look = () =>
      admit(route, caller, access).then(
        found => (isProblem(found) ? barred.abort() : lookLater()),
        error => {
          logger.limited('recheck', 5_000).warn('a stream ends: whose it is cannot be told', { error })
          barred.abort()
        },
      )
    const lookLater = () => {
      if (!ended.aborted) timer = clock.timer(limits.recheckMs, () => void look())
    }
    ended.addEventListener('abort', () => timer?.cancel(), { once: true })
    lookLater()
  }

  /** As lines may end at any time, what goes wrong in between can only be logged, and cuts the connection. */
  async function* flow({ chunks }: Streaming, request: FastifyRequest, answer: FastifyReply, ended: AbortSignal) {
    // Whoever listens learns that the stream is there before it has its first chunk.
    answer.raw.flushHeaders()
    try {
      yield* chunks
    } catch (error) {
      if (ended.aborted) throw error
      logger.error('a stream ended early', { url: request.url, requestId: request.id, error })
      throw error
    }
  }

  for (const route of routes) {
    app.route({
      method: route.method,
      url: route.path,
      schema: shapesOf(route),
      ...(route.bodyLimit === undefined ? {} : { bodyLimit: route.bodyLimit }),
      // The plugin takes bytes that begin as zlib's or gzip's do for compressed already, sends them as they are, and says that it compressed them.
      ...(route.contentType === 'application/octet-stream' ? { compress: false as const } : {}),
      async onRequest(request, answer) {
        const passage = passages.get(request)!
        if (!hasParams(request.params)) return send(request, answer, missing(request))
        if (!hasPlace(route, request)) return send(request, answer, problem('BUSY'))
        const found = checkOrigin(route, passage.caller) ?? (await admit(route, passage.caller, access))
        if (isProblem(found)) return send(request, answer, found)
        passage.identity = found
      },
      // Once more when the body is there: that may take half a minute, within which the session may have ended.
      ...(isMutation(route)
        ? {
            async preHandler(request: FastifyRequest, answer: FastifyReply) {
              const passage = passages.get(request)!
              const found = await admit(route, passage.caller, access)
              if (isProblem(found)) return send(request, answer, found)
              passage.identity = found
            },
          }
        : {}),
      async handler(request, answer) {
        // Of a request with a body it is known only here that it is whole.
        if (!hasPlace(route, request)) return send(request, answer, problem('BUSY'))
        const { caller, identity } = passages.get(request)!
        const barred = new AbortController()
        const ended = AbortSignal.any([ending, caller.ended, barred.signal])
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
        if (outcome.kind === 'refusal') return send(request, answer, fromRefusal(outcome))
        if (outcome.kind === 'streaming') {
          for (const [name, value] of Object.entries(outcome.headers ?? {})) answer.header(name, value)
          answer.header('content-type', outcome.contentType)
          recheck(route, caller, barred, ended)
          const cut = outcome.isFile ? { signal: ended } : {}
          const chunks = flow(outcome, request, answer, ended)
          return answer.send(Readable.from(chunks, { objectMode: false, ...cut }))
        }
        if (!Object.hasOwn(route.answers, outcome.status))
          throw new Error(`${route.method} ${route.path} answers ${outcome.status}, which it does not document`)
        answer.code(outcome.status)
        for (const [name, value] of Object.entries(outcome.headers)) answer.header(name, value)
        return answer.send(outcome.body)
      },
      ...(isMutation(route)
        ? {
            // When an answer is sent, and not when it was: whoever hangs up has made the change all the same.
            async onSend(request: FastifyRequest, answer: FastifyReply, payload: unknown) {
              const { params, query, body, id } = request
              const { caller, identity, code } = passages.get(request)!
              const who = identity?.username ?? null
              audit(auditLogger, route, {
                who,
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
  await app.ready()
  return app
}

/** What is wrong with each field, by its name as the caller wrote it; what is wrong with a whole, by what it is of the request. */
function fieldsOf({ validation, validationContext: place }: FastifyError): Record<string, string> {
  const rows = validation!.flatMap(({ keyword, instancePath, message, params }) => {
    const path = instancePath.split('/').filter(part => part !== '')
    if (keyword === 'unrecognized_keys')
      return (params.keys as string[]).map(key => [[...path, key].join('.'), 'is not taken here'])
    const whole = place === 'querystring' ? 'query' : place!
    return [[path.join('.') || whole, message ?? 'is not as expected']]
  })
  return Object.fromEntries(rows)
}

/** Fastify's body of a request that has none is null; a shape that takes none is optional. */
const validator: typeof validatorCompiler = options => {
  const validate = validatorCompiler(options)
  return options.httpPart === 'body' ? data => validate(data ?? undefined) : validate
}

/** What fastify holds requests and good answers against. */
function shapesOf({ params, query, body, answers }: AnyRoute): FastifySchema {
  return {
    ...(params === undefined ? {} : { params }),
    ...(query === undefined ? {} : { querystring: strictly(query) }),
    ...(body === undefined ? {} : { body: strictly(body) }),
    response: Object.fromEntries(Object.entries(answers).map(([status, shape]) => [status, shape ?? z.undefined()])),
  }
}

/** For every answer; the console lives under the same policy. */
const SECURITY_HEADERS = Object.freeze({
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; " +
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
})

/** Browsers heed it under TLS only, and only there it is true (RFC 6797, 7.2). */
const TRANSPORT_SECURITY = Object.freeze({ 'strict-transport-security': 'max-age=31536000' })

function securityHeaders({ protocol }: FastifyRequest): Record<string, string> {
  return protocol === 'https' ? { ...SECURITY_HEADERS, ...TRANSPORT_SECURITY } : SECURITY_HEADERS
}

/** Whether an address is that of a trusted proxy, which brings many clients. */
function trusting(settings: HttpRooms['settings']): (address: string) => boolean {
  const proxies = new BlockList()
  for (const network of settings.get('admin.trusted-proxies')) {
    const [address, bits] = network.split('/') as [string, string?]
    const family = isIPv4(address) ? 'ipv4' : 'ipv6'
    if (bits === undefined) proxies.addAddress(address, family)
    else proxies.addSubnet(address, Number(bits), family)
  }
  return address => {
    const [bare] = address.split('%') as [string]
    return isIP(bare) > 0 && proxies.check(bare, isIPv4(bare) ? 'ipv4' : 'ipv6')
  }
}

/** Whether no part of the path that stands for a name is empty: `/topics/` is not the topic with the empty name. */
function hasParams(params: unknown): boolean {
  return Object.values(params as Record<string, string>).every(value => value !== '')
}

function callerOf(request: FastifyRequest, answer: FastifyReply): Caller {
  return {
    address: withoutPort(request.ip ?? ''),
    scheme: request.protocol === 'https' ? 'https' : 'http',
    host: request.host,
    ended: closedSignal(answer),
    cookies: request.cookies,
    header: name => {
      const value = request.headers[name]
      return Array.isArray(value) ? value.join(', ') : value
    },
  }
}

/** Some proxies write the port into X-Forwarded-For too: with it each connection would be another client. */
function withoutPort(address: string): string {
  return address.replace(/^\[(.+)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2')
}

/** Aborts when the connection went away before the answer was complete. */
function closedSignal(answer: FastifyReply): AbortSignal {
  const closed = new AbortController()
  answer.raw.once('close', () => closed.abort())
  return closed.signal
}
