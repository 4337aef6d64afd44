// Data pages of version 2, the unit that Parquet compresses: levels, then the values in zstd. A column chunk collects
// its finished pages here until its row group is closed, so that a group costs its compressed bytes of memory and not
// the values. Values have the encodings PLAIN and RLE_DICTIONARY only, which every engine reads.

import { constants, crc32, zstdCompressSync } from 'node:zlib'
import type { Encoding, PageHeader } from 'hyparquet'
import { ByteWriter } from 'hyparquet-writer'
import { writePageHeader } from 'hyparquet-writer/src/datapage.js'
import { writeRleBitPackedHybrid } from 'hyparquet-writer/src/encoding.js'
import { discard, LEAST_ROOM_BYTES } from '../../protocol/unpacking.ts'
import type { PageMemory } from './page-memory.ts'

export interface Page {
  /** Of its header, levels and compressed values. */
  readonly bytes: number
  /** Bytes without compression, with the header. */
  readonly plainBytes: number
  readonly rows: number
  readonly nulls: number
  /** The smallest and the largest value as bounds; null without statistics, or if all values are null. */
  readonly bounds: readonly [Uint8Array, Uint8Array] | null
}

export interface PageParts {
  readonly encoding: Encoding
  /** The values that are not null, encoded. */
  readonly values: Uint8Array
  readonly valueCount: number
  readonly nulls: number
  readonly rows: number
  readonly repetitionLevels?: Uint8Array
  readonly definitionLevels?: Uint8Array
  readonly bounds?: readonly [Uint8Array, Uint8Array] | null
}

/** Writes a page behind those that the memory has. */
export function dataPage(memory: PageMemory, parts: PageParts): Page {
  const { encoding, values, valueCount, nulls, rows, repetitionLevels, definitionLevels } = parts
  const packed = pack(values)
  const packedBytes = packed.length
  const repetition = repetitionLevels?.length ?? 0
  const definition = definitionLevels?.length ?? 0
  const bytes = withHeader(
    memory,
    {
      type: 'DATA_PAGE_V2',
      uncompressed_page_size: repetition + definition + values.length,
      compressed_page_size: repetition + definition + packed.length,
      data_page_header_v2: {
        num_values: valueCount,
        num_nulls: nulls,
        num_rows: rows,
        encoding,
        definition_levels_byte_length: definition,
        repetition_levels_byte_length: repetition,
        is_compressed: true,
      },
    },
    repetitionLevels,
    definitionLevels,
    packed,
  )
  free(packed, values)
  const plainBytes = bytes - packedBytes + values.length
  return { bytes, plainBytes, rows, nulls, bounds: parts.bounds ?? null }
}

/** Writes the page with the values of a dictionary, PLAIN. */
export function dictionaryPage(memory: PageMemory, values: Uint8Array, count: number): Page {
  const packed = pack(values)
  const packedBytes = packed.length
  const bytes = withHeader(
    memory,
    {
      type: 'DICTIONARY_PAGE',
      uncompressed_page_size: values.length,
      compressed_page_size: packed.length,
      dictionary_page_header: { num_values: count, encoding: 'PLAIN' },
    } as PageHeader,
    undefined,
    undefined,
    packed,
  )
  free(packed, values)
  return { bytes, plainBytes: bytes - packedBytes + values.length, rows: 0, nulls: 0, bounds: null }
}

/** Returns the levels in the hybrid of runs and packed bits. */
export function encodeLevels(levels: Uint8Array, bits: number): Uint8Array {
  const writer = new ByteWriter(64)
  writeRleBitPackedHybrid(writer, levels, bits)
  return writer.getBytes()
}

/** Returns `count` equal levels. */
export function equalLevels(level: number, count: number): Uint8Array {
  const writer = new ByteWriter(8)
  writer.appendVarInt(count << 1)
  writer.appendUint8(level)
  return writer.getBytes()
}

/** Level 1 compresses and decompresses faster than snappy does, to fewer bytes. */
const LEVEL = { [constants.ZSTD_c_compressionLevel]: 1 }
const LEAST_CHUNK = 1024

/** zstd's own bound of the result. With so much room it compresses at once, without buffers of its own in between. */
const chunkSizeOf = (values: Uint8Array) => LEAST_CHUNK + values.length + (values.length >> 8)

function pack(values: Uint8Array): Buffer {
  return zstdCompressSync(values, { params: LEVEL, chunkSize: chunkSizeOf(values) })
}

/** Frees what `pack` returned for these values. */
function free(packed: Buffer, values: Uint8Array): void {
  if (chunkSizeOf(values) >= LEAST_ROOM_BYTES) discard(packed)
}

/** Copies the parts behind the pages before, and returns the bytes of the page. */
function withHeader(
  memory: PageMemory,
  header: PageHeader,
  repetitionLevels: Uint8Array = NONE,
  definitionLevels: Uint8Array = NONE,
  values: Uint8Array = NONE,
): number {
  const writer = new ByteWriter(64)
  // The checksum of the page as it lies in the file, for engines that check it.
  const crc = crc32(values, crc32(definitionLevels, crc32(repetitionLevels))) | 0
  writePageHeader(writer, { ...header, crc })
  const parts = [writer.getBytes(), repetitionLevels, definitionLevels, values]
  const bytes = memory.add(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes.length
}

const NONE = new Uint8Array(0)
