// How many records a deletion takes, as far as the partitions tell where they begin and end.

interface Bounds {
  readonly start: number | null
  readonly end: number | null
}

export interface LostRecords {
  /** Null if no partition answers. */
  readonly records: number | null
  /** The first and the last offset, of one partition alone; null for several, or if it loses no record. */
  readonly from: number | null
  readonly to: number | null
  /** The number of partitions that do not answer. */
  readonly unknown: number
}

/** Returns the records below the offset, or all. Skipped offsets count as records: nothing else is known of them. */
export function lostRecords(partitions: readonly Bounds[], before: number | 'end'): LostRecords {
  let records = 0
  let unknown = 0
  for (const { start, end } of partitions) {
    if (start === null || end === null) unknown++
    else records += Math.max(0, limitOf(end, before) - start)
  }
  const [only, ...others] = partitions
  const isRange = others.length === 0 && records > 0
  return {
    records: unknown === partitions.length ? null : records,
    from: isRange ? only!.start : null,
    to: isRange ? limitOf(only!.end!, before) - 1 : null,
    unknown,
  }
}

function limitOf(end: number, before: number | 'end'): number {
  return before === 'end' ? end : Math.min(end, before)
}
