// Decides whether the cluster can give a topic to the remote tier: every living broker must know the tier, because
// each of them may lead a partition of the topic, and a former table of the topic must be gone.

import type { Cluster } from '../cluster/cluster.ts'
import type { ColdTier } from '../log/archive.ts'
import type { Topic } from '../log/catalogue.ts'
import { because, INVALID_CONFIG, type Refusal } from '../protocol/errors.ts'
import { matchPattern } from '../settings/patterns.ts'
import type { Settings } from '../settings/settings.ts'
import { resolveTopicConfigs } from '../settings/topic-configs.ts'

export interface RemoteTopicRooms {
  readonly settings: Settings
  readonly cluster: Pick<Cluster, 'brokers' | 'others'>
  /** The notices of the tables; null without a remote tier. */
  readonly remoteTier?: Pick<ColdTier, 'noticed'> | null | undefined
}

/** The feature of cluster/broker-record.ts that a broker with the remote tier has. */
const FEATURE = 'remote-tier'

/**
 * Returns the refusal of configs that would give the topic to the remote tier while a living broker does not know the
 * tier, or while the topic's former table is being dropped; null if neither is so. `before` is the topic if it exists.
 * The configs have passed checkTopicConfigs.
 */
export function checkRemoteTopic(
  { settings, cluster, remoteTier = null }: RemoteTopicRooms,
  name: string,
  configs: Topic['configs'],
  before: Topic | null,
): Refusal | null {
  if (before?.resolved.remoteStorageEnable === true) return null
  if (!resolveTopicConfigs(configs, matchPattern(settings, name), settings).remoteStorageEnable) return null
  if (before?.resolved.remoteLogDeleteOnDisable === true && (remoteTier?.noticed(before.id) ?? 0) > 0) {
    // A leader that never sees the topic without the tier would go on with what it knows of that table.
    return because(
      INVALID_CONFIG,
      'remote.storage.enable: got true, but the former table of the topic is still being dropped; try again after the next round of the storage worker',
    )
  }
  const old = [...cluster.brokers(), ...cluster.others()].find(({ features }) => !features.includes(FEATURE))
  if (old === undefined) return null
  const version = old.version === null ? 'a version' : `version ${old.version}`
  return because(
    INVALID_CONFIG,
    `remote.storage.enable: got true, but broker ${old.id} runs ${version} without the remote tier; upgrade it first`,
  )
}
