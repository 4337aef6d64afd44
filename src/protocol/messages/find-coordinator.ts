// FindCoordinator: returns the broker that coordinates a group (keyType 0), a transactional id (1) or a share
// partition (2, 6+). 0-3: one key. 4+: many keys with an error each (KIP-699).

import { api, array, int8, int16, int32, nullable, string } from '../schema.ts'

export const findCoordinator = api({
  key: 10,
  name: 'FindCoordinator',
  versions: '0-6',
  flexible: '3+',
  request: {
    key: string('0-3'),
    keyType: int8('1+', 0),
    coordinatorKeys: array(string(), '4+'),
  },
  response: {
    throttleTimeMs: int32('1+'),
    errorCode: int16('0-3'),
    errorMessage: nullable(string('1-3')),
    nodeId: int32('0-3'),
    host: string('0-3'),
    port: int32('0-3'),
    coordinators: array(
      {
        key: string(),
        nodeId: int32(),
        host: string(),
        port: int32(),
        errorCode: int16(),
        errorMessage: nullable(string()),
      },
      '4+',
    ),
  },
})
