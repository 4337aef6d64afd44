// The configuration of a topic: every config with its value, its source and its default. Edits are collected; saving
// shows them first.

import { useState } from 'react'
import type { ShownConfig } from '../../../src/api/topics.ts'
import { useRead } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { SwitchField } from '../../parts/field.tsx'
import { FilterField } from '../../parts/filter-field.tsx'
import { lazyPart } from '../../parts/lazy-part.tsx'
import { useSettled } from '../../parts/settled.ts'
import { Empty, Loaded } from '../../parts/states.tsx'
import { useHere } from '../../shell/address.tsx'
import { counted } from '../../text/format.ts'
import { type Change, changeOf, type Edits, NO_EDITS, withEdit } from './config-edits.ts'
import { groupConfigs } from './config-groups.ts'
import { ConfigRow } from './config-row.tsx'
import { refusalsOf } from './refusals.ts'

const CHECK_REST_MS = 200

/** The widths of the columns, so that an edit does not move them. */
const WIDTHS = ['sm:w-2/5', '', 'md:w-32 max-md:hidden', 'md:w-1/5 max-md:hidden']

interface TopicConfigurationProps {
  readonly topic: string
  readonly edits: Edits
  readonly onEdits: (edits: Edits) => void
}

const SaveConfigs = lazyPart(async () => (await import('./save-configs.tsx')).SaveConfigs)

export function TopicConfiguration({ topic, edits, onEdits }: TopicConfigurationProps) {
  const { search, set } = useHere('topic')
  const read = useRead('describe topic configs', { params: { topic } })
  const [isSaving, setSaving] = useState(false)
  const change = changeOf(read.data?.configs ?? [], edits)
  const refused = useCheck(topic, change)
  const errors = { ...refused, ...change.objections }
  const isBad = Object.keys(change.objections).length > 0
  const isEdited = change.steps.length > 0 || isBad
  const wanted = search.q.toLowerCase()
  const isShown = ({ name, source, documentation }: ShownConfig) =>
    (name.includes(wanted) || documentation.toLowerCase().includes(wanted)) &&
    (!search.modified || source !== 'default' || edits[name] !== undefined)
  return (
    <>
      <div className="mb-3 flex flex-wrap items-center gap-x-6 gap-y-1">
        <FilterField label="Filter configs" value={search.q} onChange={q => set({ q })} />
        <SwitchField
          label="Modified only"
          isOn={search.modified}
          onChange={modified => set({ modified }, { isStep: true })}
        />
      </div>
      <Loaded read={read} of="The configuration" rows={16}>
        {({ configs }) => {
          const groups = groupConfigs(configs.filter(isShown))
          if (groups.length === 0)
            return (
              <Empty
                title={wanted === '' ? 'This topic inherits all its configs' : `No config contains “${search.q}”`}
                action={<Button onClick={() => set({ q: '', modified: false })}>Show all configs</Button>}
              />
            )
          return (
            <div className="overflow-x-auto rounded-card border border-line bg-surface">
              <table className="w-full">
                <caption className="sr-only">Configs of {topic}</caption>
                <thead>
                  <tr className="border-b border-line text-left">
                    {['Config', 'Value', 'Source', 'Default'].map((head, at) => (
                      <th key={head} scope="col" className={`px-3 py-2 font-medium ${WIDTHS[at]}`}>
                        {head}
                      </th>
                    ))}
                  </tr>
                </thead>
                {groups.map(({ title, configs: rows }) => (
                  <tbody key={title}>
                    <tr>
                      <th
                        scope="rowgroup"
                        colSpan={4}
                        className="border-b border-line bg-raised px-3 py-1 text-left text-dense font-medium text-muted"
                      >
                        {title}
                      </th>
                    </tr>
                    {rows.map(config => (
                      <ConfigRow
                        key={config.name}
                        config={config}
                        edit={edits[config.name]}
                        error={errors[config.name]}
                        onEdit={text => onEdits(withEdit(edits, config.name, text))}
                        onReview={isBad || change.steps.length === 0 ? null : () => setSaving(true)}
                      />
                    ))}
                  </tbody>
                ))}
              </table>
            </div>
          )
        }}
      </Loaded>
      {/* It does not float over the table: there it would cover the controls of rows. Each edited row leads to it. */}
      <div
        className={
          isEdited
            ? 'mt-4 flex flex-wrap items-center justify-end gap-3 rounded-card border border-line bg-surface p-3'
            : ''
        }
      >
        <span role="status" className="mr-auto">
          {isEdited && `${counted(change.steps.length, 'config')} changed, not saved yet.`}
          {isEdited && Object.keys(errors).length > 0 && (
            <span className="ml-1 text-danger">Refused: {Object.keys(errors).join(', ')}.</span>
          )}
        </span>
        {isEdited && (
          <>
            <Button onClick={() => onEdits(NO_EDITS)}>Discard</Button>
            <Button kind="primary" disabled={isBad} onClick={() => setSaving(true)}>
              Review and save
            </Button>
          </>
        )}
      </div>
      {isSaving && (
        <SaveConfigs
          topic={topic}
          change={change}
          refused={refused}
          onSaved={() => onEdits(NO_EDITS)}
          onClose={() => setSaving(false)}
        />
      )}
    </>
  )
}

/** Returns the objections of the broker to the change, by config. It is asked while the fields are written. */
function useCheck(topic: string, { body, steps }: Change): Readonly<Record<string, string>> {
  const settled = useSettled(JSON.stringify(body), CHECK_REST_MS)
  const asked = JSON.parse(settled) as { set: Record<string, string>; delete: string[] }
  const isWanted = steps.length > 0
  const check = useRead(
    'alter topic configs',
    { params: { topic }, body: { ...asked, validateOnly: true } },
    { isWanted: isWanted && settled === JSON.stringify(body), everyMs: 0 },
  )
  return isWanted ? refusalsOf(check.problem).fields : {}
}
