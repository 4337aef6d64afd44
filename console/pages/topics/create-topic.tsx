// The dialog Create topic. The broker checks the draft while it is written: its refusals stand at the fields, and empty
// fields say what the topic would inherit.

import { useState } from 'react'
import type { TopicDescription } from '../../../src/api/topics.ts'
import { useChange, useRead } from '../../api/queries.ts'
import { Action, Button } from '../../parts/button.tsx'
import { Dialog, DialogActions } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/field.tsx'
import { ProblemNote } from '../../parts/problem-note.tsx'
import { Recipes } from '../../parts/recipes.tsx'
import { useSettled } from '../../parts/settled.ts'
import { Loaded } from '../../parts/states.tsx'
import { useGo } from '../../shell/address.tsx'
import { useCapabilities, useCapability } from '../../shell/capabilities.ts'
import { toast } from '../../shell/toasts.tsx'
import { counted } from '../../text/format.ts'
import { COMPACTION_CONFIGS, groupConfigs } from '../topic/config-groups.ts'
import { writeConfig } from '../topic/config-text.ts'
import { refusalsOf } from '../topic/refusals.ts'
import { ConfigField } from './config-field.tsx'
import { type Draft, isOffered, requestOf, unitOf } from './new-topic.ts'

interface CreateTopicProps {
  /** The topic whose partitions and configs the new one takes over; '' for none. */
  readonly like: string
  readonly onClose: () => void
}

const PARTITIONS = '3'

export function CreateTopic({ like, onClose }: CreateTopicProps) {
  const model = useRead('describe topic', { params: { topic: like } }, { isWanted: like !== '', everyMs: 0 })
  return (
    <Dialog title={like === '' ? 'Create topic' : `Create topic like ${like}`} isWide onClose={onClose}>
      {like === '' ? (
        <Form draft={{ name: '', partitions: PARTITIONS, configs: {} }} onClose={onClose} />
      ) : (
        <Loaded read={model} of={`The topic ${like}`} rows={12}>
          {found => <Form draft={draftLike(found)} onClose={onClose} />}
        </Loaded>
      )}
    </Dialog>
  )
}

function draftLike({ partitions, configs }: TopicDescription): Draft {
  const texts = Object.entries(configs).map(([name, value]) => [name, writeConfig({ unit: unitOf(name) }, value)])
  return { name: '', partitions: String(partitions), configs: Object.fromEntries(texts) }
}

/** The check of the broker follows the typing after this time in ms. */
const CHECK_REST_MS = 200

/** The configs that most topics need; the others are under All configs. */
const USUAL = ['cleanup.policy', 'retention.ms', 'retention.bytes', 'storage.compression.type'] as const
const COMPACTION: Readonly<Record<(typeof COMPACTION_CONFIGS)[number], string>> = {
  'min.cleanable.dirty.ratio': 'Dirty share above which it is cleaned',
  'min.compaction.lag.ms': 'Shortest time before a record is cleaned',
  'max.compaction.lag.ms': 'Longest time before a record is cleaned',
  'delete.retention.ms': 'Time for which tombstones stay',
}
const TIERED = ['remote.storage.enable', 'local.retention.ms', 'local.retention.bytes'] as const

const LABELS: Readonly<Record<(typeof USUAL | typeof TIERED)[number], string>> = {
  'cleanup.policy': 'Cleanup',
  'retention.ms': 'Retention time',
  'retention.bytes': 'Retention size of a partition',
  'storage.compression.type': 'Compression in the store',
  'remote.storage.enable': 'Remote storage',
  'local.retention.ms': 'Local retention time',
  'local.retention.bytes': 'Local retention size of a partition',
}

