// Decides whether the cluster can give a topic to the remote tier: every living broker must know the tier, because
// each of them may lead a partition of the topic.

import type { Cluster } from '../cluster/cluster.ts'
import type { Topic } from '../log/catalogue.ts'
import { because, INVALID_CONFIG, type Refusal } from '../protocol/errors.ts'
import { matchPattern } from '../settings/patterns.ts'
import type { Settings } from '../settings/settings.ts'
import { resolveTopicConfigs } from '../settings/topic-configs.ts'

export interface RemoteTopicRooms {
  readonly settings: Settings
  readonly cluster: Pick<Cluster, 'brokers' | 'others'>
}

/** The feature of cluster/broker-record.ts that a broker with the remote tier has. */
const FEATURE = 'remote-tier'

/**
 * Returns the refusal of configs that would give the topic to the remote tier while a living broker does not know the
 * tier; null if all of them know it. `before` is the topic if it exists. The configs have passed checkTopicConfigs.
 */
export function checkTierBrokers(
  { settings, cluster }: RemoteTopicRooms,
  name: string,
  configs: Topic['configs'],
  before: Topic | null,
): Refusal | null {
  if (before?.resolved.remoteStorageEnable === true) return null
  if (!resolveTopicConfigs(configs, matchPattern(settings, name), settings).remoteStorageEnable) return null
  const old = [...cluster.brokers(), ...cluster.others()].find(({ features }) => !features.includes(FEATURE))
  if (old === undefined) return null
  const version = old.version === null ? 'a version' : `version ${old.version}`
  return because(
    INVALID_CONFIG,
    `remote.storage.enable: got true, but broker ${old.id} runs ${version} without the remote tier; upgrade it first`,
  )
}
