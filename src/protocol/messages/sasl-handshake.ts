// SaslHandshake: chooses the SASL mechanism (KIP-12, KIP-43). After version 0 the tokens are raw frames; after version
// 1 they are in SaslAuthenticate.

import { api, array, int16, string } from '../schema.ts'

export const saslHandshake = api({
  key: 17,
  name: 'SaslHandshake',
  versions: '0-1',
  request: {
    mechanism: string(),
  },
  response: {
    errorCode: int16(),
    mechanisms: array(string()),
  },
})
