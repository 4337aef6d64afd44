// Shows a record, in a list or as a whole. Both forms are bounded, because a batch of a few hundred bytes can contain
// a record of 64 MB. A list shows the beginning of each part. A whole record shows the first LARGEST_SHOWN_BYTES of
// each part. `bytes` and `headerCount` say how much there is. A record is shown in two steps: a reader keeps it while it
// looks into a batch, and `present` decodes the parts that need a schema.

import type { ShownRecord, ShownValue } from '../../api/messages.ts'
import type { Decoding } from '../../api/words.ts'
import type { Topic } from '../../log/catalogue.ts'
import { HEADER_LIMITS } from '../../log/unpacking.ts'
import type { FoundRecord } from './batch-look.ts'
import type { Keeping } from './record-reader.ts'
import { type SchemaRooms, showUndecoded, type UndecodedPart, undecoded } from './schema-value.ts'
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

/** A record that is shown once its undecoded parts are. Until then these are null. */
export interface KeptRecord {
  readonly shown: ShownRecord
  readonly undecoded: readonly UndecodedPart[]
}

/** Keeps records for a list: their first headers, and the beginning of each part. */
export function listed(shown: Shown): Keeping<KeptRecord> {
  // The header that names a schema may be any of them.
  const count = namesSchemas(shown) ? HEADER_LIMITS.count : LISTED_HEADERS
  return {
    headers: { ...HEADER_LIMITS, count },
    keep: record => keepRecord(record, shown, LISTED_HEADERS),
    bytesOf: keptBytesOf,
  }
}

/** Keeps whole records, each decoded as `shownAs` says. */
export function whole(shownAs: (record: FoundRecord) => Omit<Shown, 'previewBytes'>): Keeping<KeptRecord> {
  return {
    headers: HEADER_LIMITS,
    keep: record => keepRecord(record, { ...shownAs(record), previewBytes: LARGEST_SHOWN_BYTES }, null),
    bytesOf: keptBytesOf,
  }
}

/** Resolves with the record as it is shown. Throws what the store throws. */
export async function present(
  rooms: SchemaRooms,
  topic: Topic,
  { shown, undecoded }: KeptRecord,
): Promise<ShownRecord> {
  if (undecoded.length === 0) return shown
  const parts: { [Part in UndecodedPart['part']]?: ShownValue } = {}
  for (const each of undecoded) parts[each.part] = await showUndecoded(rooms, topic, each)
  return { ...shown, ...parts }
}

function namesSchemas({ keyDecode, decode }: Shown): boolean {
  return keyDecode === 'registry' || decode === 'registry'
}

/**
 * Keeps a record. `listedHeaders` is the number of headers that a list shows; null if the caller wants all headers.
 */
function keepRecord(record: FoundRecord, shown: Shown, listedHeaders: number | null): KeptRecord {
  const { partition, offset, timestamp, timestampType, headers, headerCount, unreadable } = record
  const { decode, previewBytes } = shown
  const isCut = listedHeaders !== null && headers.length >= listedHeaders
  const first = isCut ? headers.slice(0, listedHeaders) : headers
  const rest = isCut ? null : record.undecodedHeaders
  const waiting: UndecodedPart[] = []
  const part = (name: UndecodedPart['part'], decoding: Decoding): ShownValue | null => {
    const bytes = record[name]
    if (decoding !== 'registry') return showValue(bytes, decoding, previewBytes)
    if (bytes !== null) waiting.push(undecoded(name, bytes, headers, previewBytes))
    return null
  }
  return {
    shown: {
      partition,
      offset,
      timestamp: timestamp === -1 ? null : timestamp,
      timestampType,
      key: unreadable === null ? part('key', shown.keyDecode) : null,
      value:
        unreadable === null
          ? part('value', decode)
          : showUnreadable(record.value ?? Buffer.alloc(0), unreadable, previewBytes),
      headers: first.map(header => ({ key: header.key, value: showHeader(header.value, decode, previewBytes) })),
      headerCount,
      ...(rest === null
        ? {}
        : { undecodedHeaders: showUnreadable(rest, whyUndecoded(record), UNDECODED_PREVIEW_BYTES) }),
    },
    undecoded: waiting,
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

function keptBytesOf({ shown, undecoded }: KeptRecord): number {
  return undecoded.reduce((sum, { bytes }) => sum + bytes.length, bytesOf(shown))
}
