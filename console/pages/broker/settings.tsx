// The settings of a broker, with a filter over names, values and documentation.

import { useRead } from '../../api/queries.ts'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { SwitchField } from '../../parts/field.tsx'
import { FilterField } from '../../parts/filter-field.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { useHere } from '../../shell/address.tsx'
import { counted } from '../../text/format.ts'
import { bareText, filterSettings, ofConfig, ofSetting, type ShownSetting, valueText } from './shown-setting.ts'

/** The API sends all settings in one page of at most this many. */
const ALL = 1_000

export function OwnSettings() {
  const read = useRead('list settings', { query: { limit: ALL } })
  return (
    <Loaded read={read} of="The settings" rows={12}>
      {({ settings }) => <SettingTable settings={settings.map(ofSetting)} columns={OWN} />}
    </Loaded>
  )
}

export function OtherSettings({ broker }: { readonly broker: number }) {
  const read = useRead('list configs of broker', { params: { broker } })
  return (
    <Loaded read={read} of={`The configs of broker ${broker}`} rows={12}>
      {({ configs }) => (
        <>
          <p className="mb-3 text-muted">
            Broker {broker} tells its values, also under Kafka’s names. Only its own console shows where each is
            written.
          </p>
          <SettingTable settings={configs.map(ofConfig)} columns={OTHER} />
        </>
      )}
    </Loaded>
  )
}

interface SettingTableProps {
  readonly settings: readonly ShownSetting[]
  readonly columns: readonly Column<ShownSetting>[]
}

function SettingTable({ settings, columns }: SettingTableProps) {
  const { search, set } = useHere('broker')
  const shown = filterSettings(settings, search.q, search.set)
  return (
    <>
      <div className="mb-3 flex flex-wrap items-center gap-x-6 gap-y-1">
        <FilterField label="Filter settings" value={search.q} onChange={q => set({ q })} />
        <SwitchField label="Only settings that are set" isOn={search.set} onChange={isOn => set({ set: isOn })} />
        <span role="status" className="text-muted tabular-nums">
          {shown.length === settings.length
            ? counted(settings.length, 'setting')
            : `${shown.length} of ${counted(settings.length, 'setting')}`}
        </span>
      </div>
      <DataTable
        name="Settings of the broker"
        rows={shown}
        keyOf={({ name }) => name}
        columns={columns}
        empty={
          <Empty
            title={search.q === '' ? 'No setting is set here' : `No setting contains “${search.q}”`}
            action={<Button onClick={() => set({ q: '', set: false })}>Show all settings</Button>}
          >
            {search.set ? 'Only settings that are set are searched.' : undefined}
          </Empty>
        }
      />
    </>
  )
}

const NAME: Column<ShownSetting> = {
  id: 'setting',
  head: 'Setting',
  isFixed: true,
  cell: ({ name, documentation, notYet }) => (
    <div className="min-w-40 py-1">
      <code className="font-mono text-dense">{name}</code>
      {notYet !== null && (
        <>
          {' '}
          <Badge tone="warn" title={`It has no effect: this version has no such capability: ${notYet}.`}>
            no effect yet
          </Badge>
        </>
      )}
      <div className="text-muted">
        {documentation}
        {notYet !== null && ` It has no effect: ${notYet} is not in this version.`}
      </div>
    </div>
  ),
}

const VALUE: Column<ShownSetting> = {
  id: 'value',
  head: 'Value',
  cell: setting => (
    <span
      className={`inline-block min-w-24 ${setting.value === null || setting.value === '' ? 'text-muted' : 'font-mono text-dense'} ${setting.isSet ? 'font-semibold' : ''}`}
    >
      {valueText(setting)}
    </span>
  ),
}

const OWN: readonly Column<ShownSetting>[] = [
  NAME,
  VALUE,
  {
    id: 'default',
    head: 'Default',
    isOnPhone: false,
    cell: ({ default: value = null, unit, isSecret }) => (
      <span
        className={`inline-block min-w-24 text-muted ${value === null || value === '' ? '' : 'font-mono text-dense'}`}
      >
        {isSecret ? '—' : bareText(value, unit)}
      </span>
    ),
  },
  {
    id: 'source',
    head: 'Source',
    isOnPhone: false,
    cell: ({ source, isSet }) => <span className={`inline-block min-w-28 ${isSet ? '' : 'text-muted'}`}>{source}</span>,
  },
]

const OTHER: readonly Column<ShownSetting>[] = [
  NAME,
  VALUE,
  {
    id: 'set',
    head: 'Source',
    isOnPhone: false,
    cell: ({ isSet }) => (
      <span className={`inline-block min-w-20 ${isSet ? '' : 'text-muted'}`}>{isSet ? 'set' : 'default'}</span>
    ),
  },
]
