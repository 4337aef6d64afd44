// Shows a record, in a list or as a whole. Both forms are bounded, because a batch of a few hundred bytes can contain
// a record of 64 MB. A list shows the beginning of each part. A whole record shows the first LARGEST_SHOWN_BYTES of
// each part. `bytes` and `headerCount` say how much there is.

import type { ShownRecord } from '../../api/messages.ts'
import type { Decoding } from '../../api/words.ts'
import { HEADER_LIMITS } from '../../log/unpacking.ts'
import type { FoundRecord } from './batch-look.ts'
import type { Keeping } from './record-reader.ts'
import { showHeader, showUnreadable, showValue } from './shown-value.ts'

export interface Shown {
  readonly keyDecode: Decoding
  readonly decode: Decoding
  /** The most bytes that are shown of each key, value and header. */
  readonly previewBytes: number
}

/** The most bytes of a key or a value in a record that is shown as a whole. */
export const LARGEST_SHOWN_BYTES = 8 * 1024 * 1024
const LISTED_HEADERS = 32
const UNDECODED_PREVIEW_BYTES = 2_048
/** The approximate memory of a record, and of a header, beside its text. */
const RECORD_BYTES = 256
const HEADER_BYTES = 128

/** Keeps records for a list: their first headers, and the beginning of each part. */
export function listed(shown: Shown): Keeping<ShownRecord> {
  return {
    headers: { ...HEADER_LIMITS, count: LISTED_HEADERS },
    keep: record => showRecord(record, shown, LISTED_HEADERS),
    bytesOf,
  }
}

/** Keeps whole records, each decoded as `shownAs` says. */
export function whole(shownAs: (record: FoundRecord) => Omit<Shown, 'previewBytes'>): Keeping<ShownRecord> {
  return {
    headers: HEADER_LIMITS,
    keep: record => showRecord(record, { ...shownAs(record), previewBytes: LARGEST_SHOWN_BYTES }, null),
    bytesOf,
  }
}

/**
 * Shows a record. `listedHeaders` is the number of headers that a list shows; null if the caller wants all headers.
 */
function showRecord(
  record: FoundRecord,
  { keyDecode, decode, previewBytes }: Shown,
  listedHeaders: number | null,
): ShownRecord {
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
    `at most ${count} headers of a record are decoded, and at most ${bytes} bytes of headers.`
  )
}

/** Returns the approximate memory of the record, in bytes. */
export function bytesOf({ key, value, headers }: ShownRecord): number {
  let bytes = RECORD_BYTES
  for (const shown of [key, value]) bytes += (shown?.text ?? shown?.base64 ?? '').length
  for (const { key, value } of headers) bytes += key.length + (value?.text ?? value?.base64 ?? '').length + HEADER_BYTES
  return bytes
}
