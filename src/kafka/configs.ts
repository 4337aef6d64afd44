// The protocol's numbers for the kinds of resources with configs, the types of configs and the sources of their values
// (org.apache.kafka.common.config.ConfigResource.Type, DescribeConfigsResponse.ConfigSource and ConfigType), and the
// answer rows of both APIs that alter configs.

import type {
  ConfigChange,
  ConfigEdit,
  ConfigResource,
  ConfigResourceType,
  ConfigSource,
  ConfigType,
} from '../admin/contract.ts'
import { because, INVALID_REQUEST, isRefusal, NONE, type Refusal } from '../protocol/errors.ts'
import { type Need, type Operation, onCluster, onEach } from './needs.ts'

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

/** Null if the number stands for no kind of resource with configs. */
export function resourceTypeOf(code: number): ConfigResourceType | null {
  return byCode.get(code) ?? null
}

/** A resource as requests and answers name it. */
export interface NamedResource {
  readonly resourceType: number
  readonly resourceName: string
}

/** Null if the number stands for no type. */
export function resourceOf({ resourceType, resourceName }: NamedResource): ConfigResource | null {
  const type = resourceTypeOf(resourceType)
  return type === null ? null : { type, name: resourceName }
}

/** A topic or a group for the rows about it, and the cluster for the rows about anything else. */
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

/** Types that are separate resources in permissions. */
const OWN_TYPES: ReadonlySet<ConfigResourceType | null> = new Set(['topic', 'group'])

export function unknownResourceType(resourceType: number): Refusal {
  return because(INVALID_REQUEST, `Unknown resource type ${resourceType}`)
}

/** One resource of a request that alters configs: its edits, or why the request cannot be understood. */
export interface Alteration extends NamedResource {
  readonly edits: readonly ConfigEdit[] | Refusal
}

/**
 * The answer of an API that alters configs, one row for each resource in order. `alter` gets the changes that can be
 * understood and answers each with null or a refusal.
 */
export async function answerAlterations(
  alterations: readonly Alteration[],
  isWhole: boolean,
  alter: (changes: readonly ConfigChange[]) => Promise<readonly (Refusal | null)[]>,
) {
  const refusals: (Refusal | null)[] = []
  const changes: ConfigChange[] = []
  for (const { edits, ...named } of alterations) {
    const resource = resourceOf(named)
    if (resource === null) refusals.push(unknownResourceType(named.resourceType))
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
