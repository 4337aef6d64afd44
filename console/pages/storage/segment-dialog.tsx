// One segment: its tier, its offload job, and its files in the remote tier.

import type { RemoteFile, SegmentDetail } from '../../../src/api/storage.ts'
import { useRead } from '../../api/queries.ts'
import { Bytes, Count } from '../../parts/amount.tsx'
import { CopyButton } from '../../parts/copy.tsx'
import { CopyAsCommand } from '../../parts/copy-as-command.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Section } from '../../parts/page.tsx'
import { Stat, Stats } from '../../parts/stat.tsx'
import { Loaded } from '../../parts/states.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink } from '../../shell/address.tsx'
import { count, counted, UNKNOWN } from '../../text/format.ts'
import { JobStatus } from './job-columns.tsx'
import { offsetsOf, Span, TierBadge } from './segment-columns.tsx'
import { Warning } from './warning.tsx'

/** After this time in ms, an inspection that was late or found no place is asked for again. */
const AGAIN_MS = 3_000

interface SegmentDialogProps {
  readonly topic: string
  readonly partition: number
  readonly base: number
  readonly onClose: () => void
}

export function SegmentDialog({ topic, partition, base, onClose }: SegmentDialogProps) {
  const asked = { params: { topic, partition, base } }
  const read = useRead('show segment', asked)
  const isUnfinished = ['late', 'full'].includes(read.data?.inspection ?? '')
  // The same read, asked for again by itself.
  useRead('show segment', asked, { isWanted: isUnfinished, everyMs: AGAIN_MS })
  return (
    <Dialog title={`Segment of ${topic} ${partition} from offset ${count(base)}`} isWide onClose={onClose}>
      <Loaded read={read} of="The segment" rows={8}>
        {detail => <Detail detail={detail} />}
      </Loaded>
      <CopyAsCommand task={{ do: 'show-segment', topic, partition, base }} />
    </Dialog>
  )
}

function Detail({ detail }: { readonly detail: SegmentDetail }) {
  const { segment, job, files, totalFiles, inspection, trouble, topic } = detail
  const { tier, records, bytes, epochs, minTimestamp, maxTimestamp } = segment
  return (
    <>
      <div role="status">
        {trouble !== null && (
          <Warning>
            <VisibleText text={trouble} />
            {['late', 'full'].includes(inspection) && ' The page asks again by itself.'}
          </Warning>
        )}
      </div>
      <Stats>
        <Stat label="Offsets" value={<span className="text-section">{offsetsOf(segment)}</span>} />
        <Stat label="Tier" value={<TierBadge tier={tier} />} />
        <Stat label="Records" value={<Count of={records} />} />
        <Stat
          label="At rest"
          value={<Bytes of={bytes} />}
          note={tier === 'remote' ? 'no longer in the local tier' : 'in the local tier'}
        />
        <Stat
          label="Leader epochs"
          value={epochs.length === 0 ? UNKNOWN : epochs.length}
          note={epochs.map(({ epoch, startOffset }) => `${epoch} from ${count(startOffset)}`).join(', ')}
        />
        <Stat label="Times of records" value={null} note={<Span from={minTimestamp} to={maxTimestamp} />} />
      </Stats>
      {job !== null && (
        <Section
          title="Offload job"
          actions={
            <PageLink page="storage" search={{ tab: 'jobs', topic }}>
              Jobs of the topic
            </PageLink>
          }
        >
          <JobStatus job={job} />
          <p className="text-muted max-sm:hidden">
            {count(job.attempts)} of {counted(job.maxAttempts, 'attempt')}
          </p>
        </Section>
      )}
      {inspection === 'none' ? (
        <p className="text-muted">No offset of it is in the remote tier.</p>
      ) : (
        inspection === 'done' && (
          <Section
            title={totalFiles > files.length ? `${files.length} of ${totalFiles} files` : counted(totalFiles, 'file')}
          >
            <DataTable name="Files in the remote tier" rows={files} keyOf={({ path }) => path} columns={COLUMNS} />
          </Section>
        )
      )}
    </>
  )
}

const COLUMNS: readonly Column<RemoteFile>[] = [
  { id: 'offsets', head: 'Offsets', cell: file => <span className="whitespace-nowrap">{offsetsOf(file)}</span> },
  { id: 'rows', head: 'Rows', isNumber: true, cell: ({ rows }) => <Count of={rows} /> },
  { id: 'bytes', head: 'Size', isNumber: true, cell: ({ bytes }) => <Bytes of={bytes} /> },
  {
    id: 'plain',
    head: 'For clients',
    isNumber: true,
    isOnPhone: false,
    cell: ({ plainBytes }) => <Bytes of={plainBytes} why="Another writer made the file." />,
  },
  {
    id: 'times',
    head: 'Times of records',
    isOnPhone: false,
    cell: ({ minTimestamp, maxTimestamp }) => <Span from={minTimestamp} to={maxTimestamp} />,
  },
  {
    id: 'path',
    head: 'File',
    isOnPhone: false,
    cell: ({ path }) => (
      <span className="flex items-center gap-1">
        <code className="font-mono text-dense break-all">{path}</code>
        <CopyButton value={path} of="path of the file" />
      </span>
    ),
  },
]
