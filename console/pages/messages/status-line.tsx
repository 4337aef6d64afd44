// The line above a page of records: how many they are, at what cost, with which errors, and the verbs for all of them.
// It also stops a search that runs, and names the partitions that could not be read.

import { Download } from 'lucide-react'
import type { ShownRecord } from '../../../src/api/messages.ts'
import { ask } from '../../api/client.ts'
import { Button, buttonClass } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy.tsx'
import { useCapability } from '../../shell/capabilities.ts'
import { bytes, count, counted, duration } from '../../text/format.ts'
import type { Browsing } from './browse.ts'
import type { Browsed } from './browse-pages.ts'
import { RecordColumnChoice, type RecordColumns } from './rows.tsx'
import { decodingOf, exportAddress, type MessageQuery, type MessageSearch, startOf } from './selection.ts'

interface StatusLineProps {
  readonly topic: string
  readonly search: MessageSearch
  readonly query: MessageQuery
  readonly browsing: Browsing
  readonly columns: RecordColumns
  /** Goes on with a search that was stopped. */
  readonly onContinue: (cursor: string) => void
}

export function StatusLine({ topic, search, query, browsing, columns, onContinue }: StatusLineProps) {
  const { read, isRunning, stop } = browsing
  const { data } = read
  const isSearch = query.contains !== ''
  const canContinue = data !== undefined && !isRunning && data.state !== 'full' && data.nextCursor !== null
  return (
    <div className="mb-2 flex min-h-9 flex-wrap items-center justify-between gap-x-4 gap-y-1">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <p role="status" className="text-muted tabular-nums">
          {isRunning && (isSearch ? 'Searching … ' : 'Reading … ')}
          {data !== undefined && !read.isOld && <span title={exactly(data)}>{summary(data)}</span>}
        </p>
        {isRunning && (
          <Button isSmall onClick={stop}>
            Stop
          </Button>
        )}
        {canContinue && (
          <>
            <span className="text-warn">
              {data.state === 'stopped' ? 'Stopped before the end.' : 'The page ended early.'}
            </span>
            <Button isSmall onClick={() => onContinue(data.nextCursor!)}>
              Continue
            </Button>
          </>
        )}
      </div>
      {data !== undefined && data.messages.length > 0 && (
        <div className="ml-auto flex flex-wrap items-center justify-end gap-1">
          <CopyButton
            value={() => linesOf(topic, data.messages, search)}
            of={`${counted(data.messages.length, 'record')} of this page as JSON lines`}
            label="Copy page"
          />
          <Export topic={topic} query={query} />
          <RecordColumnChoice columns={columns} />
        </div>
      )}
      {data !== undefined && data.messages.length > 0 && (
        <MissingStart offset={startOf(search) === 'offset' ? search.offset : null} ends={data.ends} />
      )}
      {data?.broken != null && (
        <p role="alert" className="basis-full text-danger">
          The search could not go on. {data.broken.detail}
        </p>
      )}
      {data !== undefined && data.unavailable.length > 0 && (
        <ul className="basis-full rounded-control bg-warn-soft px-3 py-2 text-warn">
          {data.unavailable.map(({ partition, detail }) => (
            <li key={partition}>
              Partition {partition} could not be read. {detail}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

/** `50 records · scanned 12,300 · 4.1 MiB · 180 ms · 3 decode errors`. */
function summary({ messages, scanned, bytes: read, tookMs }: Browsed): string {
  const errors = messages.filter(({ key, value }) => [key, value].some(each => each?.status === 'decode-error')).length
  return [
    counted(messages.length, 'record'),
    `scanned ${count(scanned)}`,
    bytes(read),
    duration(Math.round(tookMs)),
    ...(errors === 0 ? [] : [counted(errors, 'decode error')]),
  ].join(' · ')
}

function exactly({ scanned, bytes: read }: Browsed): string {
  return `The broker looked at ${counted(scanned, 'record')} in ${counted(read, 'byte')} of batches.`
}

interface MissingStartProps {
  readonly offset: number | null
  /** One log, if an offset is wanted: it is a position in one partition. */
  readonly ends: Browsed['ends']
}

/** Says that the wanted first record is gone: the list would begin with another one without a word. */
function MissingStart({ offset, ends: [log] }: MissingStartProps) {
  if (offset === null || log === undefined || offset >= log.start) return null
  return (
    <p className="basis-full text-warn">
      Offset {count(offset)} is no longer in partition {log.partition}: its log begins at offset {count(log.start)}.
    </p>
  )
}

function Export({ topic, query }: { readonly topic: string; readonly query: MessageQuery }) {
  const capability = useCapability('export')
  if (capability === undefined) return null
  if (capability.state !== 'on') return <span className="text-muted">Export is off. {capability.because}</span>
  return (
    <>
      {(['ndjson', 'csv'] as const).map(format => (
        <a
          key={format}
          href={exportAddress(topic, query, format)}
          download
          title="All records of this selection, not only those of this page"
          className={buttonClass('quiet', true)}
        >
          <Download size={16} aria-hidden />
          Export {format === 'csv' ? 'CSV' : 'NDJSON'}
        </a>
      ))}
    </>
  )
}

/** Resolves to a line for each record, whole. A list has only the beginning of long records, so these are asked for. */
async function linesOf(topic: string, records: readonly ShownRecord[], search: MessageSearch): Promise<string> {
  const lines: string[] = []
  for (const record of records) {
    const { partition, offset, key, value, headers, headerCount } = record
    const parts = [key, value, ...headers.map(each => each.value)]
    const isWhole = headers.length === headerCount && parts.every(part => part?.truncated !== true)
    const params = { topic, partition, offset }
    lines.push(JSON.stringify(isWhole ? record : await ask('show message', { params, query: decodingOf(search) })))
  }
  return `${lines.join('\n')}\n`
}
