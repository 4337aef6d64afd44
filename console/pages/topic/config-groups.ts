// The groups of topic configs on a page. A config that no group names is shown all the same.

import type { ShownConfig } from '../../../src/api/topics.ts'

/** The configs that act on compacted topics alone. */
export const COMPACTION_CONFIGS = [
  'min.cleanable.dirty.ratio',
  'min.compaction.lag.ms',
  'max.compaction.lag.ms',
  'delete.retention.ms',
] as const

/** The configs of the remote tier. */
export const REMOTE_CONFIGS = [
  'remote.storage.enable',
  'local.retention.ms',
  'local.retention.bytes',
  'remote.log.copy.disable',
  'remote.log.delete.on.disable',
] as const

const GROUPS: readonly (readonly [title: string, names: readonly string[]])[] = [
  ['Retention', ['cleanup.policy', 'retention.ms', 'retention.bytes']],
  ['Remote storage', REMOTE_CONFIGS],
  ['Compaction', COMPACTION_CONFIGS],
  [
    'Records',
    [
      'max.message.bytes',
      'message.timestamp.type',
      'message.timestamp.before.max.ms',
      'message.timestamp.after.max.ms',
      'compression.type',
    ],
  ],
  [
    'Storage',
    ['storage.compression.type', 'segment.ms', 'segment.bytes', 'offset.sequence.bits', 'min.insync.replicas'],
  ],
]
const OTHERS = 'Others'
const IDLE = 'Kept for Kafka clients, without an effect here'

export interface ConfigGroup {
  readonly title: string
  readonly configs: readonly ShownConfig[]
}

/** Returns the groups with their configs in order; groups without configs are left out. */
export function groupConfigs(configs: readonly ShownConfig[]): readonly ConfigGroup[] {
  const named = new Set<string>(GROUPS.flatMap(([, names]) => names))
  const rest = configs.filter(({ name }) => !named.has(name))
  return [
    ...GROUPS.map(([title, names]) => ({
      title,
      configs: names.flatMap(name => configs.filter(config => config.name === name)),
    })),
    { title: OTHERS, configs: rest.filter(({ hasEffect }) => hasEffect) },
    { title: IDLE, configs: rest.filter(({ hasEffect }) => !hasEffect) },
  ].filter(group => group.configs.length > 0)
}
