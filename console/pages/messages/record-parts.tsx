// The parts of an open record: value, key, headers and what else the broker knows about it.

import { Download } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import type { ShownRecord, ShownValue } from '../../../src/api/messages.ts'
import { addressOf } from '../../api/client.ts'
import { Bytes } from '../../parts/amount.tsx'
import { buttonClass } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy.tsx'
import { Payload } from '../../parts/payload.tsx'
import { DecodeBadge, PayloadPreview } from '../../parts/payload-preview.tsx'
import { SchemaNote } from '../../parts/schema-note.tsx'
import { Time, useZone } from '../../parts/time.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { count, exactBytes } from '../../text/format.ts'
import { zoneLabel } from '../../text/zone.ts'

interface PartProps {
  readonly topic: string
  readonly record: ShownRecord
  readonly part: 'value' | 'key'
  readonly isCompacted: boolean
}

export function Part({ topic, record, part, isCompacted }: PartProps) {
  const value = record[part]
  const { partition, offset } = record
  return (
    <Payload value={value} label={part === 'value' ? 'Value' : 'Key'} isCompacted={isCompacted}>
      {value !== null && (
        <span className="flex gap-1">
          {!value.truncated && <CopyButton value={contentOf(value)} of={`${part}, exactly as it is`} label="Copy" />}
          <a
            href={addressOf('download message', { params: { topic, partition, offset }, query: { part } })}
            download
            className={buttonClass('quiet', true)}
          >
            <Download size={16} aria-hidden />
            Download
          </a>
        </span>
      )}
    </Payload>
  )
}

/** Returns the text as it was produced; base64 of bytes that were not decoded. */
function contentOf({ text, base64 }: ShownValue): string {
  return text ?? base64 ?? ''
}

/** The headers in their order: a name may stand there twice. */
export function Headers({ record: { headers, headerCount, undecodedHeaders } }: { readonly record: ShownRecord }) {
  return (
    <>
      {headerCount === 0 && <p className="text-muted">This record has no headers.</p>}
      <ol className="divide-y divide-line rounded-card border border-line empty:hidden">
        {headers.map((header, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a header is its place in the list
          <HeaderRow key={at} name={header.key} value={header.value} />
        ))}
      </ol>
      {undecodedHeaders !== undefined && (
        <div className="mt-3">
          <p className="text-warn">{undecodedHeaders.reason}</p>
          <Payload value={undecodedHeaders} label="Headers that were not decoded" />
        </div>
      )}
      {undecodedHeaders === undefined && headers.length < headerCount && (
        <p className="mt-2 text-muted">{count(headerCount - headers.length)} more are loading.</p>
      )}
    </>
  )
}

function HeaderRow({ name, value }: { readonly name: string; readonly value: ShownValue | null }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <li className="px-3 py-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="w-40 font-mono text-dense font-medium">
          <VisibleText text={name} />
        </span>
        <span className="line-clamp-2 min-w-24 flex-1 break-all">
          <PayloadPreview value={value} />
        </span>
        {value !== null && (
          <span className="flex items-center gap-1">
            <DecodeBadge {...value} />
            <CopyButton value={contentOf(value)} of={`value of the header ${name}`} />
            <button
              type="button"
              aria-expanded={isOpen}
              aria-label={`All of the header ${name}`}
              onClick={() => setOpen(!isOpen)}
              className={buttonClass('quiet', true)}
            >
              {isOpen ? 'Less' : 'All'}
            </button>
          </span>
        )}
      </div>
      {isOpen && <Payload value={value} label={`Header ${name}`} />}
    </li>
  )
}

export function Details({ record }: { readonly record: ShownRecord }) {
  const { partition, offset, timestamp, timestampType, key, value, headerCount } = record
  const zone = useZone()
  return (
    <dl className="divide-y divide-line tabular-nums">
      <Fact name="Partition">{partition}</Fact>
      <Fact name="Offset">
        {offset} <CopyButton value={String(offset)} of="offset" />
      </Fact>
      <Fact name="Timestamp">
        <Time ms={timestamp} />
        {timestamp !== null && (
          <>
            <span className="text-muted">{zoneLabel(zone, timestamp)}</span>
            <CopyButton value={String(timestamp)} of="milliseconds since 1970" />
          </>
        )}
      </Fact>
      <Fact name="Timestamp type">
        {timestampType}{' '}
        <span className="text-muted">
          {timestampType === 'CreateTime' ? 'set by the producer' : 'set by the broker'}
        </span>
      </Fact>
      <Size name="Key" value={key} />
      <Size name="Value" value={value} />
      <Fact name="Headers">{count(headerCount)}</Fact>
      <Schema name="Key" value={key} />
      <Schema name="Value" value={value} />
    </dl>
  )
}

function Schema({ name, value }: { readonly name: string; readonly value: ShownValue | null }) {
  return (
    <Fact name={`${name} schema`}>
      {value?.schema === undefined ? (
        <Unknown why="The decoding names no schema." />
      ) : (
        <SchemaNote schema={value.schema} />
      )}
    </Fact>
  )
}

function Size({ name, value }: { readonly name: string; readonly value: ShownValue | null }) {
  return (
    <Fact name={`${name} size`}>
      {value === null ? (
        <em className="text-muted">null</em>
      ) : (
        <>
          <Bytes of={value.bytes} /> <span className="text-muted">({exactBytes(value.bytes)})</span>
        </>
      )}
    </Fact>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="flex min-h-9 flex-wrap items-center gap-x-2 py-1">
      <dt className="w-32 text-muted">{name}</dt>
      <dd className="flex flex-wrap items-center gap-x-2">{children}</dd>
    </div>
  )
}

function Unknown({ why }: { readonly why: string }) {
  return (
    <span title={why} className="text-muted">
      —
    </span>
  )
}
