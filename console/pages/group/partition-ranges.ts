// Lists of partition numbers as short texts.

/** Returns `0–3, 7` for 0, 1, 2, 3 and 7. */
export function rangesOf(partitions: readonly number[]): string {
  const sorted = [...new Set(partitions)].sort((one, other) => one - other)
  const ranges: [number, number][] = []
  for (const partition of sorted) {
    const last = ranges.at(-1)
    if (last !== undefined && partition === last[1] + 1) last[1] = partition
    else ranges.push([partition, partition])
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(', ')
}
