// How a record is shown, in a list or as a whole. Both are bounded, because a batch of a few hundred bytes can hold a record of 64 MB: a list
// shows the beginning of each part, a whole record the first LARGEST_SHOWN_BYTES; `bytes` and `headerCount` say how much there is.

import { HEADER_LIMITS } from '../log/unpacking.ts'
import type { FoundRecord } from './batch-look.ts'
import type { Message } from './messages-contract.ts'
import type { Keeping } from './record-reader.ts'
import { type Decoding, showHeader, showUnreadable, showValue } from './shown-value.ts'

export interface Shown {
  readonly keyDecode: Decoding
  readonly decode: Decoding
  /** Of each key, value and header. */
  readonly previewBytes: number
}

/** Of each key and value of a record that is shown as a whole. */
export const LARGEST_SHOWN_BYTES = 8 * 1024 * 1024
const LISTED_HEADERS = 32
const UNDECODED_PREVIEW_BYTES = 2_048
/** A record takes about this beside its text, and so does a header. */
const MESSAGE_BYTES = 256
const HEADER_BYTES = 128

/** Records in a list: its first headers, the beginning of each part. */
export function listed(shown: Shown): Keeping<Message> {
  return {
    headers: { ...HEADER_LIMITS, count: LISTED_HEADERS },
    keep: record => showMessage(record, shown, LISTED_HEADERS),
    bytesOf,
  }
}

/** Records as a whole, each as `shownAs` says. */
export function whole(shownAs: (record: FoundRecord) => Omit<Shown, 'previewBytes'>): Keeping<Message> {
  return {
    headers: HEADER_LIMITS,
    keep: record => showMessage(record, { ...shownAs(record), previewBytes: LARGEST_SHOWN_BYTES }, null),
    bytesOf,
  }
}

/** `listedHeaders`: more than these are not missed; null where all are wanted. */
function showMessage(
  record: FoundRecord,
  { keyDecode, decode, previewBytes }: Shown,
  listedHeaders: number | null,
): Message {
  const { partition, offset, timestamp, timestampType, key, value, headers, headerCount, unreadable } = record
  const rest = headers.length === listedHeaders ? null : record.undecodedHeaders
  return {
    partition,
    offset,
    timestamp: timestamp === -1 ? null : timestamp,
    timestampType,
    key: unreadable === null ? showValue(key, keyDecode, previewBytes) : null,
    value:
      unreadable === null
        ? showValue(value, decode, previewBytes)
        : showUnreadable(value ?? Buffer.alloc(0), unreadable, previewBytes),
    headers: headers.map(header => ({ key: header.key, value: showHeader(header.value, decode, previewBytes) })),
    headerCount,
    ...(rest === null ? {} : { undecodedHeaders: showUnreadable(rest, whyUndecoded(record), UNDECODED_PREVIEW_BYTES) }),
  }
}

function whyUndecoded({ headers, headerCount }: FoundRecord): string {
  const { count, bytes } = HEADER_LIMITS
  return (
    `${headerCount - headers.length} of ${headerCount} headers are not decoded: ` +
    `of one record at most ${count} are, and at most ${bytes} bytes of them.`
  )
}

/** About the memory that it takes. */
export function bytesOf({ key, value, headers }: Message): number {
  let bytes = MESSAGE_BYTES
  for (const shown of [key, value]) bytes += (shown?.text ?? shown?.base64 ?? '').length
  for (const { key, value } of headers) bytes += key.length + (value?.text ?? value?.base64 ?? '').length + HEADER_BYTES
  return bytes
}
