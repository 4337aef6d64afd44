// The lines in which an open record differs from the pinned one.

import type { ShownRecord, ShownValue } from '../../../src/api/messages.ts'
import { useRead } from '../../api/queries.ts'
import { Difference } from '../../parts/difference.tsx'
import { textOf } from '../../parts/payload.tsx'
import { Loaded } from '../../parts/states.tsx'
import { PageLink } from '../../shell/address.tsx'
import { count } from '../../text/format.ts'
import { decodingOf, type MessageSearch, type Place, placeText } from './selection.ts'

interface CompareProps {
  readonly topic: string
  readonly search: MessageSearch
  readonly record: ShownRecord
  readonly pinned: Place
}

const NAMES = ['the pinned record', 'this record'] as const

export function Compare({ topic, search, record, pinned }: CompareProps) {
  const read = useRead('show message', { params: { topic, ...pinned }, query: decodingOf(search) }, { everyMs: 0 })
  return (
    <>
      <p className="mb-2 text-muted">
        <span className="text-danger">−</span> the pinned record,{' '}
        <PageLink
          page="messages"
          className="text-accent underline underline-offset-2"
          params={{ topic }}
          search={{ ...search, at: placeText(pinned) }}
        >
          partition {pinned.partition} · offset {count(pinned.offset)}
        </PageLink>
        ; <span className="text-ok">+</span> this one.
      </p>
      <Loaded read={read} of="The pinned record">
        {before => (
          <Difference
            before={linesOf(before)}
            after={linesOf(record)}
            names={NAMES}
            same="Key, headers and value are the same."
          />
        )}
      </Loaded>
    </>
  )
}

/** Returns what two records are compared by. Text is re-indented, so that a changed member is one line. */
function linesOf({ key, headers, value }: ShownRecord): string {
  return [
    `key: ${contentOf(key)}`,
    ...headers.map(header => `header ${header.key}: ${contentOf(header.value)}`),
    'value:',
    contentOf(value),
  ].join('\n')
}

function contentOf(value: ShownValue | null): string {
  if (value === null) return 'null'
  return value.bytes === 0 ? 'empty (0 bytes)' : textOf(value, 'pretty')
}
