// The filters of the page Messages. Each change is in the address at once. A phone has them in a dialog.

import { Radio, SlidersHorizontal } from 'lucide-react'
import { useId, useState } from 'react'
import { PAGE_SIZES } from '../../../src/api/pages.ts'
import type { Decoding } from '../../../src/api/words.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { CONTROL, Field, SelectField, TextField } from '../../parts/field.tsx'
import { useDraft } from './draft.ts'
import { countFilters, type MessageSearch, MISSING, ownKeyDecoding, type ReadingOrder } from './selection.ts'
import { type FilterProps, Start } from './start.tsx'

const DECODING_LABELS: Readonly<Record<Decoding, string>> = {
  raw: 'Raw base64',
  utf8: 'UTF-8',
  json: 'Best-effort JSON',
  registry: 'Schema registry',
}

const ORDER_LABELS: Readonly<Record<ReadingOrder, string>> = { oldest: 'Oldest first', newest: 'Newest first' }

const ORDER_NOTE = 'By timestamp across partitions; offsets are ordered only within one.'

export function Bar(props: FilterProps) {
  const { search, chosen, schemas, order, missing, isCompact, onChange } = props
  const [isOpen, setOpen] = useState(false)
  const count = countFilters({ ...search, ...chosen }, order, schemas)
  return (
    <section aria-label="Filters" className="mb-3 rounded-card border border-line bg-surface px-4">
      <div className="flex flex-wrap items-end gap-x-4 max-sm:gap-x-2">
        <div className="min-w-40 grow basis-40">
          <SearchText value={search.contains} onChange={contains => onChange({ contains })} />
        </div>
        <div className={isCompact ? 'hidden' : 'flex gap-x-4 max-sm:hidden'}>
          <Decodings {...props} />
        </div>
        <div className={`mb-3 flex gap-2 ${isCompact ? '' : 'max-sm:grow max-sm:justify-end'}`}>
          <div className={isCompact ? '' : 'sm:hidden'}>
            <Button icon={SlidersHorizontal} aria-haspopup="dialog" onClick={() => setOpen(true)}>
              Filters{count > 0 && ` (${count})`}
            </Button>
          </div>
          <Button
            kind={search.live ? 'primary' : 'plain'}
            icon={Radio}
            aria-pressed={search.live}
            title="Show records as they arrive"
            onClick={() => onChange({ live: !search.live })}
          >
            Live
          </Button>
        </div>
      </div>
      <div className={isCompact ? 'hidden' : '-mt-2 max-sm:hidden'}>
        <Filters {...props} />
      </div>
      {isOpen && (
        <Dialog title="Filters" onClose={() => setOpen(false)}>
          <Filters {...props} />
          <Decodings {...props} />
        </Dialog>
      )}
      <div role="status" className="sm:hidden">
        {missing !== null && <p className="mb-3 text-warn">{MISSING[missing]}</p>}
      </div>
    </section>
  )
}

/** The typed text is kept here, because the address follows it a moment later. */
function SearchText({ value, onChange }: { readonly value: string; readonly onChange: (value: string) => void }) {
  const [typed, setTyped] = useDraft(value)
  return (
    <TextField
      label="Search"
      type="search"
      placeholder="Text in keys or values"
      maxLength={1_024}
      value={typed}
      onChange={text => {
        setTyped(text)
        onChange(text)
      }}
    />
  )
}

function Filters(props: FilterProps) {
  const { search, order, partitions, onChange } = props
  const isLive = search.live
  const isMerged = search.partition === null && partitions !== 1
  const noteId = useId()
  return (
    <div className="flex flex-wrap items-start gap-x-4">
      <div className="w-24 max-sm:w-full">
        <SelectField
          label="Partition"
          value={search.partition === null ? '' : String(search.partition)}
          options={[
            ['', 'All'],
            ...partitionsOf(partitions, search.partition).map(each => [String(each), String(each)] as const),
          ]}
          onChange={text => onChange({ partition: text === '' ? null : Number(text) })}
        />
      </div>
      {!isLive && <Start {...props} />}
      {!isLive && (
        <div className="w-36 max-sm:w-full">
          <Field label="Order">
            {attributes => (
              <select
                {...attributes}
                aria-describedby={isMerged ? noteId : undefined}
                value={order}
                onChange={event => onChange({ order: event.target.value as ReadingOrder })}
                className={CONTROL}
              >
                {Object.entries(ORDER_LABELS).map(([word, label]) => (
                  <option key={word} value={word}>
                    {label}
                  </option>
                ))}
              </select>
            )}
          </Field>
        </div>
      )}
      {!isLive && isMerged && (
        <p id={noteId} className="mb-3 basis-full max-sm:-mt-2 sm:order-last text-dense text-muted">
          {ORDER_NOTE}
        </p>
      )}
      {!isLive && (
        <div className="w-20 max-sm:w-full">
          <SelectField
            label="Page size"
            value={search.limit}
            options={PAGE_SIZES.map(size => [size, size])}
            onChange={text => onChange({ limit: text as MessageSearch['limit'] })}
          />
        </div>
      )}
    </div>
  )
}

function Decodings({ search, chosen, schemas, registry, onChange }: FilterProps) {
  const { decode, keyDecode } = search
  const own = ownKeyDecoding(chosen.decode, schemas)
  const because = registry !== undefined && registry.state !== 'on' ? (registry.because ?? undefined) : undefined
  return (
    <>
      <div className="w-40 max-sm:w-full">
        <SelectField
          label="Decode as"
          value={decode}
          options={Object.entries(DECODING_LABELS)}
          hint={decode === 'registry' ? because : undefined}
          onChange={text => onChange({ decode: text as Decoding })}
        />
      </div>
      <div className="w-40 max-sm:w-full">
        <SelectField
          label="Decode key as"
          value={keyDecode === own ? '' : keyDecode}
          options={[
            ['', own === decode ? 'The same' : DECODING_LABELS[own]],
            ...Object.entries(DECODING_LABELS).filter(([word]) => word !== own),
          ]}
          hint={keyDecode === 'registry' ? because : undefined}
          onChange={text => onChange({ keyDecode: text as MessageSearch['keyDecode'] })}
        />
      </div>
    </>
  )
}

/** A partition of the address is offered even if the topic has no such partition: the broker then says so. */
function partitionsOf(partitions: number | undefined, chosen: number | null): readonly number[] {
  const all = Array.from({ length: partitions ?? 0 }, (_, partition) => partition)
  return chosen === null || all.includes(chosen) ? all : [...all, chosen]
}
