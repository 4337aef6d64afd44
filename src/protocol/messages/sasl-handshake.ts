// SaslHandshake: chooses the SASL mechanism of a connection (KIP-43). After version 0 the tokens follow without Kafka
// headers, after version 1 in SaslAuthenticate requests (KIP-152). No version is flexible, so that the header of the
// first request of any client can be read.

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
