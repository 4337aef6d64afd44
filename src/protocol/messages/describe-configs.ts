// DescribeConfigs: returns the configs of topics, brokers, loggers, groups and client metrics, and the source of each
// value.

import { api, array, bool, int8, int16, int32, nullable, string } from '../schema.ts'

export const describeConfigs = api({
  key: 32,
  name: 'DescribeConfigs',
  versions: '1-4',
  flexible: '4+',
  request: {
    resources: array({
      resourceType: int8(),
      resourceName: string(),
      configurationKeys: nullable(array(string())),
    }),
    includeSynonyms: bool('1+', false),
    includeDocumentation: bool('3+', false),
  },
  response: {
    throttleTimeMs: int32('0+'),
    results: array({
      errorCode: int16(),
      errorMessage: nullable(string()),
      resourceType: int8(),
      resourceName: string(),
      configs: array({
        name: string(),
        value: nullable(string()),
        readOnly: bool(),
        configSource: int8('1+', -1),
        isSensitive: bool(),
        synonyms: array({ name: string(), value: nullable(string()), source: int8() }, '1+'),
        configType: int8('3+', 0),
        documentation: nullable(string('3+')),
      }),
    }),
  },
})
