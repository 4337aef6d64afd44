// DeleteTopics: deletes topics, by name in versions 1-5, by name or id in versions 6+ (KIP-516).

import { api, array, int16, int32, nullable, string, uuid } from '../schema.ts'

export const deleteTopics = api({
  key: 20,
  name: 'DeleteTopics',
  versions: '1-6',
  flexible: '4+',
  request: {
    topics: array(
      {
        name: nullable(string('6+', null)),
        topicId: uuid(),
      },
      '6+',
    ),
    topicNames: array(string(), '1-5'),
    timeoutMs: int32(),
  },
  response: {
    throttleTimeMs: int32('0+'),
    responses: array({
      name: nullable(string(), '6+'),
      topicId: uuid('6+'),
      errorCode: int16(),
      errorMessage: nullable(string('5+', null)),
    }),
  },
})
