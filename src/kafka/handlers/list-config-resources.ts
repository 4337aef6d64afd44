// ListConfigResources 0-1 (KIP-1142): lists the topics and brokers that have configs. Groups and client metrics have
// no configs.
//
// Version 0 is KIP-714's ListClientMetricsResources and always answers an empty list. In version 1 an empty list of
// types asks for all types. An unknown type is refused with UNSUPPORTED_VERSION, as in Kafka.

import { listConfigResources as list } from '../../admin/configs.ts'
import type { ConfigResourceType } from '../../admin/contract.ts'
import { NONE, UNSUPPORTED_VERSION } from '../../protocol/errors.ts'
import { listConfigResources } from '../../protocol/messages/list-config-resources.ts'
import { RESOURCE_TYPES, resourceTypeOf } from '../configs.ts'
import { handler } from '../handler.ts'
import { onCluster } from '../needs.ts'

const ALL = Object.keys(RESOURCE_TYPES) as ConfigResourceType[]

export const listConfigResourcesHandler = handler(listConfigResources, rooms => ({
  needs: () => [onCluster('DESCRIBE_CONFIGS')],
  answer({ body, apiVersion }) {
    const asked = body.resourceTypes.map(resourceTypeOf)
    if (asked.includes(null)) return { errorCode: UNSUPPORTED_VERSION.code, configResources: [] }
    const all = apiVersion === 0 ? (['client-metrics'] as const) : ALL
    const types = new Set(asked.length === 0 ? all : (asked as ConfigResourceType[]))
    const configResources = list(rooms, types).map(({ type, name }) => ({
      resourceName: name,
      resourceType: RESOURCE_TYPES[type],
    }))
    return { errorCode: NONE, configResources }
  },
  refused: (_, refusal) => ({ errorCode: refusal.code, configResources: [] }),
}))
