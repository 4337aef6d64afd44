// A topic's table with real data files in memory, and an archive over it that counts what it asks the store for.

import type { TestContext } from 'node:test'
import { systemClock } from '../src/base/clock.ts'
import { uuidText } from '../src/base/random.ts'
import type { ArchivePlace, ArchiveRead } from '../src/log/archive.ts'
import { viewBatch } from '../src/protocol/records.ts'
import { type ArchiveOptions, openArchive } from '../src/tier/archive/open-archive.ts'
import type { EncodeOptions } from '../src/tier/columns/encode.ts'
import { commit } from '../src/tier/iceberg/commit.ts'
import { addRange, readArchived, writeArchived } from '../src/tier/iceberg/ranges.ts'
import { dataFileKey } from '../src/tier/iceberg/table-files.ts'
import type { Objects } from '../src/tier/objects/objects.ts'
import { craftBatch, encodeFile } from './data-files.ts'
import { LOCATION, newest, newTable, testDeps, unguarded } from './iceberg-table.ts'
import { MemoryObjects } from './memory-objects.ts'

export const PLACE: ArchivePlace = { topicId: 'AAAAAAAAAAAAAAAAAAAAAQ', topicName: 'orders', partition: 0 }

/** Each read of the store: the key and the bytes that came. */
export interface StoreRead {
  readonly key: string
  readonly bytes: number
}

export interface StoreHooks {
  /** Called before each read; it throws to fail the read. */
  before?: (key: string) => void | Promise<void>
}

/** A batch of records of one byte pattern, with offsets from `base` on. */
export function plainBatch(
  base: number,
  count: number,
  valueBytes = 100,
  timestamp = 1_700_000_000_000 + base,
): Buffer {
  return craftBatch({
    baseOffset: base,
    baseTimestamp: BigInt(timestamp),
    records: Array.from({ length: count }, (_, i) => ({
      timestampDelta: BigInt(i),
      key: Buffer.from(`k${base + i}`),
      value: noise(valueBytes, base + i),
    })),
  })
}

function noise(length: number, seed: number): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  let state = (Math.imul(seed + 1, 2654435761) ^ 0x5bd1e995) >>> 0
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    bytes[i] = state >>> 24
  }
  return bytes
}

/** Batches of ten records of 1 KiB with the offsets [from, from + 10 × count). */
export const plainBatches = (from: number, count: number, valueBytes = 1024) =>
  Array.from({ length: count }, (_, i) => plainBatch(from + i * 10, 10, valueBytes))

export async function archiveWorld(t: TestContext, options: Partial<ArchiveOptions> = {}, hooks: StoreHooks = {}) {
  const deps = testDeps(1, systemClock)
  const memory = new MemoryObjects(systemClock)
  await newTable(memory, deps)
  const reads: StoreRead[] = []
  const objects: Objects = Object.assign(Object.create(memory), {
    async read(key: string, range?: { start: number; end: number }) {
      await hooks.before?.(key)
      const found = await memory.read(key, range)
      reads.push({ key, bytes: found?.length ?? 0 })
      return found
    },
  })
  const archive = openArchive(
    objects,
    { threads: 4, queueCapacity: 100, cacheBytes: 64e6, locationOf: () => LOCATION, ...options },
    { clock: systemClock },
  )
  t.after(() => archive.close())

  /** Commits a file with the batches as the segment [base, next). */
  async function add(
    batches: readonly Uint8Array[],
    encode: Partial<EncodeOptions> = {},
    segment: { base?: number; next?: number } = {},
  ) {
    const base = segment.base ?? viewBatch(batches[0]!).baseOffset
    const next = segment.next ?? viewBatch(batches.at(-1)!).lastOffset + 1
    const { bytes, facts } = encodeFile(batches, { partition: 0, ...encode }, { base, next })
    const { partition, ingestedAt, kafkaBytes } = facts
    const key = dataFileKey(LOCATION, { partition, ingestedAt, base, next, kafkaBytes }, uuidText(deps.random))
    await memory.write(key, bytes)
    const properties = (metadata: { readonly properties: Readonly<Record<string, string>> }) =>
      writeArchived(addRange(readArchived(metadata.properties), partition, [base, next]))
    await commit(await newest(memory), { append: [{ ...facts, key }], properties }, unguarded, deps)
    return { key, size: bytes.length }
  }

  return {
    archive,
    memory,
    deps,
    add,
    /** The reads since the last call. */
    taken: () => reads.splice(0),
    read: async (offset: number, maxBytes = 1 << 20, minOneBatch = true, until = Number.MAX_SAFE_INTEGER) =>
      await archive.read(PLACE, offset, maxBytes, minOneBatch, until),
  }
}

/** Returns the offsets [first, last] of each batch of an answer, or the kind of another one. */
export function offsetsOf(answer: ArchiveRead): readonly (readonly [number, number])[] | string {
  if (answer.kind !== 'read') return answer.kind
  return answer.batches.map(bytes => {
    const { baseOffset, lastOffset } = viewBatch(bytes)
    return [baseOffset, lastOffset] as const
  })
}
