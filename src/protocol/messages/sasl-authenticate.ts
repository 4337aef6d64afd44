// SaslAuthenticate: carries one token of a SASL mechanism to the broker and one back (KIP-152), and says how long the
// session lasts (KIP-368).

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
    errorMessage: nullable(string()),
    authBytes: bytes(),
    sessionLifetimeMs: int64('1+'),
  },
})