function Form({ draft: begun, onClose }: { readonly draft: Draft; readonly onClose: () => void }) {
  const go = useGo()
  const limits = useCapabilities()?.limits
  const tier = useCapability('remote-tier')
  const compaction = useCapability('compaction')
  const [draft, setDraft] = useState(begun)
  const [checked, setChecked] = useState('')
  /** Once the draft is sent, a late check would only find that the topic exists. */
  const [isSent, setSent] = useState(false)
  const create = useChange('create topic')

  const { body, objections } = requestOf(draft)
  // The name alone decides what is inherited, so that a refused config does not hide it.
  const name = useSettled(body.name, CHECK_REST_MS)
  const base = useRead(
    'create topic',
    { body: { name, validateOnly: true } },
    { isWanted: name !== '' && name === body.name && !isSent, everyMs: 0 },
  )
  const asked = JSON.stringify(body)
  const settled = useSettled(asked, CHECK_REST_MS)
  /** An empty name is no mistake before somebody asks for the check. */
  const isAsked = body.name !== '' || checked === asked
  const isClear = Object.keys(objections).length === 0
  const check = useRead(
    'create topic',
    { body: { ...(JSON.parse(settled) as typeof body), validateOnly: true } },
    { isWanted: isAsked && settled === asked && !isSent, everyMs: 0 },
  )
  const isChecked = settled === asked && !check.isOld && !check.isFetching
  const inherits = body.name !== '' && base.problem === null ? base.data : undefined
  const refused = refusalsOf(create.problem ?? (isAsked ? check.problem : null))
  const fields = { ...refused.fields, ...objections }
  const entryOf = (name: string) =>
    inherits?.configs.find(config => config.name === name) ?? { name, unit: unitOf(name) }
  const patterns = [...new Set(inherits?.configs.map(({ pattern }) => pattern).filter(pattern => pattern !== null))]

  const change = (values: Partial<Draft>) => {
    create.clear()
    setDraft({ ...draft, ...values })
  }
  const configField = (name: string, label: string, note?: string) => (
    <ConfigField
      key={name}
      label={label}
      config={entryOf(name)}
      text={draft.configs[name] ?? ''}
      onText={text => change({ configs: { ...draft.configs, [name]: text } })}
      error={fields[name]}
      {...(note === undefined ? {} : { note })}
    />
  )

  const submit = async () => {
    if (!isClear) return
    setSent(true)
    const made = await create.run({ body })
    if (made === null) {
      setSent(false)
      return
    }
    toast(`Created ${made.answer.name} with ${counted(made.answer.partitions, 'partition')}.`)
    go({ page: 'topic', params: { topic: made.answer.name } })
  }

  const policy =
    draft.configs['cleanup.policy'] || inherits?.configs.find(each => each.name === 'cleanup.policy')?.value
  const isCompacted = compaction?.state === 'on' && policy?.includes('compact') === true
  const hasRetention = policy?.includes('delete') !== false
  const unused = hasRetention ? undefined : 'Without an effect: the cleanup does not delete.'
  const shownAbove: readonly string[] = [
    ...USUAL,
    ...(isCompacted ? COMPACTION_CONFIGS : []),
    ...(tier?.state === 'on' ? TIERED : []),
  ]
  const others = inherits?.configs.filter(({ name }) => !shownAbove.includes(name)) ?? []
  const offered = others.filter(config => isOffered(config, draft))
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        void submit()
      }}
    >
      <div className="grid gap-x-6 sm:grid-cols-2">
        <TextField
          label="Name"
          value={draft.name}
          onChange={name => change({ name })}
          error={fields.name}
          hint={patternSentence(patterns)}
          autoFocus
          autoComplete="off"
          spellCheck={false}
          isMono
        />
        <TextField
          label="Partitions"
          value={draft.partitions}
          onChange={partitions => change({ partitions })}
          error={fields.partitions}
          inputMode="numeric"
          hint={
            <>
              {draft.partitions.trim() === '' && inherits !== undefined && `inherits ${inherits.partitions}. `}
              {limits !== undefined && `${limits.maxPartitionsPerTopic} at most here. `}
              Partitions can be added later, never removed.
            </>
          }
        />
        {configField('retention.ms', LABELS['retention.ms'], unused)}
        {configField('retention.bytes', LABELS['retention.bytes'], unused)}
        {configField(
          'cleanup.policy',
          LABELS['cleanup.policy'],
          compaction !== undefined && compaction.state !== 'on' ? (compaction.because ?? undefined) : undefined,
        )}
        {configField('storage.compression.type', LABELS['storage.compression.type'], "Fixed for the topic's life.")}
        {isCompacted && COMPACTION_CONFIGS.map(name => configField(name, COMPACTION[name]))}
        {tier?.state === 'on' && TIERED.map(name => configField(name, LABELS[name]))}
      </div>
      {tier !== undefined && tier.state !== 'on' && <p className="my-2 text-muted">Remote storage: {tier.because}</p>}

      <details className="my-3 border-t border-line pt-3">
        <summary className="min-h-6 font-medium">All configs</summary>
        {inherits === undefined ? (
          <p className="mt-2 text-muted">Type a valid name first: the values that the topic inherits depend on it.</p>
        ) : (
          <>
            {groupConfigs(offered).map(({ title, configs }) => (
              <fieldset key={title} className="mt-4">
                <legend className="text-muted">{title}</legend>
                <div className="grid gap-x-6 sm:grid-cols-2">
                  {configs.map(({ name, documentation }) => configField(name, name, documentation))}
                </div>
              </fieldset>
            ))}
            {offered.length < others.length && (
              <p className="mt-2 text-muted">
                {counted(others.length - offered.length, 'other config takes', 'other configs take')} only one value
                here. The page of the topic shows them under Configuration.
              </p>
            )}
          </>
        )}
      </details>
      <details className="my-3 border-t border-line pt-3">
        <summary className="min-h-6 font-medium">Copy as command</summary>
        <Recipes
          task={{
            do: 'create-topic',
            topic: body.name === '' ? 'my-topic' : body.name,
            ...(body.partitions === undefined ? {} : { partitions: body.partitions }),
            configs: body.configs ?? {},
          }}
          tools={['ketch', "Kafka's tools"]}
        />
      </details>

      <div role="status" className="min-h-6">
        {checked === asked && isChecked && check.problem === null && isClear && check.data !== undefined && (
          <p className="text-ok">
            The broker would create {check.data.name} with {counted(check.data.partitions, 'partition')}. Nothing is
            created yet.
          </p>
        )}
        {Object.keys(fields).length > 0 && (
          <p className="text-danger">
            {counted(Object.keys(fields).length, 'field needs', 'fields need')} another value:{' '}
            {Object.keys(fields).join(', ')}.
          </p>
        )}
      </div>
      {refused.rest !== null && <ProblemNote problem={refused.rest} />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button
          title="Asks the broker whether it would create the topic. Creates nothing."
          onClick={() => setChecked(asked)}
          isBusy={checked === asked && isClear && !isChecked}
        >
          Check
        </Button>
        <Action operation="create topic" type="submit" kind="primary" isBusy={create.isBusy}>
          Create topic
        </Action>
      </DialogActions>
    </form>
  )
}

function patternSentence(patterns: readonly string[]) {
  if (patterns.length === 0) return undefined
  return `${patterns.length === 1 ? 'The pattern' : 'The patterns'} ${patterns.join(', ')} ${patterns.length === 1 ? 'matches' : 'match'} this name.`
}
