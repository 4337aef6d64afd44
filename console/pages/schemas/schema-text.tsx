// The text of a schema, in lines for people or exactly as it is stored, with what belongs to it: references, metadata
// and rules.

import { useState } from 'react'
import type { SchemaById } from '../../../src/api/schemas.ts'
import { CopyButton } from '../../parts/copy.tsx'
import { Segments } from '../../parts/segments.tsx'
import { TextBlock } from '../../parts/text-block.tsx'
import { bytes, exactBytes } from '../../text/format.ts'

const VIEWS = [
  ['pretty', 'Pretty'],
  ['stored', 'As stored'],
] as const

type Text = Pick<SchemaById, 'type' | 'schema' | 'pretty' | 'metadata' | 'ruleSet'>

export function SchemaText({ of, label }: { readonly of: Text; readonly label: string }) {
  const [view, setView] = useState<'pretty' | 'stored'>('pretty')
  const { type, schema, pretty, metadata, ruleSet } = of
  const text = view === 'pretty' ? pretty : schema
  const size = new TextEncoder().encode(schema).length
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        {schema !== pretty && <Segments label={`View of ${label}`} options={VIEWS} value={view} onChange={setView} />}
        <span className="text-muted tabular-nums" title={exactBytes(size)}>
          {bytes(size)}
        </span>
        <CopyButton value={text} of="schema" label="Copy schema" />
      </div>
      <TextBlock text={text} label={label} mayBeJson={type !== 'PROTOBUF'} isTall />
      {metadata !== null && <Extra title="Metadata" of={metadata} />}
      {ruleSet !== null && <Extra title="Rules" of={ruleSet} />}
    </div>
  )
}

/** Ketch keeps and answers these, and runs no rule. */
function Extra({ title, of }: { readonly title: string; readonly of: unknown }) {
  return (
    <details>
      <summary className="min-h-6 font-medium">{title}</summary>
      <TextBlock text={JSON.stringify(of, null, 2)} label={title} mayBeJson />
    </details>
  )
}
