// DescribeConfigs 1-4: returns all configs of topics, brokers and loggers, or those that the request names. The rules
// are in admin/configs.ts.
//
// A topic has every config that takes effect, and Kafka's names that have no effect here. Each value has its source:
// the topic itself (1), the settings with the topic patterns (4), or the default (5). A broker has its settings, and
// Kafka's names for some of them (admin/kafka-configs.ts). All of these are read-only, and secrets have no value. A
// broker resource without a name stands for configs that all brokers were given while they run, and has no configs.
// Groups and client metrics have no configs either.
//
// Versions: 1 has sources and synonyms (KIP-226). 3 has types and documentation (KIP-569).
//
// Unlike in Apache Kafka, a resource that is named more than once is refused in each of its rows, because a row costs
// much more than its name. An unknown resource type is refused only in its own row.

import { describeConfigs as describe } from '../../admin/configs.ts'
import type { ConfigEntry } from '../../admin/contract.ts'
import { because, INVALID_REQUEST, isRefusal, NONE, type Refusal } from '../../protocol/errors.ts'
import { describeConfigs } from '../../protocol/messages/describe-configs.ts'
import type { RequestOf, ResponseInput } from '../../protocol/schema.ts'
import {
  CONFIG_SOURCES,
  CONFIG_TYPES,
  configRefusal,
  type NamedResource,
  needsOfConfigs,
  resourceOf,
  unknownResourceType,
} from '../configs.ts'
import { handler } from '../handler.ts'

type Body = RequestOf<typeof describeConfigs>
type Row = ResponseInput<typeof describeConfigs>['results'][number]

const TWICE = because(INVALID_REQUEST, 'Each resource must appear at most once.')

export const describeConfigsHandler = handler(describeConfigs, rooms => ({
  needs: ({ body }) => needsOfConfigs('DESCRIBE_CONFIGS', body.resources),
  answer({ body, permissions }) {
    const counts = new Map<string, number>()
    for (const resource of body.resources) counts.set(keyOf(resource), (counts.get(keyOf(resource)) ?? 0) + 1)
    const results = body.resources.map(named => {
      if (counts.get(keyOf(named))! > 1) return refusedRow(named, TWICE)
      const resource = resourceOf(named)
      if (resource === null) return refusedRow(named, unknownResourceType(named.resourceType))
      const entries = configRefusal(permissions, resource) ?? describe(rooms, resource)
      return isRefusal(entries) ? refusedRow(named, entries) : rowOf(named, entries, body)
    })
    return { results }
  },
  refused: ({ body }, refusal) => ({
    results: body.resources.map(named => refusedRow(named, refusal)),
  }),
}))

function keyOf({ resourceType, resourceName }: NamedResource): string {
  return `${resourceType}:${resourceName}`
}

function refusedRow({ resourceType, resourceName }: NamedResource, { code, message }: Refusal): Row {
  return { errorCode: code, errorMessage: message, resourceType, resourceName, configs: [] }
}

function rowOf(
  { resourceType, resourceName, configurationKeys }: Body['resources'][number],
  entries: readonly ConfigEntry[],
  { includeSynonyms, includeDocumentation }: Body,
): Row {
  const wanted = configurationKeys === null || configurationKeys.length === 0 ? null : new Set(configurationKeys)
  const configs = entries
    .filter(({ name }) => wanted === null || wanted.has(name))
    .map(({ name, value, source, isReadOnly, isSensitive, type, synonyms, documentation }) => ({
      name,
      value,
      readOnly: isReadOnly,
      configSource: CONFIG_SOURCES[source],
      isSensitive,
      synonyms: includeSynonyms ? synonyms.map(each => ({ ...each, source: CONFIG_SOURCES[each.source] })) : [],
      configType: CONFIG_TYPES[type],
      documentation: includeDocumentation ? documentation : null,
    }))
  return { errorCode: NONE, errorMessage: null, resourceType, resourceName, configs }
}
