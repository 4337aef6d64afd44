// Decides which segments share a data file. The name of a file has the offsets that it covers, and its upload begins
// with its first bytes, so its segments are chosen before it is made, by an estimate of its size. All is pure but for
// the ratios, which remember how small files of a topic become.

import { DAY_MS } from '../columns/data-file.ts'
import type { OffloadJob, OffloadSegment } from './jobs.ts'

/** The client bytes of a segment; its stored bytes if they are not known. */
export const clientBytes = ({ plainBytes, bytes }: Pick<OffloadSegment, 'plainBytes' | 'bytes'>) => plainBytes ?? bytes

/** A file of compressed batches keeps their original bytes too, and becomes at most this much larger than they are. */
const LARGEST_RATIO = 1.6
/** Segments of one topic differ. */
const MARGIN = 1.1
/** The number of topics whose ratio is remembered. */
const MOST_TOPICS = 10_000

/** How many bytes of Parquet a byte of batches becomes, at most, by the files that were made before. */
export class SizeRatios {
  readonly #ratios = new Map<string, number>()

  of(topicId: string): number {
    return this.#ratios.get(topicId) ?? LARGEST_RATIO
  }

  learn(topicId: string, bytes: number, fileBytes: number): void {
    if (bytes === 0) return
    const found = Math.min(LARGEST_RATIO, (fileBytes / bytes) * MARGIN)
    const before = this.#ratios.get(topicId) ?? found
    // A larger ratio counts at once, a smaller one bit by bit.
    const next = Math.max(found, (before * 3 + found) / 4)
    this.#ratios.delete(topicId)
    this.#ratios.set(topicId, next)
    const [oldest] = this.#ratios.keys()
    if (this.#ratios.size > MOST_TOPICS) this.#ratios.delete(oldest!)
  }
}

export interface FileLimits {
  readonly targetFileBytes: number
  /** Of the topic. */
  readonly ratio: number
}

const dayOf = ({ sealedAtMs }: OffloadSegment) => Math.floor(sealedAtMs / DAY_MS)

/**
 * Groups segments of any partitions, in any order, into files: neighbours of one partition and one UTC day, up to the
 * target size. A larger segment stands alone, and piecesOf cuts it.
 */
export function planFiles<T extends OffloadSegment>(
  segments: readonly T[],
  { targetFileBytes, ratio }: FileLimits,
): readonly (readonly T[])[] {
  const sorted = [...segments].sort((a, b) => a.partition - b.partition || a.base - b.base)
  const files: T[][] = []
  let bytes = 0
  for (const segment of sorted) {
    const file = files.at(-1)
    const last = file?.at(-1)
    const size = clientBytes(segment) * ratio
    const isNeighbour =
      last !== undefined &&
      last.partition === segment.partition &&
      last.next === segment.base &&
      dayOf(last) === dayOf(segment)
    if (isNeighbour && bytes + size <= targetFileBytes) {
      file!.push(segment)
      bytes += size
    } else {
      files.push([segment])
      bytes = size
    }
  }
  return files
}

/** Returns the number of files for a planned file: several for a segment that is larger than the target. */
export function piecesOf(file: readonly OffloadSegment[], { targetFileBytes, ratio }: FileLimits): number {
  const [segment] = file
  if (segment === undefined || file.length > 1) return 1
  const wanted = Math.ceil((clientBytes(segment) * ratio) / targetFileBytes)
  return Math.max(1, Math.min(wanted, segment.next - segment.base))
}

export interface WaitLimits extends FileLimits {
  readonly maxFileWaitMs: number
}

/**
 * Says whether a planned file should wait for more segments. `isLast` says that no sealed segment of the partition
 * follows it. It waits while another segment as large as its last one would fit, its UTC day goes on, and its first
 * segment was sealed, and became a job, less than `maxFileWaitMs` ago. Clocks may differ: one of both times is enough.
 */
export function waitsForNeighbours(
  file: readonly OffloadJob[],
  isLast: boolean,
  nowMs: number,
  { targetFileBytes, ratio, maxFileWaitMs }: WaitLimits,
): boolean {
  const first = file[0]
  if (first === undefined || !isLast) return false
  const bytes = file.reduce((sum, segment) => sum + clientBytes(segment), clientBytes(file.at(-1)!)) * ratio
  if (bytes > targetFileBytes) return false
  if (Math.floor(nowMs / DAY_MS) > dayOf(first)) return false
  const since = Math.min(...file.flatMap(({ sealedAtMs, createdAtMs }) => [sealedAtMs, createdAtMs]))
  return nowMs - since < maxFileWaitMs
}

/**
 * Returns the claimable jobs of a topic that are to be offloaded now. `ends` has the end of the last sealed segment of
 * each partition. A job that was attempted before does not wait again.
 */
export function dueJobs(
  claimable: readonly OffloadJob[],
  ends: ReadonlyMap<number, number>,
  nowMs: number,
  limits: WaitLimits,
): readonly OffloadJob[] {
  return planFiles(claimable, limits).flatMap(file => {
    const last = file.at(-1)!
    const isLast = last.next >= (ends.get(last.partition) ?? 0)
    const isNew = file.every(({ attempts }) => attempts === 0)
    return isNew && waitsForNeighbours(file, isLast, nowMs, limits) ? [] : file
  })
}
