// Answers a connection whose bytes are not a valid request: not HTTP/1.1, too large a head, or too slow. Node's
// parser has given up by then, so this file writes the answer to the socket and ends the connection. The path is
// unknown, so no face answers.

import type { Duplex } from 'node:stream'
import type { Clock } from '../base/clock.ts'
import { bodyOf, PROBLEM_TYPE, type Problem, problem } from './problems.ts'

/**
 * The time in ms for the client to read the answer. Closing a socket with unread input resets the connection, and the
 * client may see the reset before the answer.
 */
const LINGER_MS = 1_000

/** Sends an answer, if none has been sent yet, and closes the connection. */
export function refuseConnection(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  { clock, requestId, headers }: { clock: Clock; requestId: string; headers: Readonly<Record<string, string>> },
): void {
  // The parser fails again at every byte that still comes.
  if (!socket.writable || socket.destroyed) return
  // An answer that has begun cannot be taken back.
  const { _httpMessage: answer } = socket as { _httpMessage?: { readonly headersSent: boolean } | null }
  if (error.code === 'ECONNRESET' || answer?.headersSent === true) return void socket.destroy()
  const what = problemOf(error)
  const body = JSON.stringify(bodyOf(what, requestId))
  const head = [
    `HTTP/1.1 ${what.status} ${REASON[what.status]}`,
    ...Object.entries({ ...headers, 'content-type': PROBLEM_TYPE }).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  clock.timer(LINGER_MS, () => socket.destroy())
}

const REASON: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
}

function problemOf({ code }: NodeJS.ErrnoException): Problem {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return problem('REQUEST_TIMEOUT')
  if (code === 'HPE_HEADER_OVERFLOW') return problem('HEADERS_TOO_LARGE')
  return problem('INVALID_REQUEST', 'This is not an HTTP/1.1 request.')
}
