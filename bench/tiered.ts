// Fills topics of the remote tier for the benchmarks of it, and waits until their records are in the table only. The
// records look like JSON: keys of 16 bytes and values of words, in batches of about 64 KiB.

import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listOffsets } from '../src/protocol/messages/list-offsets.ts'
import type { BrokerProcess } from '../testing/process.ts'
import { connect } from '../testing/wire.ts'
import type { Harness } from './harness.ts'
import { fill, ON_REQUEST, runRound } from './keyed.ts'
import { keyedBatches } from './keyed-batches.ts'
import { until } from './redis-brokers.ts'

/** The sizes of records that the questions about the remote tier are asked for, with their values and batches. */
export const RECORD_SIZES = [
  { name: '1 KiB records', valueBytes: 1000, recordsPerBatch: 62 },
  { name: '100 B records', valueBytes: 76, recordsPerBatch: 600 },
] as const

export type RecordSize = (typeof RECORD_SIZES)[number]

/** Each round of the storage worker seals what was appended; nothing waits for neighbours. */
export const TIERED = { 'remote.storage.enable': 'true', 'segment.ms': '1', 'segment.bytes': String(64 * 2 ** 20) }
/** The local store keeps nothing that the table has. */
export const COLD = { ...TIERED, 'local.retention.ms': '1', 'retention.ms': '-1' }

/** Settings of a broker whose tables are in a folder. Rounds begin only when the benchmark asks for them. */
export function tierSettings(path: string, more: Readonly<Record<string, string>> = {}) {
  return { ...ON_REQUEST, 'svc.storage.remote.path': path, 'svc.storage.remote.iceberg.max-file-wait': '0s', ...more }
}

/** Makes a folder for tables, which is removed after the question. */
export async function tableFolder(harness: Harness): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ketch-tables-'))
  harness.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Returns different batches of about this many bytes in sum. A page of a column never sees one of them twice. */
export function batchesOf({ valueBytes, recordsPerBatch }: RecordSize, bytes: number): Buffer[] {
  const perBatch = recordsPerBatch * (valueBytes + 26)
  const records = Math.max(1, Math.round(bytes / perBatch)) * recordsPerBatch
  const data = { keys: 1_000_000, order: 'random', codec: 'none', valueBytes, recordsPerBatch, records } as const
  return [...keyedBatches(data)]
}

/** Yields the batches again and again until there are this many bytes. */
export function* repeated(batches: readonly Buffer[], bytes: number): Generator<Buffer> {
  for (let at = 0, left = bytes; left > 0; at = (at + 1) % batches.length) {
    yield batches[at]!
    left -= batches[at]!.length
  }
}

/** Produces this many bytes to each partition. Waits until the broker knows the table of the topic. */
export async function fillTopic(
  port: number,
  topic: string,
  partitions: number,
  batches: readonly Buffer[],
  bytesEach: number,
): Promise<void> {
  for (let index = 0; index < partitions; index++) {
    const first = [batches.at(-1)!]
    await until(`${topic}-${index} takes records`, async () => {
      try {
        await fill(port, topic, first, index)
        return true
      } catch (error) {
        if (/refused with 56/.test((error as Error).message)) return false
        throw error
      }
    })
    await fill(port, topic, repeated(batches, bytesEach - first[0]!.length), index)
  }
}

/** Has rounds run until the local store has nothing of the topic that its table has, and resolves with their number. */
export async function makeCold(broker: BrokerProcess, topic: string, partitions: number): Promise<void> {
  for (let rounds = 0; rounds < 20; rounds++) {
    await runRound(broker.url)
    const [starts, ends] = [await offsets(broker, topic, partitions, -4), await offsets(broker, topic, partitions, -1)]
    if (starts.every((start, index) => start === ends[index])) return
  }
  throw new Error(`${topic} has local records after 20 rounds`)
}

const EARLIEST_LOCAL = -4
const LATEST = -1
export type OffsetAsked = typeof EARLIEST_LOCAL | typeof LATEST

/** Resolves with the earliest local or the latest offset of each partition. */
export async function offsets(
  { port }: { readonly port: number },
  topic: string,
  partitions: number,
  timestamp: OffsetAsked,
): Promise<number[]> {
  const wire = await connect({ port })
  const asked = Array.from({ length: partitions }, (_, partitionIndex) => ({ partitionIndex, timestamp }))
  const { topics } = await wire.send(listOffsets, 9, { replicaId: -1, topics: [{ name: topic, partitions: asked }] })
  await wire.close()
  return topics[0]!.partitions.toSorted((a, b) => a.partitionIndex - b.partitionIndex).map(({ offset }) => offset)
}

/** Resolves with the number and the bytes of the data files below a folder. */
export async function dataFiles(folder: string): Promise<{ readonly files: number; readonly bytes: number }> {
  let [files, bytes] = [0, 0]
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.parquet')) continue
    files++
    bytes += (await stat(join(entry.parentPath, entry.name))).size
  }
  return { files, bytes }
}
