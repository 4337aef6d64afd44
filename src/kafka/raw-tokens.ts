// Answers the tokens of clients that sent SaslHandshake 0 (KIP-43). Such a token is a frame without a Kafka header, and
// so is its answer. A client of that time understands no error here: the connection closes instead.

import type { Authentication } from './authentication.ts'
import type { Session } from './connection/session.ts'

/** Resolves with the answer behind its size; null if the connection must close without an answer. Never rejects. */
export async function answerToken(
  token: Buffer,
  session: Session,
  authentication: Authentication,
): Promise<Buffer | null> {
  const answer = await authentication.take(session, token)
  if (answer.kind !== 'token') return null
  const framed = Buffer.alloc(4 + answer.token.byteLength)
  framed.writeInt32BE(answer.token.byteLength)
  framed.set(answer.token, 4)
  return framed
}
