// The first minute in the browser: create a topic, produce a record, and see it arrive. Every field has a value, so
// that the button of each step is enough.

import { type FormEvent, useEffect, useRef, useState } from 'react'
import type { ShownRecord } from '../../../src/api/messages.ts'
import { useChange } from '../../api/queries.ts'
import { Badge } from '../../parts/badge.tsx'
import { Action, Button, buttonClass } from '../../parts/button.tsx'
import { TextField } from '../../parts/field.tsx'
import { ProblemNote } from '../../parts/problem-note.tsx'
import { Time } from '../../parts/time.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink } from '../../shell/address.tsx'
import { Step } from './step.tsx'
import { useWatch, type Watch } from './watch.ts'

interface BrowserStepsProps {
  /** The topic to produce to; null before there is one. */
  readonly topic: string | null
  readonly name: string
  readonly onName: (name: string) => void
  readonly onCreated: (topic: string) => void
  readonly onLeave: () => void
}

/** Where a record is: partition and offset. */
type Place = Pick<ShownRecord, 'partition' | 'offset'>

const isOneOf = (places: readonly Place[], { partition, offset }: Place) =>
  places.some(place => place.partition === partition && place.offset === offset)

export function BrowserSteps({ topic, name, onName, onCreated, onLeave }: BrowserStepsProps) {
  const [own, setOwn] = useState<readonly Place[]>([])
  const watch = useWatch(topic)
  const isSeen = watch.records.some(record => isOneOf(own, record))
  return (
    <ol>
      <Step number={1} title="Create a topic" state={topic === null ? 'current' : 'done'}>
        {topic === null ? (
          <CreateForm name={name} onName={onName} onCreated={onCreated} />
        ) : (
          <p className="text-muted">
            The topic{' '}
            <PageLink page="topic" params={{ topic }} className="text-accent underline underline-offset-2">
              {topic}
            </PageLink>{' '}
            is there.
          </p>
        )}
      </Step>
      <Step
        number={2}
        title="Produce a record"
        state={topic === null ? 'later' : own.length === 0 ? 'current' : 'done'}
      >
        <ProduceForm topic={topic} isFirst={own.length === 0} onProduced={place => setOwn([...own, place])} />
      </Step>
      <Step number={3} title="Watch it arrive" state={isSeen ? 'done' : own.length === 0 ? 'later' : 'current'}>
        <Arrivals watch={watch} own={own} hasTopic={topic !== null} />
        <div role="status">
          {isSeen && (
            <p className="mt-3 text-ok">
              That is your record: the broker stored it, and sent it to this page a moment later.
            </p>
          )}
        </div>
        {topic !== null && (
          <div className="mt-3 flex flex-wrap gap-2">
            <PageLink page="messages" params={{ topic }} search={{ live: true }} className={buttonClass('plain')}>
              Open the live messages
            </PageLink>
            <Button onClick={onLeave}>Show the overview</Button>
          </div>
        )}
      </Step>
    </ol>
  )
}

type CreateFormProps = Pick<BrowserStepsProps, 'name' | 'onName' | 'onCreated'>

function CreateForm({ name, onName, onCreated }: CreateFormProps) {
  const create = useChange('create topic')
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if ((await create.run({ body: { name } })) !== null) onCreated(name)
  }
  const { problem } = create
  // The form has one field, so that a refusal is one of its value.
  const refusal = problem === null || problem.isAway ? undefined : (problem.fields.name ?? problem.detail)
  return (
    <form onSubmit={event => void submit(event)}>
      <p className="text-muted">
        A topic is a log: producers write records at its end, and consumers read them in order.
      </p>
      <div className="flex flex-wrap items-start gap-x-2">
        <div className="min-w-0 grow basis-48">
          <TextField
            label="Name of the topic"
            value={name}
            onChange={onName}
            error={refusal}
            isMono
            autoComplete="off"
            required
          />
        </div>
        <div className="mb-3 sm:mt-9">
          <Action operation="create topic" kind="primary" type="submit" isBusy={create.isBusy}>
            Create topic
          </Action>
        </div>
      </div>
      {problem !== null && refusal === undefined && <ProblemNote problem={problem} />}
    </form>
  )
}

