// ApiVersions 0-4 (KIP-35, KIP-511, KIP-584): returns the APIs and the versions that this broker serves.
//
// The list is the table of messages. It names versions of Produce that the broker refuses;
// protocol/messages/produce.ts says why. An unknown version is answered in version 0 with UNSUPPORTED_VERSION and
// only the entry of this API, so that the client can ask again. The broker does not read its body. From version 3 on,
// a request names the client's software, and the text must look like a name (KIP-511). In version 3 the answer leaves
// out features whose lowest version is 0, because clients of that version refuse them (KAFKA-17011).
//
// Unlike Apache Kafka it reports no metadata.version and no kraft.version, because there is no quorum that a tool
// could use.

import { INVALID_REQUEST, NONE, UNSUPPORTED_VERSION } from '../../protocol/errors.ts'
import { messages } from '../../protocol/messages/all.ts'
import { apiVersions } from '../../protocol/messages/api-versions.ts'
import { type Feature, features } from '../features.ts'
import { handler } from '../handler.ts'
import { NO_NEEDS } from '../needs.ts'

const SOFTWARE = /^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$/

/** The first version in which a feature may have 0 as its lowest version. */
const FIRST_WITH_ZERO = 4

const apiKeys = Object.freeze(
  messages
    .map(api => ({ apiKey: api.key, minVersion: api.advertised.min, maxVersion: api.advertised.max }))
    .sort((a, b) => a.apiKey - b.apiKey),
)

const own = apiKeys.filter(each => each.apiKey === apiVersions.key)

const served = features.filter(feature => feature.needs.every(key => messages.some(api => api.key === key)))

export const apiVersionsHandler = handler(apiVersions, () => ({
  needs: () => NO_NEEDS,
  saslPart: 'versions',
  answer({ apiVersion, body }) {
    const isNamed = SOFTWARE.test(body.clientSoftwareName) && SOFTWARE.test(body.clientSoftwareVersion)
    if (apiVersion >= 3 && !isNamed) return { errorCode: INVALID_REQUEST.code, apiKeys: [] }
    const shown = served.filter(feature => feature.min > 0 || apiVersion >= FIRST_WITH_ZERO)
    return {
      errorCode: NONE,
      apiKeys,
      supportedFeatures: shown.map(({ name, min, max }: Feature) => ({ name, minVersion: min, maxVersion: max })),
      finalizedFeaturesEpoch: 0,
      finalizedFeatures: served.map(({ name, level }: Feature) => ({
        name,
        maxVersionLevel: level,
        minVersionLevel: level,
      })),
    }
  },
  refused: (_request, refusal) => ({ errorCode: refusal.code, apiKeys: [] }),
  unsupported: () => ({ errorCode: UNSUPPORTED_VERSION.code, apiKeys: own }),
}))
