// What any broker of the cluster is set to, as Kafka's DescribeConfigs says it: this one's from its settings, another's by asking.

import type { Cluster } from '../cluster/cluster.ts'
import {
  because,
  errorOf,
  isRefusal,
  NONE,
  RESOURCE_NOT_FOUND,
  type Refusal,
  UNKNOWN_SERVER_ERROR,
} from '../protocol/errors.ts'
import { describeConfigs as describeConfigsApi } from '../protocol/messages/describe-configs.ts'
import { type ConfigRooms, describeConfigs } from './configs.ts'
import type { Peers } from './peers.ts'

export interface BrokerConfig {
  readonly name: string
  /** Null where there is none, and always for secrets. */
  readonly value: string | null
  readonly isSet: boolean
  readonly isSensitive: boolean
  readonly documentation: string
}

const VERSION = 4
const BROKER = 4
/** ConfigEntry.ConfigSource of Kafka. */
const DEFAULT_CONFIG = 5

/** By name. RESOURCE_NOT_FOUND for a broker that does not live; throws PeerUnavailable. */
export async function describeBrokerConfigs(
  rooms: ConfigRooms & { readonly cluster: Pick<Cluster, 'brokers'>; readonly peers: Peers },
  brokerId: number,
): Promise<readonly BrokerConfig[] | Refusal> {
  if (!rooms.cluster.brokers().some(({ id }) => id === brokerId))
    return because(RESOURCE_NOT_FOUND, `No broker ${brokerId} lives.`)
  const name = String(brokerId)
  if (brokerId === rooms.nodeId) {
    const entries = describeConfigs(rooms, { type: 'broker', name })
    if (isRefusal(entries)) return entries
    return entries.map(({ name, value, source, isSensitive, documentation }) => {
      return { name, value, isSet: source !== 'default', isSensitive, documentation }
    })
  }
  const { results } = await rooms.peers.ask(brokerId, describeConfigsApi, VERSION, {
    resources: [{ resourceType: BROKER, resourceName: name, configurationKeys: null }],
    includeDocumentation: true,
  })
  const [result] = results
  if (result === undefined || result.errorCode !== NONE)
    return errorOf(result?.errorCode ?? UNKNOWN_SERVER_ERROR.code) ?? UNKNOWN_SERVER_ERROR
  return result.configs.map(({ name, value, configSource, isSensitive, documentation }) => {
    return { name, value, isSet: configSource !== DEFAULT_CONFIG, isSensitive, documentation: documentation ?? '' }
  })
}
