// The archived ranges of a table, which rest in its properties. They decide which segments are in the table: they
// survive commits of other engines, the expiry of snapshots and deletes, and a snapshot alone does not. All functions
// are pure.
//
//   kafka.offload.ranges      {"0":[[base,next],…],…}   sorted, disjoint, with neighbours joined
//   kafka.offload.log-starts  {"0":offset,…}            what is below was archived, or will never be

import { BadMetadata, type Properties } from './metadata.ts'

export const RANGES = 'kafka.offload.ranges'
export const LOG_STARTS = 'kafka.offload.log-starts'

/** The offsets [base, next). */
export type OffsetRange = readonly [base: number, next: number]

export interface Archived {
  readonly ranges: ReadonlyMap<number, readonly OffsetRange[]>
  readonly logStarts: ReadonlyMap<number, number>
}

/** Thrown for a range that the table has in part or whole. Committing it would put records in twice. */
export class RangeOverlap extends Error {
  override readonly name = 'RangeOverlap'
}

const isOffset = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** Reads the properties. A table without them has archived nothing. Throws BadMetadata. */
export function readArchived(properties: Properties): Archived {
  const ranges = new Map<number, readonly OffsetRange[]>()
  for (const [partition, value] of read(properties, RANGES)) {
    const fail = () => new BadMetadata(`property ${RANGES}: partition ${partition} must have ascending [base, next)`)
    if (!Array.isArray(value)) throw fail()
    let end = -1
    for (const range of value) {
      const [base, next] = Array.isArray(range) && range.length === 2 ? (range as unknown[]) : []
      if (!isOffset(base) || !isOffset(next) || base <= end || next <= base) throw fail()
      end = next
    }
    ranges.set(partition, value as OffsetRange[])
  }
  const logStarts = new Map<number, number>()
  for (const [partition, value] of read(properties, LOG_STARTS)) {
    if (!isOffset(value)) throw new BadMetadata(`property ${LOG_STARTS}: partition ${partition} must have an offset`)
    logStarts.set(partition, value)
  }
  return { ranges, logStarts }
}

function read(properties: Properties, name: string): [partition: number, value: unknown][] {
  const text = properties[name]
  if (text === undefined) return []
  try {
    const value = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('it is no JSON object')
    return Object.entries(value).map(([partition, each]) => {
      if (!/^(0|[1-9]\d{0,9})$/.test(partition)) throw new Error(`'${partition}' is no partition`)
      return [Number(partition), each]
    })
  } catch (error) {
    throw new BadMetadata(`property ${name} cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

/** Returns the properties. Partitions are in ascending order, so that equal states are equal texts. */
export function writeArchived({ ranges, logStarts }: Archived): Record<string, string> {
  const write = (map: ReadonlyMap<number, unknown>) =>
    JSON.stringify(Object.fromEntries([...map].sort(([a], [b]) => a - b)))
  return { [RANGES]: write(ranges), [LOG_STARTS]: write(logStarts) }
}

/** Returns the state with a range more. Throws RangeOverlap if the state covers any of its offsets. */
export function addRange(archived: Archived, partition: number, [base, next]: OffsetRange): Archived {
  if (!isOffset(base) || !isOffset(next) || next <= base)
    throw new RangeOverlap(`[${base}, ${next}) of partition ${partition} is no range of offsets`)
  const logStart = archived.logStarts.get(partition) ?? 0
  const held = archived.ranges.get(partition) ?? []
  const met = held.find(range => range[0] < next && base < range[1])
  if (met !== undefined)
    throw new RangeOverlap(`[${base}, ${next}) of partition ${partition} meets [${met[0]}, ${met[1]}) in the table`)
  if (base < logStart)
    throw new RangeOverlap(`[${base}, ${next}) of partition ${partition} begins below its log start ${logStart}`)
  const joined: [number, number][] = []
  for (const [from, to] of [...held, [base, next] as const].sort((a, b) => a[0] - b[0])) {
    const last = joined.at(-1)
    if (last?.[1] === from) last[1] = to
    else joined.push([from, to])
  }
  return { ...archived, ranges: new Map(archived.ranges).set(partition, joined) }
}

/** Says whether the table has all of the offsets, or has had them and retention removed them. */
export function covers(archived: Archived, partition: number, [base, next]: OffsetRange): boolean {
  const from = Math.max(base, archived.logStarts.get(partition) ?? 0)
  if (from >= next) return true
  return (archived.ranges.get(partition) ?? []).some(range => range[0] <= from && next <= range[1])
}

/**
 * Returns the part of a segment that addRange takes: what retention has passed can never be added. Null if the table
 * covers the segment. A segment that the table has in part is returned, and addRange refuses it.
 */
export function addable(archived: Archived, partition: number, range: OffsetRange): OffsetRange | null {
  if (covers(archived, partition, range)) return null
  return [Math.max(range[0], archived.logStarts.get(partition) ?? 0), range[1]]
}

/** Returns the offset above all that was ever archived; 0 for a partition that never had any. */
export function archivedEnd({ ranges, logStarts }: Archived, partition: number): number {
  return Math.max(ranges.get(partition)?.at(-1)?.[1] ?? 0, logStarts.get(partition) ?? 0)
}

/** Returns the lowest offset that the table has; null for a partition without any. */
export function lowest({ ranges, logStarts }: Archived, partition: number): number | null {
  const first = ranges.get(partition)?.[0]
  return first === undefined ? null : Math.max(first[0], logStarts.get(partition) ?? 0)
}

/** Returns the state after retention moved the log start. A log start never goes back. */
export function moveLogStart(archived: Archived, partition: number, logStart: number): Archived {
  const start = Math.max(logStart, archived.logStarts.get(partition) ?? 0)
  const kept = (archived.ranges.get(partition) ?? [])
    .filter(range => range[1] > start)
    .map(([base, next]): OffsetRange => [Math.max(base, start), next])
  const ranges = new Map(archived.ranges)
  if (kept.length === 0) ranges.delete(partition)
  else ranges.set(partition, kept)
  return { ranges, logStarts: new Map(archived.logStarts).set(partition, start) }
}
