// SaslHandshake 0-1 (KIP-43, KIP-152, KIP-368): the client chooses a SASL mechanism and gets the list of those that the
// broker advertises.

import { NONE } from '../../protocol/errors.ts'
import { saslHandshake } from '../../protocol/messages/sasl-handshake.ts'
import { CLOSE, handler } from '../handler.ts'
import { NO_NEEDS } from '../needs.ts'

export const saslHandshakeHandler = handler(saslHandshake, ({ authentication }) => ({
  needs: () => NO_NEEDS,
  saslPart: 'handshake',
  async answer({ connection, body, apiVersion }) {
    const answer = await authentication.choose(connection, body.mechanism, apiVersion)
    const mechanisms = authentication.advertised
    if (answer.kind === 'chosen') return { errorCode: NONE, mechanisms }
    if (answer.kind === 'close') return CLOSE
    return { errorCode: answer.refusal.code, mechanisms, ...(answer.closes && { close: true }) }
  },
  // The state of the client is unknown then, so that no further step can be allowed.
  refused: () => CLOSE,
  patienceMs: () => authentication.timeoutMs,
}))
