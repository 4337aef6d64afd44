// Maps resource types, config types and config sources to the numbers of the protocol
// (org.apache.kafka.common.config.ConfigResource.Type, DescribeConfigsResponse.ConfigSource and ConfigType). It also
// makes the answer rows of the two APIs that alter configs.

import type {
  ConfigChange,
  ConfigEdit,
  ConfigResource,
  ConfigResourceType,
  ConfigSource,
  ConfigType,
} from '../admin/contract.ts'
import { because, INVALID_REQUEST, isRefusal, NONE, type Refusal } from '../protocol/errors.ts'
import type { Audited } from './audit.ts'
import { type Need, type Operation, onCluster, onEach } from './needs.ts'
import type { Permissions } from './permissions.ts'

export const RESOURCE_TYPES: Readonly<Record<ConfigResourceType, number>> = Object.freeze({
  topic: 2,
  broker: 4,
  'broker-logger': 8,
  'client-metrics': 16,
  group: 32,
})

export const CONFIG_SOURCES: Readonly<Record<ConfigSource, number>> = Object.freeze({
  topic: 1,
  settings: 4,
  default: 5,
  logger: 6,
})

export const CONFIG_TYPES: Readonly<Record<ConfigType, number>> = Object.freeze({
  boolean: 1,
  string: 2,
  int: 3,
  long: 5,
  double: 6,
  list: 7,
  password: 9,
})

const byCode = new Map(Object.entries(RESOURCE_TYPES).map(([type, code]) => [code, type as ConfigResourceType]))

/** Returns the resource type for a number of the protocol; null if no resource type with configs has this number. */
export function resourceTypeOf(code: number): ConfigResourceType | null {
  return byCode.get(code) ?? null
}

/** The type and the name of a resource, as in requests and answers. */
export interface NamedResource {
  readonly resourceType: number
  readonly resourceName: string
}

/** Returns the resource; null if its type number is unknown. */
export function resourceOf({ resourceType, resourceName }: NamedResource): ConfigResource | null {
  const type = resourceTypeOf(resourceType)
  return type === null ? null : { type, name: resourceName }
}

/**
 * Returns the needs of a request about configs: one for each topic and each group, and one on the cluster if a row is
 * about another resource type.
 */
export function needsOfConfigs(operation: Operation, resources: readonly NamedResource[]): readonly Need[] {
  const namesOf = (type: ConfigResourceType) =>
    resources.filter(each => resourceTypeOf(each.resourceType) === type).map(each => each.resourceName)
  const others = resources.some(({ resourceType }) => !OWN_TYPES.has(resourceTypeOf(resourceType)))
  return [
    ...onEach(operation, 'TOPIC', namesOf('topic')),
    ...onEach(operation, 'GROUP', namesOf('group')),
    ...(others ? [onCluster(operation, 'row')] : []),
  ]
}

/** Returns the change of configs for the audit line: each resource with the names of its configs. */
export function auditOfConfigs(
  resources: readonly (NamedResource & { readonly configs: readonly { readonly name: string }[] })[],
): Audited {
  const what = resources.map(({ resourceType, resourceName, configs }) => ({
    [resourceTypeOf(resourceType) ?? String(resourceType)]: resourceName,
    configs: configs.map(({ name }) => name),
  }))
  return { verb: 'alter configs', what }
}

/** Config resource types that have permissions of their own. For all other types the permission is on the cluster. */
const OWN_TYPES: ReadonlySet<ConfigResourceType | null> = new Set(['topic', 'group'])

/** Returns the refusal of the row about this resource; null if the client is allowed to ask. */
export function configRefusal(permissions: Permissions, { type, name }: ConfigResource): Refusal | null {
  if (type === 'topic') return permissions.topic('name', name)
  return type === 'group' ? permissions.group(name) : permissions.cluster()
}

export function unknownResourceType(resourceType: number): Refusal {
  return because(INVALID_REQUEST, `Unknown resource type ${resourceType}`)
}

/** One resource of a request that alters configs. `edits` is a refusal if the broker cannot understand them. */
export interface Alteration extends NamedResource {
  readonly edits: readonly ConfigEdit[] | Refusal
}

/**
 * Returns the answer of an API that alters configs: one row for each resource, in the order of the request. `alter`
 * gets the changes that the client may make and the broker understands. It returns null or a refusal for each of them.
 */
export async function answerAlterations(
  permissions: Permissions,
  alterations: readonly Alteration[],
  isWhole: boolean,
  alter: (changes: readonly ConfigChange[]) => Promise<readonly (Refusal | null)[]>,
) {
  const refusals: (Refusal | null)[] = []
  const changes: ConfigChange[] = []
  for (const { edits, ...named } of alterations) {
    const resource = resourceOf(named)
    const denied = resource === null ? unknownResourceType(named.resourceType) : configRefusal(permissions, resource)
    if (resource === null || denied !== null) refusals.push(denied)
    else if (isRefusal(edits)) refusals.push(edits)
    else {
      refusals.push(null)
      changes.push({ resource, isWhole, edits })
    }
  }
  const outcomes = [...(await alter(changes))]
  const responses = alterations.map((each, at) => alteredRow(each, refusals[at] ?? outcomes.shift() ?? null))
  return { responses }
}

export function alteredRow({ resourceType, resourceName }: NamedResource, refusal: Refusal | null) {
  return { errorCode: refusal?.code ?? NONE, errorMessage: refusal?.message ?? null, resourceType, resourceName }
}
