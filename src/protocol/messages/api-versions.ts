// ApiVersions: returns the APIs and versions that this broker serves, and its features (KIP-35, KIP-584). The
// response header is version 0 even if the body is flexible, so that any client can read it (KIP-511).

import { api, array, bool, int16, int32, int64, string, tagged } from '../schema.ts'

export const apiVersions = api({
  key: 18,
  name: 'ApiVersions',
  versions: '0-4',
  flexible: '3+',
  request: {
    clientSoftwareName: string('3+'),
    clientSoftwareVersion: string('3+'),
  },
  response: {
    errorCode: int16(),
    apiKeys: array({
      apiKey: int16(),
      minVersion: int16(),
      maxVersion: int16(),
    }),
    throttleTimeMs: int32('1+'),
    supportedFeatures: tagged(
      0,
      array(
        {
          name: string(),
          minVersion: int16(),
          maxVersion: int16(),
        },
        '3+',
      ),
    ),
    finalizedFeaturesEpoch: tagged(1, int64('3+', -1)),
    finalizedFeatures: tagged(
      2,
      array(
        {
          name: string(),
          maxVersionLevel: int16(),
          minVersionLevel: int16(),
        },
        '3+',
      ),
    ),
    zkMigrationReady: tagged(3, bool('3+', false)),
  },
})
