// An HTTP port: one listener, and the faces on it. This file does what is the same for every face: it checks a
// request as HTTP, adds the security headers, compresses answers, sends an error in the form of the face that owns
// the path, and drains. Sockets are in listener.ts, the routes of a face in mount.ts.

import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import compress from '@fastify/compress'
import cookie from '@fastify/cookie'
import { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { serializerCompiler } from 'fastify-type-provider-zod'
import { openAuditLog } from '../admin/loggers.ts'
import { assert } from '../base/assert.ts'
import { afterOthers } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { listenFailed } from '../settings/listen-failed.ts'
import { fullKey } from '../settings/settings.ts'
import type { ServerCertificate } from '../tls/server-certificate.ts'
import { callerOf, trusting } from './caller.ts'
import { refuseConnection } from './client-error.ts'
import { checkFaces, type Face, faceAt } from './faces/face.ts'
import { problemOf } from './failures.ts'
import { createListener, HTTP_LIMITS, type HttpLimits, type HttpListener } from './listener.ts'
import { hasParams, type Mounting, mountFace, type Passage } from './mount.ts'
import { Places } from './places.ts'
import { asPageOrProblem } from './plain-pages.ts'
import { type Problem, problem } from './problems.ts'
import { type HttpRooms, METHODS, methodsOf } from './route.ts'
import { SECURITY_HEADERS, securityHeaders } from './security-headers.ts'
import { validator } from './validation.ts'

/**
 * Shorter answers are not compressed, because they are not worth it. Answers longer than the second size are
 * compressed off the event loop.
 */
const COMPRESS_FROM_BYTES = 1024
const COMPRESS_HERE_BYTES = 32 * 1024
/** Of the id of a request: no client can guess it. */
const ID_BYTES = 12
const IDS_AT_ONCE = 64
/**
 * With its defaults zlib allocates 268 KB for each answer. A smaller window is enough, because similar rows are close
 * together.
 */
const DEFLATE = Object.freeze({ level: 4, windowBits: 13, memLevel: 6 })
/** The types that are compressed. A stream of events is not, so that it is sent on without a delay. */
const COMPRESSED_TYPES = /^text\/plain;|^application\/(?:(?:[\w.-]+\+)?json|openmetrics-text)(?:;|$)/

export interface HttpServer {
  readonly host: string
  /** The port that is bound. */
  readonly port: number
  /** The address of the server, for people on this machine. */
  readonly url: string
  /** Accepts no more requests, ends streams, and resolves when the requests in progress are answered. Idempotent. */
  drain(): Promise<void>
  /** Closes all connections that are still open. */
  destroy(): void
}

export interface HttpServerOptions {
  readonly limits?: HttpLimits
  /** The certificate for TLS; null without TLS. The caller closes it. */
  readonly certificate?: ServerCertificate | null
  /** The setting that gives the port. Every HTTP port is bound to `server.address`. */
  readonly portKey?: 'server.port' | 'schema-registry.port'
}

/** Returns a function that draws the id of a request. It asks for the bytes of many ids at once, which is cheaper. */
function requestIds(random: Random): () => string {
  let drawn: Buffer = Buffer.alloc(0)
  return () => {
    if (drawn.length === 0) drawn = random.bytes(ID_BYTES * IDS_AT_ONCE)
    const id = drawn.toString('base64url', 0, ID_BYTES)
    drawn = drawn.subarray(ID_BYTES)
    return id
  }
}

/** Binds a port and serves the faces there. Throws ListenFailed. */
export async function serveHttp(
  rooms: HttpRooms,
  faces: readonly Face[],
  { limits = HTTP_LIMITS, certificate = null, portKey = 'server.port' }: HttpServerOptions = {},
): Promise<HttpServer> {
  checkFaces(faces)
  const { settings, clock } = rooms
  const ending = new AbortController()
  const places = new Places(limits, rooms, trusting(settings.get('admin.trusted-proxies')))
  const newRequestId = requestIds(rooms.random)
  const listener = createListener({
    limits,
    places,
    certificate,
    refuse: (error, socket) =>
      refuseConnection(error, socket, { clock, requestId: newRequestId(), headers: SECURITY_HEADERS }),
  })
  const { app, handler } = await buildApp({
    rooms,
    faces,
    limits,
    places,
    listener,
    newRequestId,
    ending: ending.signal,
  })
  const host = settings.get('server.address') ?? '0.0.0.0'
  const port = settings.get(portKey)
  assert(port !== null, `${fullKey(portKey)} is set`)
  try {
    await app.listen({ host, port })
    await listener.bindTwins(host, app.server, handler)
  } catch (error) {
    places.close()
    await app.close()
    throw listenFailed(error as NodeJS.ErrnoException, {
      whom: portKey === 'server.port' ? 'HTTP clients' : 'clients of the schema registry',
      host,
      port,
      key: field => fullKey(field === 'port' ? portKey : 'server.address'),
      origin: field => settings.origin(field === 'port' ? portKey : 'server.address'),
    })
  }
  const { port: bound } = app.server.address() as AddressInfo
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return {
    host,
    port: bound,
    url: `${listener.scheme}://${name}:${bound}`,
    drain() {
      ending.abort()
      listener.drain()
      return app.close()
    },
    destroy() {
      places.close()
      listener.destroy()
    },
  }
}

interface AppRooms extends Pick<Mounting, 'rooms' | 'limits' | 'places' | 'ending'> {
  readonly faces: readonly Face[]
  readonly listener: HttpListener
  newRequestId(): string
}

/** Returns the server with its faces, which is not bound yet, and the function that handles its requests. */
async function buildApp({ rooms, faces, limits, places, listener, newRequestId, ending }: AppRooms) {
  const { clock, settings } = rooms
  const logger = rooms.logger.named('http')
  const passages = new WeakMap<FastifyRequest, Passage>()
  const literals = literalsOf(faces)
  let handler: RequestListener | null = null
  const app = fastify({
    serverFactory(given) {
      handler = given
      return listener.serve(given)
    },
    logger: false,
    bodyLimit: limits.bodyBytes,
    rewriteUrl: ({ url = '/' }) => faceAt(faces, url)?.spell?.(url) ?? url,
    // An empty list trusts no proxy: the headers that proxies add are ignored.
    trustProxy: [...settings.get('admin.trusted-proxies')],
    genReqId: newRequestId,
    requestIdHeader: false,
    forceCloseConnections: 'idle',
    // fastify would answer in its own form; the hook below refuses instead.
    return503OnClosing: false,
    routerOptions: {
      caseSensitive: true,
      ignoreTrailingSlash: false,
      ignoreDuplicateSlashes: false,
      // The route limits the length of a name; fastify's own 100 letters are fewer than a topic has.
      maxParamLength: limits.maxHeaderBytes,
    },
    exposeHeadRoutes: false,
    // Set here, because fastify would otherwise load compilers of JSON Schema: 30 ms of the start.
    schemaController: {
      // The types of fastify know only these two.
      compilersFactory: { buildValidator: () => validator, buildSerializer: () => serializerCompiler } as object,
    },
    frameworkErrors: (error, request, answer) => {
      void send(request, answer.headers(headersOf(request)), failure(error, request))
    },
    // The listener refuses by itself.
    clientErrorHandler: () => {},
  })
  app.removeAllContentTypeParsers()
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
    // These are further bytes of a connection that was cut: no client would read an answer.
    if (request.raw.socket.destroyed) return answer.hijack()
    passages.set(request, { caller: callerOf(request, answer), identity: null, code: null })
    answer.headers(headersOf(request))
    const isMissing = request.is404 || !(literalMethods(request)?.includes(request.method) ?? true)
    const refused = checkRequest(request) ?? (isMissing ? missing(request) : null)
    if (refused !== null) return send(request, answer, refused)
  })
  // Let other work go first: for a large answer, reading its content, writing it as text and compressing it take
  // milliseconds each.
  app.addHook('preSerialization', async ({ routeOptions }, _answer, payload) => {
    if (routeOptions.config.face?.isPrompt !== true) await afterOthers(clock)
    return payload
  })
  app.addHook('onSend', async (_request, answer, payload) => {
    if (ending.aborted) answer.header('connection', 'close')
    const isShort = typeof payload === 'string' && payload.length < COMPRESS_FROM_BYTES
    if (!isShort) await afterOthers(clock)
    return payload
  })
  app.setErrorHandler((error: FastifyError, request, answer) => send(request, answer, failure(error, request)))
  app.setNotFoundHandler((request, answer) => send(request, answer, missing(request)))

  function checkRequest({ raw, headers }: FastifyRequest): Problem | null {
    if (ending.aborted) return problem('SHUTTING_DOWN')
    // In rawHeaders names and values alternate. Node itself would silently drop the headers beyond its own limit.
    if (raw.rawHeaders.length / 2 > limits.maxHeaders)
      return problem('HEADERS_TOO_LARGE', `A request takes ${limits.maxHeaders} headers at most.`)
    const hosts = raw.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length
    // HTTP/1.0 knows no Host header. Two of them are two meanings in every version.
    if (hosts > 1 || (hosts === 0 && raw.httpVersion === '1.1'))
      return problem('INVALID_REQUEST', 'A request has one Host header.')
    // Other upgrades, such as the h2c that clients in Java offer, may be ignored (RFC 9110, 7.8). A WebSocket client
    // would wait for its handshake.
    if (/\bwebsocket\b/i.test(headers.upgrade ?? ''))
      return problem('INVALID_REQUEST', 'This server has no WebSockets.')
    return null
  }

  /** Returns the methods of a path without parameters; it is no value of the parameter of another path. */
  function literalMethods({ url }: FastifyRequest): readonly string[] | undefined {
    return literals.get(url.split('?', 1)[0]!)
  }

  function missing(request: FastifyRequest): Problem {
    const { url, method } = request
    const path = url.split('?', 1)[0]!
    const allowed =
      literalMethods(request) ??
      [...METHODS, 'HEAD' as const].filter(each => {
        const found = each === method ? null : app.findRoute({ method: each, url: path })
        return found !== null && hasParams(found.params)
      })
    if (allowed.length === 0) return problem('NOT_FOUND', 'This path does not exist.')
    return problem('METHOD_NOT_ALLOWED', `This path takes ${allowed.join(', ')}.`, {
      headers: { allow: allowed.join(', ') },
    })
  }

  /** Returns the face of the route, or else of the path; undefined if no face owns it. */
  function faceOf(request: FastifyRequest): Face | undefined {
    return request.routeOptions?.config?.face ?? faceAt(faces, request.url)
  }

  function headersOf(request: FastifyRequest): Readonly<Record<string, string>> {
    return { ...securityHeaders(request.protocol, request.headers.host), ...faceOf(request)?.headers }
  }

  function failure(error: FastifyError, request: FastifyRequest): Problem {
    return problemOf(error, request, faceOf(request), logger)
  }

  function send(request: FastifyRequest, answer: FastifyReply, what: Problem): FastifyReply {
    const passage = passages.get(request)
    if (passage !== undefined) passage.code = what.code
    // The rest of a body that is too large must be read and dropped, or the client may never see the answer.
    if (what.status === 413) answer.removeHeader('connection')
    // No face owns a mistyped address, and a person may have typed it.
    const errorOf = faceOf(request)?.errorOf ?? asPageOrProblem
    const { contentType, body } = errorOf(what, request.id, request.headers.accept)
    return answer
      .code(what.status)
      .headers({ ...what.headers, 'content-type': contentType })
      .serializer((value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value)))
      .send(body)
  }

  const mounting: Mounting = {
    rooms,
    limits,
    places,
    logger,
    auditLogger: openAuditLog(logger),
    ending,
    passageOf: request => passages.get(request)!,
    send,
    missing,
  }
  for (const face of faces)
    await app.register(async (scope: FastifyInstance) => {
      mountFace(scope, face, mounting)
    })
  await app.ready()
  return { app, handler: handler! as RequestListener }
}

/** Returns the methods of each path that has no parameters. */
function literalsOf(faces: readonly Face[]): ReadonlyMap<string, readonly string[]> {
  const literals = new Map<string, string[]>()
  for (const route of faces.flatMap(({ routes }) => routes)) {
    const { path } = route
    if (!/[:*]/.test(path)) literals.set(path, [...(literals.get(path) ?? []), ...methodsOf(route)])
  }
  return literals
}
