// SaslAuthenticate: carries one token of a SASL exchange (KIP-152). 1+: the answer has the lifetime of the session
// (KIP-368).

import { api, bytes, int16, int64, nullable, string } from '../schema.ts'

export const saslAuthenticate = api({
  key: 36,
  name: 'SaslAuthenticate',
  versions: '0-2',
  flexible: '2+',
  request: {
    authBytes: bytes(),
  },
  response: {
    errorCode: int16(),
    errorMessage: nullable(string('0+', null)),
    authBytes: bytes(),
    sessionLifetimeMs: int64('1+', 0),
  },
})
