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
import { fullKey, type Key, keys } from '../settings/settings.ts'
import { unitOf } from '../settings/units.ts'
import { type ConfigRooms, describeConfigs } from './configs.ts'
import { howWritten } from './effective-settings.ts'

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
      return { name, value, isSet: source !== 'default', isSensitive, ...writtenAs(name), documentation }
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
    const isSet = configSource !== DEFAULT_CONFIG
    return { name, value, isSet, isSensitive, ...writtenAs(name), documentation: documentation ?? '' }
  })
}

const keyOf: ReadonlyMap<string, Key> = new Map(keys.map(key => [fullKey(key), key]))

/** Returns how a value is written; by its name alone if it is one of Kafka's names, or of another version. */
function writtenAs(name: string): Pick<BrokerConfig, 'unit' | 'choices'> {
  const key = keyOf.get(name)
  return key === undefined ? { unit: unitOf(name), choices: null } : howWritten(key)
}
