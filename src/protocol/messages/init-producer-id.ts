// InitProducerId: returns a producer id and epoch for an idempotent or transactional producer (KIP-98, KIP-360).
// Version 6 (two-phase commit, KIP-939) is not stable in Kafka 4.2 and therefore missing here.

import { api, int16, int32, int64, nullable, string } from '../schema.ts'

export const initProducerId = api({
  key: 22,
  name: 'InitProducerId',
  versions: '0-5',
  flexible: '2+',
  request: {
    transactionalId: nullable(string()),
    transactionTimeoutMs: int32(),
    producerId: int64('3+', -1),
    producerEpoch: int16('3+', -1),
  },
  response: {
    throttleTimeMs: int32('0+'),
    errorCode: int16(),
    producerId: int64('0+', -1),
    producerEpoch: int16(),
  },
})
