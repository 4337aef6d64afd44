// AlterUserScramCredentials: stores and deletes the SCRAM credentials of users (KIP-554). The salted password in a
// request is a secret.

import { api, array, bytes, int8, int16, int32, nullable, string } from '../schema.ts'

export const alterUserScramCredentials = api({
  key: 51,
  name: 'AlterUserScramCredentials',
  versions: '0',
  flexible: '0+',
  request: {
    deletions: array({ name: string(), mechanism: int8() }),
    upsertions: array({
      name: string(),
      mechanism: int8(),
      iterations: int32(),
      salt: bytes(),
      saltedPassword: bytes(),
    }),
  },
  response: {
    throttleTimeMs: int32('0+'),
    results: array({
      user: string(),
      errorCode: int16(),
      errorMessage: nullable(string()),
    }),
  },
})
