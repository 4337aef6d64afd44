// Between the address of the page Messages and its requests: which records the address selects, and what it lacks
// before the broker can be asked. The address holds every filter, so that a copied one shows the same records.

import { PAGE_SIZES, type SearchOf, writeSearch } from '../../../src/api/pages.ts'
import type { Decoding, FILE_FORMATS, READING_ORDERS } from '../../../src/api/words.ts'
import { addressOf } from '../../api/client.ts'
import type { Asked } from '../../api/contract.ts'
import { NO_SCHEMAS, type SchemaParts } from '../../parts/schema-parts.ts'

export type ReadingOrder = (typeof READING_ORDERS)[number]
export type FileFormat = (typeof FILE_FORMATS)[number]
export type MessageSearch = SearchOf<'messages'>
export type MessageQuery = Asked<'browse messages'>['query'] & { readonly limit: number }

/** The start position in the words of the address. The empty word is the end at which the order begins. */
type StartWord = MessageSearch['from']

/** The parameter that the address lacks: the broker is not asked before. */
export type Missing = 'partition' | 'offset' | 'timestamp'

/** The sentences that ask for it. */
export const MISSING: Readonly<Record<Missing, string>> = {
  partition: 'Choose a partition. An offset is a position in one partition.',
  offset: 'Enter the offset of the first record.',
  timestamp: 'Enter the time of the first record.',
}

/**
 * Returns the order. The order in which the user last read the topic holds only for an address without any parameter:
 * an address with filters must show everybody the same records.
 */
export function orderOf(search: MessageSearch, remembered: ReadingOrder | undefined): ReadingOrder {
  if (search.order !== '') return search.order
  return remembered !== undefined && Object.keys(writeSearch('messages', search)).length === 0 ? remembered : 'oldest'
}

/** Returns the start position. An address that has an offset or a time alone means a start there. */
export function startOf({ from, offset, timestamp }: MessageSearch): StartWord {
  if (from !== '') return from
  return offset !== null ? 'offset' : timestamp !== null ? 'timestamp' : ''
}

/**
 * Returns the query for a page of records, or the parameter that it still needs. An offset is a position in one
 * partition, so it needs one; a topic with one partition leaves no choice.
 */
export function requestOf(
  search: MessageSearch,
  order: ReadingOrder,
  partitions: number | undefined,
): { readonly query: MessageQuery } | { readonly missing: Missing } {
  const start = startOf(search)
  const partition = search.partition ?? (start === 'offset' && partitions === 1 ? 0 : null)
  if (start === 'offset' && partition === null) return { missing: 'partition' }
  if (start === 'offset' && search.offset === null) return { missing: 'offset' }
  if (start === 'timestamp' && search.timestamp === null) return { missing: 'timestamp' }
  const begin =
    start === 'offset'
      ? { offset: search.offset }
      : start === 'timestamp'
        ? { timestamp: search.timestamp }
        : start === ''
          ? {}
          : { from: start }
  return {
    query: {
      partition,
      order,
      ...begin,
      cursor: search.cursor,
      contains: search.contains,
      limit: Number(search.limit),
      ...decodingOf(search),
    },
  }
}

type ChosenDecoding = Pick<MessageSearch, 'decode' | 'keyDecode'>

/** Returns the decodings of values and keys: those of the address, else those that suit the topic. */
export function decodingOf({ decode, keyDecode }: ChosenDecoding, schemas: SchemaParts = NO_SCHEMAS) {
  return {
    decode: decode === '' ? ownDecoding(schemas) : decode,
    keyDecode: keyDecode === '' ? ownKeyDecoding(decode, schemas) : keyDecode,
  }
}

/** Returns the decoding of values for an address that names none. */
function ownDecoding({ value }: SchemaParts): Decoding {
  return value === null ? 'utf8' : 'registry'
}

/**
 * Returns the decoding of keys for an address that names none. It is that of the values where the user chose one.
 * Beside JSON values a key is text: few keys are JSON, and those that are read the same as text. So is a key that has
 * no schema, beside values that have one.
 */
export function ownKeyDecoding(decode: MessageSearch['decode'], { key, value }: SchemaParts): Decoding {
  switch (decode) {
    case '':
      return key === null ? 'utf8' : 'registry'
    case 'json':
      return 'utf8'
    case 'registry':
      return key === null && value !== null ? 'utf8' : 'registry'
    default:
      return decode
  }
}

/** Returns the address of a file with all records of the query, from its beginning. */
export function exportAddress(topic: string, query: MessageQuery, format: FileFormat): string {
  const { limit: _, cursor: __, ...selected } = query
  return addressOf('export messages', { params: { topic }, query: { format, ...selected } })
}

/** The parameters behind the button Filters of a phone, without what no filter sets. */
const NO_FILTERS = {
  partition: null,
  from: '',
  offset: null,
  timestamp: null,
  order: 'oldest',
  limit: PAGE_SIZES[1],
  decode: '',
  keyDecode: '',
  cursor: '',
} as const satisfies Partial<MessageSearch>

/** Returns how many filters differ from those of a page that was just opened. */
export function countFilters(search: MessageSearch, order: ReadingOrder, schemas: SchemaParts = NO_SCHEMAS): number {
  const { partition, limit } = NO_FILTERS
  const shown = decodingOf(search, schemas)
  const own = decodingOf(NO_FILTERS, schemas)
  const changed = [
    search.partition !== partition,
    startOf(search) !== '',
    order !== 'oldest',
    search.limit !== limit,
    shown.decode !== own.decode,
    search.keyDecode !== '' && shown.keyDecode !== own.keyDecode,
  ]
  return changed.filter(Boolean).length
}

/** Where a record is. */
export interface Place {
  readonly partition: number
  readonly offset: number
}

/** Returns the place in the form of the address: `3-8812`. */
export function placeText({ partition, offset }: Place): string {
  return `${partition}-${offset}`
}

/** Reads a place of the address; null if the text is no place. */
export function placeOf(text: string): Place | null {
  const found = /^(\d{1,10})-(\d{1,16})$/.exec(text)
  if (found === null) return null
  const place = { partition: Number(found[1]), offset: Number(found[2]) }
  return Number.isSafeInteger(place.offset) ? place : null
}
