// Describes the configs of any broker of the cluster, as Kafka's DescribeConfigs does. This broker reads its own
// settings, and asks other brokers for theirs.

import type { BrokerConfig } from '../api/brokers.ts'
import type { Peers } from '../cluster/peers.ts'
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

const VERSION = 4
const BROKER = 4
/** The value of DEFAULT_CONFIG in Kafka's ConfigEntry.ConfigSource. */
const DEFAULT_CONFIG = 5

/**
 * Resolves to the configs sorted by name, or to RESOURCE_NOT_FOUND if the broker does not live. Throws
 * PeerUnavailable.
 */
export async function describeBrokerConfigs(
  rooms: ConfigRooms & { readonly peers: Peers },
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
