// The verbs of an open record: copy it, its link or a command that shows it, pin it to compare, produce it again.

import { Pin, PinOff, Send, SquareTerminal } from 'lucide-react'
import { useState } from 'react'
import type { ShownRecord } from '../../../src/api/messages.ts'
import { PRODUCE_BODY_BYTES } from '../../../src/api/words.ts'
import { Action, Button } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Produce } from '../../parts/produce.tsx'
import { Recipes } from '../../parts/recipes.tsx'
import { hrefOf } from '../../shell/address.tsx'
import { bytes } from '../../text/format.ts'
import { type MessageSearch, placeText } from './selection.ts'

interface RecordActionsProps {
  readonly topic: string
  readonly search: MessageSearch
  readonly record: ShownRecord
  /** False while this is only what the list has of the record. */
  readonly isWhole: boolean
  readonly onChange: (values: Partial<MessageSearch>) => void
}

export function RecordActions({ topic, search, record, isWhole, onChange }: RecordActionsProps) {
  const [open, setOpen] = useState<'command' | 'produce' | null>(null)
  const here = placeText(record)
  const isPinned = search.pin === here
  return (
    <div className="mb-2 flex flex-wrap items-center gap-1">
      <Action
        operation="produce messages"
        isSmall
        icon={Send}
        disabled={!isWhole || isTooLarge(record)}
        title={isTooLarge(record) ? TOO_LARGE : undefined}
        onClick={() => setOpen('produce')}
      >
        Produce again
      </Action>
      <Button
        kind="quiet"
        isSmall
        icon={isPinned ? PinOff : Pin}
        onClick={() => onChange({ pin: isPinned ? '' : here })}
      >
        {isPinned ? 'Unpin' : 'Pin to compare'}
      </Button>
      <CopyButton
        value={() => location.origin + linkTo(topic, search, here)}
        of="link to this record"
        label="Copy link"
      />
      {isWhole && <CopyButton value={() => JSON.stringify(record)} of="whole record as JSON" label="Copy record" />}
      <Button kind="quiet" isSmall icon={SquareTerminal} aria-haspopup="dialog" onClick={() => setOpen('command')}>
        Copy as command
      </Button>
      {open === 'command' && (
        <Dialog title="Show this record from a terminal" onClose={() => setOpen(null)}>
          <Recipes task={{ do: 'show-record', topic, partition: record.partition, offset: record.offset }} />
        </Dialog>
      )}
      {open === 'produce' && <Produce topic={topic} from={record} onClose={() => setOpen(null)} />}
    </div>
  )
}

/** The link has the record and how it is decoded, and not the list that somebody else may not want. */
function linkTo(topic: string, { decode, keyDecode, view }: MessageSearch, at: string): string {
  return hrefOf({
    page: 'messages',
    params: { topic },
    search: { at, decode, keyDecode, view: view === 'compare' ? 'value' : view },
  })
}

const TOO_LARGE = `The admin API produces records of at most ${bytes(PRODUCE_BODY_BYTES)}. Use a Kafka client.`

function isTooLarge({ key, value, headers, undecodedHeaders }: ShownRecord): boolean {
  const parts = [key, value, ...headers.map(each => each.value)]
  const size = parts.reduce((sum, part) => sum + (part?.bytes ?? 0), 0)
  return undecodedHeaders !== undefined || size > PRODUCE_BODY_BYTES
}
