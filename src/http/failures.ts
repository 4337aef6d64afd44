// The problem for an error that was thrown while a request was read or answered. Failures of the store, of another
// broker, and defects of the broker write a log line; the client sees no internals.

import type { FastifyError, FastifyRequest } from 'fastify'
import { isResponseSerializationError } from 'fastify-type-provider-zod'
import { PeerUnavailable } from '../cluster/peers.ts'
import { isStoreFailure, StoreContended, UnreadableDocument } from '../store/store.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Face } from './faces/face.ts'
import { type Problem, problem } from './problems.ts'
import { InvalidFields } from './validation.ts'

const LOG_EVERY_MS = 5_000

/** Thrown for a body that its face refuses. The message is a sentence for the client. */
export class UnreadableBody extends Error {
  override readonly name = 'UnreadableBody'
  readonly statusCode = 400
}

/** Fastify's own refusals, in Ketch's words. */
const SENTENCES: Readonly<Record<string, string>> = {
  FST_ERR_BAD_URL: 'The path has a % that does not begin an escape of UTF-8.',
}

/** Returns the problem for an error. `face` is that of the request, if one owns its path. */
export function problemOf(
  error: FastifyError,
  request: FastifyRequest,
  face: Face | undefined,
  logger: Logger,
): Problem {
  if (error instanceof InvalidFields)
    return face?.misfit?.(error) ?? problem('INVALID_REQUEST', error.message, { fields: error.fields })
  if (error instanceof UnreadableDocument) return problem('UNREADABLE', error.message)
  if (isStoreFailure(error)) {
    logger.limited('store', LOG_EVERY_MS).warn('an HTTP request could not be answered', { url: request.url, error })
    return error instanceof StoreContended ? problem('BUSY', `${error.message}.`) : problem('STORE_UNAVAILABLE')
  }
  if (error instanceof PeerUnavailable) {
    logger.limited('peer', LOG_EVERY_MS).warn('an HTTP request could not be answered', { url: request.url, error })
    return problem('BROKER_UNAVAILABLE', `${error.message}.`)
  }
  const limitBytes = request.routeOptions.bodyLimit
  if (error.statusCode === 413) return problem('PAYLOAD_TOO_LARGE', `A body takes ${limitBytes} bytes at most.`)
  if (error.statusCode === 415)
    return problem('UNSUPPORTED_MEDIA_TYPE', `The Content-Type must be ${Object.keys(face?.reads ?? {}).join(' or ')}.`)
  if (error.statusCode !== undefined && error.statusCode < 500)
    return problem(
      'INVALID_REQUEST',
      SENTENCES[error.code] ?? (error instanceof UnreadableBody ? error.message : undefined),
    )
  const what = isResponseSerializationError(error) ? 'an answer is not as documented' : 'an HTTP request failed'
  logger.error(what, { method: request.method, url: request.url, requestId: request.id, error })
  return problem('INTERNAL_ERROR', 'The log of the broker has the reason under this request id.')
}