interface ProduceFormProps {
  readonly topic: string | null
  readonly isFirst: boolean
  readonly onProduced: (place: Place) => void
}

function ProduceForm({ topic, isFirst, onProduced }: ProduceFormProps) {
  const [text, setText] = useState('Hello from the console')
  const produce = useChange('produce messages')
  const [refusal, setRefusal] = useState<string | null>(null)
  const form = useRef<HTMLFormElement>(null)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (topic === null) return
    const done = await produce.run({ params: { topic }, body: { messages: [{ value: { text } }] } })
    const [record] = done?.answer.messages ?? []
    setRefusal(record?.error?.detail ?? null)
    if (record?.offset != null) onProduced({ partition: record.partition, offset: record.offset })
  }
  // The button of the step before is gone: the next press of Enter or Space belongs to this one.
  const isReady = topic !== null
  const wasReady = useRef(isReady)
  useEffect(() => {
    if (isReady && !wasReady.current) form.current?.querySelector('button')?.focus()
    wasReady.current = isReady
  }, [isReady])
  return (
    <form ref={form} onSubmit={event => void submit(event)}>
      <div className="flex flex-wrap items-start gap-x-2">
        <div className="min-w-0 grow basis-48">
          <TextField
            label="Value"
            value={text}
            onChange={setText}
            disabled={topic === null}
            isMono
            autoComplete="off"
          />
        </div>
        <div className="mb-3 sm:mt-9">
          <Action
            operation="produce messages"
            kind={topic !== null && isFirst ? 'primary' : 'plain'}
            type="submit"
            disabled={topic === null}
            isBusy={produce.isBusy}
          >
            {isFirst ? 'Produce' : 'Produce another'}
          </Action>
        </div>
      </div>
      {produce.problem !== null && <ProblemNote problem={produce.problem} />}
      {refusal !== null && (
        <p role="alert" className="text-danger">
          {refusal}
        </p>
      )}
    </form>
  )
}

interface ArrivalsProps {
  readonly watch: Watch
  readonly own: readonly Place[]
  readonly hasTopic: boolean
}

function Arrivals({ watch: { records, isLive, problem, retry }, own, hasTopic }: ArrivalsProps) {
  if (problem !== null) return <ProblemNote problem={problem} of="The live view" onRetry={retry} />
  return (
    <>
      <p className="flex items-center gap-2 text-muted">
        {isLive ? (
          <Badge tone="ok" shape="●">
            Live
          </Badge>
        ) : null}
        {hasTopic
          ? 'Records appear here as they arrive, also those of other programs.'
          : 'Records will appear here as they arrive.'}
      </p>
      <div
        role="log"
        aria-label="Arriving records"
        data-arrivals
        className="mt-2 min-h-24 overflow-hidden rounded-control border border-line bg-canvas"
      >
        <ul className="divide-y divide-line">
          {records.map(record => {
            const { partition, offset, timestamp, value } = record
            return (
              <li
                key={`${partition}-${offset}`}
                className="flex flex-wrap items-baseline gap-x-3 px-3 py-1.5 font-mono text-dense"
              >
                <span className="text-muted">
                  <Time ms={timestamp} isShort />
                </span>
                <span className="text-muted tabular-nums">
                  p{partition} · {offset}
                </span>
                <span className="line-clamp-3 min-w-0 grow basis-32">
                  <Value of={value} />
                </span>
                {isOneOf(own, record) && (
                  <Badge tone="info" shape="★">
                    yours
                  </Badge>
                )}
              </li>
            )
          })}
        </ul>
      </div>
    </>
  )
}

function Value({ of: value }: { readonly of: ShownRecord['value'] }) {
  if (value === null) return <i>null</i>
  if (value.bytes === 0) return <i>empty (0 bytes)</i>
  return <VisibleText text={value.text ?? value.base64 ?? ''} />
}
