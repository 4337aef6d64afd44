// The dialog that produces a record: key, value, headers, partition, timestamp, a tombstone. With a record to produce
// again, the form begins with all of it.

import { Plus } from 'lucide-react'
import { type FormEvent, useRef, useState } from 'react'
import type { ShownRecord } from '../../src/api/messages.ts'
import { Problem } from '../api/problem.ts'
import { useChange, useRead } from '../api/queries.ts'
import { useCapability } from '../shell/capabilities.ts'
import { toast } from '../shell/toasts.tsx'
import { count } from '../text/format.ts'
import { Action, Button } from './button.tsx'
import { Dialog, DialogActions } from './dialog.tsx'
import { SelectField, SwitchField } from './field.tsx'
import { ProblemNote } from './problem-note.tsx'
import { ContentField } from './produce-content.tsx'
import { type Draft, draftOf, emptyDraftOf, type HeaderDraft, messageOf, objectionsOf } from './produce-draft.ts'
import { HeaderField } from './produce-header.tsx'
import { NO_SCHEMAS } from './schema-parts.ts'
import { TimeField } from './time-field.tsx'
import { useSchemaParts } from './use-schema-parts.ts'

interface ProduceProps {
  readonly topic: string
  /** The record to produce again; without it the form is empty. */
  readonly from?: ShownRecord
  readonly onClose: () => void
  /** Hears where the record is. */
  readonly onProduced?: (place: { readonly partition: number; readonly offset: number }) => void
}

export function ProduceDialog({ topic, from, onClose, onProduced }: ProduceProps) {
  const { parts: schemas = NO_SCHEMAS } = useSchemaParts(topic, from === undefined)
  const [original] = useState(() => (from === undefined ? null : draftOf(from)))
  const first = original ?? emptyDraftOf(schemas)
  /** Null until the first change: the schemas of the topic may come later than the dialog. */
  const [changed, setChanged] = useState<Draft | null>(null)
  const draft = changed ?? first
  const description = useRead('describe topic', { params: { topic } }, { everyMs: 0 })
  const hasRegistry = useCapability('schema-registry')?.state === 'on'
  const produce = useChange('produce messages')
  const [refused, setRefused] = useState<Problem | null>(null)
  const problem = produce.problem ?? refused
  const objections = objectionsOf(problem, draft)
  const change = (values: Partial<Draft>) => setChanged(before => ({ ...(before ?? first), ...values }))

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setRefused(null)
    const done = await produce.run({ params: { topic }, body: { messages: [messageOf(draft)] } })
    const result = done?.answer.messages[0]
    if (result === undefined) return
    const { partition, offset, error } = result
    if (offset === null) {
      setRefused(
        new Problem({
          code: error?.code ?? 'UNKNOWN_SERVER_ERROR',
          title: 'The record was refused.',
          detail: error?.detail ?? '',
        }),
      )
      return
    }
    toast(`Produced to partition ${partition} at offset ${count(offset)}.`, {
      label: 'Open the record',
      page: 'messages',
      params: { topic },
      search: { at: `${partition}-${offset}` },
    })
    onClose()
    onProduced?.({ partition, offset })
  }

  return (
    <Dialog
      title={from === undefined ? `Produce to ${topic}` : `Produce again to ${topic}`}
      onClose={onClose}
      isWide
      isDismissable={changed === null}
    >
      <form onSubmit={event => void submit(event)} aria-label="Produce a record" noValidate>
        <SwitchField
          label="Tombstone"
          hint="A record without a value. In a compacted topic it deletes its key."
          isOn={draft.value.kind === 'null'}
          onChange={isOn =>
            change({
              value: { ...draft.value, kind: isOn ? 'null' : first.value.kind === 'null' ? 'text' : first.value.kind },
            })
          }
        />
        {draft.value.kind !== 'null' && (
          <ContentField
            label="Value"
            kinds={hasRegistry || draft.value.kind === 'schema' ? ['text', 'base64', 'schema'] : ['text', 'base64']}
            content={draft.value}
            rows={8}
            isFirst
            error={objections.value}
            schemaError={objections.valueSchema}
            subject={`${topic}-value`}
            onChange={value => change({ value })}
          />
        )}
        <ContentField
          label="Key"
          kinds={
            hasRegistry || draft.key.kind === 'schema'
              ? ['null', 'text', 'base64', 'schema']
              : ['null', 'text', 'base64']
          }
          content={draft.key}
          rows={1}
          error={objections.key}
          schemaError={objections.keySchema}
          subject={schemas.key?.subject ?? `${topic}-key`}
          typedKind={schemas.key === null ? 'text' : 'schema'}
          hint="Records with the same key go to the same partition."
          onChange={key => change({ key })}
        />
        <Headers draft={draft} errors={objections.headers} onChange={headers => change({ headers })} />
        <div className="grid gap-x-4 sm:grid-cols-2">
          <SelectField
            label="Partition"
            value={draft.partition === null ? '' : String(draft.partition)}
            options={[
              ['', 'Automatic'],
              ...Array.from(
                { length: description.data?.partitions ?? 0 },
                (_, each) => [String(each), String(each)] as const,
              ),
            ]}
            hint="Automatic: the key decides; without a key, any partition."
            error={objections.partition}
            onChange={text => change({ partition: text === '' ? null : Number(text) })}
          />
          <TimeField
            label="Timestamp (the current time by default)"
            value={draft.timestamp}
            error={objections.timestamp}
            onChange={timestamp => change({ timestamp })}
          />
        </div>
        {problem !== null && objections.isElsewhere && <ProblemNote problem={problem} />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Action operation="produce messages" kind="primary" type="submit" isBusy={produce.isBusy}>
            Produce
          </Action>
        </DialogActions>
      </form>
    </Dialog>
  )
}

interface HeadersProps {
  readonly draft: Draft
  readonly errors: ReadonlyMap<number, string>
  readonly onChange: (headers: readonly HeaderDraft[]) => void
}

function Headers({ draft: { headers }, errors, onChange }: HeadersProps) {
  const [first] = useState(headers.length)
  const nextId = useRef(first)
  return (
    <fieldset className="my-3">
      <legend className="mb-1 font-medium">Headers</legend>
      {headers.length === 0 && <p className="text-muted">None. A name may be used twice, and the order is kept.</p>}
      <ol className="flex flex-col gap-2">
        {headers.map((header, at) => (
          <HeaderField
            key={header.id}
            number={at + 1}
            header={header}
            isOriginal={header.id < first}
            isNew={header.id >= first}
            error={errors.get(header.id)}
            onChange={changed => onChange(headers.map(each => (each.id === changed.id ? changed : each)))}
            onRemove={() => onChange(headers.filter(({ id }) => id !== header.id))}
          />
        ))}
      </ol>
      <div className="mt-2">
        <Button
          isSmall
          icon={Plus}
          onClick={() =>
            onChange([...headers, { id: nextId.current++, key: '', value: { kind: 'text', typed: '' }, isSent: true }])
          }
        >
          Add a header
        </Button>
      </div>
    </fieldset>
  )
}
