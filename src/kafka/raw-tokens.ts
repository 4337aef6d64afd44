// Carries the tokens of clients that sent SaslHandshake 0 (KIP-43). Such a token is a frame without a Kafka header, and
// so is the token that answers it. A client of that time understands no error here: the connection closes instead.

import type { Authentication, TokenAnswer } from './authentication.ts'
import type { Session } from './connection/session.ts'
import type { Exchange, Outcome } from './dispatch.ts'

const REFUSED: Outcome = Object.freeze({ kind: 'close', reason: 'refused' })

/** Takes a token. `settled` is called once, later. */
export function receiveToken(
  token: Buffer,
  session: Session,
  authentication: Authentication,
  settled: (exchange: Exchange, outcome: Outcome) => void,
): Exchange {
  const exchange: Exchange = {
    outcome: null,
    frameBytes: token.byteLength,
    holdsReading: true,
    patienceMs: () => authentication.timeoutMs,
    expire: () => REFUSED,
  }
  authentication.take(session, token).then(answer => settled(exchange, outcomeOf(answer)))
  return exchange
}

function outcomeOf(answer: TokenAnswer): Outcome {
  if (answer.kind !== 'token') return REFUSED
  const size = Buffer.alloc(4)
  size.writeInt32BE(answer.token.byteLength)
  const parts = answer.token.byteLength === 0 ? [size] : [size, answer.token]
  const byteLength = size.byteLength + answer.token.byteLength
  return { kind: 'answer', parts, byteLength, throttleMs: 0, onSent: null, reason: null }
}
