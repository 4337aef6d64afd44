// DescribeUserScramCredentials: returns the kinds of SCRAM credentials that users have (KIP-554).

import { api, array, int8, int16, int32, nullable, string } from '../schema.ts'

export const describeUserScramCredentials = api({
  key: 50,
  name: 'DescribeUserScramCredentials',
  versions: '0',
  flexible: '0+',
  request: {
    users: nullable(array({ name: string() })),
  },
  response: {
    throttleTimeMs: int32('0+'),
    errorCode: int16(),
    errorMessage: nullable(string()),
    results: array({
      user: string(),
      errorCode: int16(),
      errorMessage: nullable(string()),
      credentialInfos: array({ mechanism: int8(), iterations: int32() }),
    }),
  },
})
