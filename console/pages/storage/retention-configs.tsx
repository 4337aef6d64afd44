// The configs by which the worker treats a topic, as they are in force, and where each comes from. The page of the
// topic changes them.

import type { ShownConfig } from '../../../src/api/topics.ts'
import { useRead } from '../../api/queries.ts'
import { buttonClass } from '../../parts/button.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { PageLink } from '../../shell/address.tsx'
import { useMay } from '../../shell/session.tsx'
import { COMPACTION_CONFIGS, REMOTE_CONFIGS } from '../topic/config-groups.ts'
import { ConfigName } from '../topic/config-name.tsx'
import { exactConfig, showConfig, sourceOf } from '../topic/config-text.ts'

const ALWAYS = ['cleanup.policy', 'segment.bytes', 'segment.ms']
const RETENTION = ['retention.ms', 'retention.bytes']

export function RetentionConfigs({ topic }: { readonly topic: string }) {
  const read = useRead('describe topic configs', { params: { topic } })
  const mayChange = useMay('alter topic configs')
  return (
    <Section
      title="Configs in force"
      actions={
        <PageLink page="topic" params={{ topic }} search={{ tab: 'configuration' }} className={buttonClass('plain')}>
          {mayChange ? 'Change configs' : 'All configs'}
        </PageLink>
      }
    >
      <Loaded read={read} of="The configs" rows={6}>
        {({ configs }) => (
          <DataTable
            name={`Configs of ${topic} for segments and retention`}
            rows={actingOf(configs)}
            keyOf={({ name }) => name}
            columns={COLUMNS}
          />
        )}
      </Loaded>
    </Section>
  )
}

/** Returns the configs that act under the clean-up policy and in the tiers of the topic. */
function actingOf(configs: readonly ShownConfig[]): readonly ShownConfig[] {
  const current = (wanted: string) => configs.find(({ name }) => name === wanted)?.value ?? ''
  const policy = current('cleanup.policy')
  const names = [
    ...ALWAYS,
    ...(policy.includes('delete') ? RETENTION : []),
    ...(policy.includes('compact') ? COMPACTION_CONFIGS : []),
    ...(current('remote.storage.enable') === 'true' ? REMOTE_CONFIGS : []),
  ]
  return names.flatMap(name => configs.filter(config => config.name === name))
}

const COLUMNS: readonly Column<ShownConfig>[] = [
  {
    id: 'name',
    head: 'Config',
    isFixed: true,
    cell: ({ name, documentation }) => (
      <span title={documentation}>
        <ConfigName of={name} />
      </span>
    ),
  },
  {
    id: 'value',
    head: 'Value',
    cell: config => (
      <span className="whitespace-nowrap" title={exactConfig(config, config.value) ?? undefined}>
        {showConfig(config, config.value)}
      </span>
    ),
  },
  { id: 'source', head: 'Source', cell: config => (config.source === 'topic' ? 'this topic' : sourceOf(config)) },
]
