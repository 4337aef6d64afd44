// SaslAuthenticate 0-2 (KIP-152, KIP-368): the client sends a token of the mechanism that it has chosen, and gets one
// back. The last answer says how long the session lasts.

import { NONE } from '../../protocol/errors.ts'
import { saslAuthenticate } from '../../protocol/messages/sasl-authenticate.ts'
import { CLOSE, handler } from '../handler.ts'
import { NO_NEEDS } from '../needs.ts'

const NO_TOKEN = Buffer.alloc(0)

export const saslAuthenticateHandler = handler(saslAuthenticate, ({ authentication }) => ({
  needs: () => NO_NEEDS,
  saslPart: 'authenticate',
  async answer({ connection, body }) {
    const answer = await authentication.take(connection, body.authBytes)
    if (answer.kind === 'close') return CLOSE
    if (answer.kind === 'token') {
      const { token, lifetimeMs } = answer
      return { errorCode: NONE, errorMessage: null, authBytes: token, sessionLifetimeMs: lifetimeMs }
    }
    const { refusal, closes } = answer
    const refused = { errorCode: refusal.code, errorMessage: refusal.message, authBytes: NO_TOKEN }
    return closes ? { ...refused, close: true } : refused
  },
  // The state of the client is unknown then. An error code would tell the Java client to give up.
  refused: () => CLOSE,
  // A mechanism takes what it needs at once. So a frame whose tags or token are large is not held while it decides.
  kept: () => ({ authBytes: NO_TOKEN }),
  patienceMs: () => authentication.timeoutMs,
}))
